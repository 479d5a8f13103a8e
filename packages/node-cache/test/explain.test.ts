import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { explainPages, type Explanation } from '@kube-dns/telemetry';
import { ownedBy, type Response, type Script } from '@kube-dns/testkit';
import { explainAnswer } from '../src/explainer.js';
import { holdTime } from './support/held-time.js';
import { CLUSTER, Testbed, WORLD } from './support/testbed.js';

const opened = ownedBy(afterEach);
holdTime();
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

const address = (ttl: number): Response => ({
  answers: [{ type: 'A', ttl, data: '10.0.0.1' }],
});
/** A node-cache that serves a Corefile, and what its page says of a question. */
async function start(script: Script, corefile = CLUSTER + WORLD) {
  const testbed = opened(await Testbed.create(script));
  await testbed.serve(corefile);
  const { points, subscriptions } = testbed.server;
  const options = { points, subscriptions, corefile: '/etc/Corefile' };
  const page = explainPages((question) => explainAnswer(options, question)).get('/explain')!;
  const explain = async (name: string, type = 'A') => {
    const { body } = await page(new URLSearchParams({ name, type }));
    return JSON.parse(body) as Explanation;
  };
  const textsOf = async (name: string, type?: string): Promise<Record<string, string>> =>
    Object.fromEntries((await explain(name, type)).steps.map(({ step, text }) => [step, text]));
  return { testbed, explain, textsOf };
}

describe('what node-cache explains', () => {
  it('is the server block, its cache, its servers and what they replied', async () => {
    const { testbed, textsOf } = await start(() => address(20));
    const texts = await textsOf('a.cluster.local');
    const at = `127.0.0.1, port ${testbed.port}`;
    const server = `tcp://127.0.0.1#${testbed.upstream.port}`;
    expect(texts).toMatchObject({
      block:
        `The server block for cluster.local (line 2 of /etc/Corefile) answers it at ${at}: ` +
        'its zone is the longest that the name is in.',
      cache: 'The cache has no answer for it.',
      outcome:
        `Asked as a client at 127.0.0.1 would: ${server} answered. ` +
        'The cache has its answer now, for 20 s.',
    });
    expect(texts.forward).toMatch(/^forward \. \(line 9\) sends it to .* over TCP \(force_tcp\)\./);
    expect(texts.forward).toContain('That is the DNS of the cluster');
    expect(texts.server).toMatch(/was asked over TCP: it replied NOERROR after/);
    const again = await textsOf('a.cluster.local');
    expect(again.cache).toMatch(/^The cache has 1 A record, stored .* of its TTL are left/);
    expect(again.server).toBeUndefined();
    expect((await textsOf('b.example')).block).toContain('no longer zone has the name');
  });

  it('is that no block has the name, or that forward is not for it', async () => {
    const except = WORLD.replace('UPSTREAM\n', 'UPSTREAM {\n except lan\n }\n');
    const { textsOf, explain } = await start(() => address(20), CLUSTER);
    expect((await textsOf('b.example')).block).toBe(
      'No server block of /etc/Corefile has a zone that the name is in: it is refused.',
    );
    expect((await explain('b.example')).verdict).toMatchObject({ rcode: 'REFUSED' });
    const other = await start(() => address(20), except);
    expect((await other.textsOf('b.lan')).forward).toContain('., except lan, so not for this one');
    expect((await other.explain('b.lan')).verdict).toMatchObject({ rcode: 'SERVFAIL' });
  });

  it('is the plugin hosts', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'explain-'));
    folders.push(folder);
    const file = join(folder, 'hosts');
    writeFileSync(file, '10.0.0.9 web.example\n');
    const block = `hosts ${file} example {\n fallthrough open.example\n }\n    forward`;
    const { textsOf, explain } = await start(() => address(20), WORLD.replace('forward', block));
    expect((await textsOf('web.example')).hosts).toBe(
      `hosts (${file}) has the name: no server is asked.`,
    );
    expect((await textsOf('b.example')).hosts).toContain('has no fallthrough: SERVFAIL');
    expect((await textsOf('b.open.example')).hosts).toContain('lets it through');
    expect((await explain('web.example')).verdict.answers[0]).toMatch(/IN A 10\.0\.0\.9$/);
  });

  it('is the plugins rewrite and template', async () => {
    const plugins = `rewrite name suffix .old .new answer auto
    template IN AAAA {
        rcode NXDOMAIN
    }
    forward`;
    const { textsOf } = await start(() => address(20), WORLD.replace('forward', plugins));
    const texts = await textsOf('a.old');
    expect(texts.rewrite).toBe(
      'rewrite (line 6) is for it: a.new A is asked, and what follows is about that.',
    );
    expect(texts.outcome).toContain('The cache has its answer now, for 20 s.');
    expect((await textsOf('a.new')).rewrite).toBeUndefined();
    expect((await textsOf('a.old', 'AAAA')).template).toBe(
      'template (line 7) makes the answer, NXDOMAIN: no server is asked for it.',
    );
  });

  it('is that an answer has expired, or that it is a failure of a moment ago', async () => {
    let isSilent = false;
    const { textsOf } = await start(
      () => (isSilent ? { rcode: 'SERVFAIL' } : address(5)),
      CLUSTER.replace('force_tcp', '').replace(/success.*\n.*denial.*/, 'servfail 10s'),
    );
    isSilent = true;
    expect((await textsOf('b.cluster.local')).outcome).toContain('SERVFAIL');
    const again = await textsOf('b.cluster.local');
    expect(again.cache).toContain('No server could answer it a moment ago');
    expect(again.outcome).toContain('it gets the failure of a moment ago');
  });
});
