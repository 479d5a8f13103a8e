import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ask, deadServer, heldReply, type Question, until } from '@kube-dns/testkit';
import { RCODE } from '@kube-dns/wire';
import { AnswererTestbed, NO_LOCAL_DATA } from './answerer-testbed.js';

let testbed: AnswererTestbed;
beforeEach(async () => {
  testbed = await AnswererTestbed.create();
});
afterEach(() => testbed.close());

/** Where the answer to one question came from. */
async function sourceOf(name: string, rest: Partial<Question> = {}): Promise<string[]> {
  await ask(testbed.port, { name, ...rest });
  return testbed.sources.take();
}

const hosts = {
  ...NO_LOCAL_DATA,
  answer: ({ bytes, length }: { bytes: Uint8Array; length: number }, out: Uint8Array) => {
    const isHost = Buffer.from(bytes).includes('host');
    out.set(bytes.subarray(0, length));
    out[2]! |= 0x80;
    return isHost ? length : 0;
  },
};

describe('the source of an answer', () => {
  it('is the server that replied, then the cache', async () => {
    await testbed.start();
    const server = testbed.upstream.text;
    expect(await sourceOf('a.example')).toEqual([`a.example upstream ${server}`]);
    expect(await sourceOf('a.example')).toEqual(['a.example cache']);
    await ask(testbed.port, { name: 'b.example' }, { isOverTcp: true });
    expect(testbed.sources.take()).toEqual([`b.example upstream ${server}`]);
  });

  it('is this program for CHAOS, local data, local domains and without servers', async () => {
    await testbed.start({ rules: ['/local.example/'], options: { local: hosts } });
    expect(await sourceOf('hits.bind', { class: 'CH', type: 'TXT' })).toEqual(['hits.bind local']);
    expect(await sourceOf('host.example')).toEqual(['host.example local']);
    expect(await sourceOf('a.local.example')).toEqual(['a.local.example local']);
    expect(await sourceOf('a.example')).toEqual(['a.example local']);
  });

  it('is one flight for several clients: the first asked, the others joined', async () => {
    const { script, release } = heldReply('10.0.0.1');
    testbed.upstream.script = script;
    await testbed.start();
    const all = [1, 2, 3].map(() => ask(testbed.port, 'a.example'));
    await until(() => testbed.counters.forwarded === 1 && testbed.counters.unforwarded === 2);
    await until(() => testbed.upstream.requests.length === 1);
    release();
    await Promise.all(all);
    const { text } = testbed.upstream;
    expect(testbed.sources.take().sort()).toEqual([
      `a.example joined ${text}`,
      `a.example joined ${text}`,
      `a.example upstream ${text}`,
    ]);
  });

  it('is the server whose refusal is passed on, and the cache for a moment afterwards', async () => {
    testbed.upstream.script = () => ({ rcode: RCODE.SERVFAIL });
    await testbed.start();
    expect(await sourceOf('a.example')).toEqual([`a.example upstream ${testbed.upstream.text}`]);
    expect(await sourceOf('a.example')).toEqual(['a.example cache']);
  });

  it('is upstream, but no server, when none has replied', async () => {
    const dead = await deadServer();
    await testbed.start({ rules: [`127.0.0.1#${dead.port}`] });
    expect(await sourceOf('a.example')).toEqual(['a.example upstream']);
    expect(await sourceOf('a.example')).toEqual(['a.example cache']);
  });
});

describe('the source of an expired answer', () => {
  it('is the cache, expired, while it is renewed', async () => {
    await testbed.start({ cache: { maxStaleSeconds: 1_000 } });
    await sourceOf('a.example');
    testbed.now += 101;
    expect(await sourceOf('a.example')).toEqual(['a.example stale']);
  });

  it('is the same after a time-out, after a failure, and while the question is held', async () => {
    const timeoutMs = 20;
    await testbed.start({ stale: { maxAgeSeconds: 1_000, ttlSeconds: 5, timeoutMs } });
    for (const name of ['late.example', 'failed.example']) await sourceOf(name);
    testbed.now += 101;
    testbed.upstream.script = ({ name }) =>
      name.startsWith('late') ? null : { rcode: RCODE.SERVFAIL };
    for (const name of ['late.example', 'failed.example']) {
      const first = await testbed.late(timeoutMs, () => sourceOf(name));
      expect(first).toEqual([`${name} stale`]);
      expect(await sourceOf(name)).toEqual([`${name} stale`]);
    }
  });
});
