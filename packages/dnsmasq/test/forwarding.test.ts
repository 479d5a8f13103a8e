import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { againIfStalled, endPrograms, freePort, until } from '@kube-dns/testkit';
import { RCODE, TYPE, writeUint16 } from '@kube-dns/wire';
import { addressRecords, ask, askTcp, responseTo } from '@kube-dns/resolver/testing';
import { FakeUpstream, type Script } from './fake-upstream.js';
import { serve } from './processes.js';

let upstreams: FakeUpstream[];

beforeEach(() => {
  upstreams = [];
});

afterEach(async () => {
  await endPrograms();
  await Promise.all(upstreams.map((upstream) => upstream.close()));
});

const answering =
  (address: string): Script =>
  () => ({ answers: addressRecords(30, address) });

async function upstreamWith(script: Script): Promise<FakeUpstream> {
  const upstream = await FakeUpstream.start(script);
  upstreams.push(upstream);
  return upstream;
}

const serveFor = (...options: string[]) => serve(['--no-resolv', ...options]);

describe('routing', () => {
  it('sends a question to the servers of its longest domain, else to the default ones', async () => {
    const cluster = await upstreamWith(answering('10.0.0.1'));
    const corp = await upstreamWith(answering('10.0.0.2'));
    const others = await upstreamWith(answering('10.0.0.3'));
    const { port } = await serveFor(
      `--server=/cluster.local/${cluster.text}`,
      `--server=/corp.cluster.local/${corp.text}`,
      '--server=/secret.example/',
      '--server=/open.corp.cluster.local/#',
      `--server=${others.text}`,
    );
    const texts = async (name: string) => (await ask(port, name)).texts;
    expect(await texts('a.svc.cluster.local')).toEqual(['A 10.0.0.1']);
    expect(await texts('a.corp.cluster.local')).toEqual(['A 10.0.0.2']);
    expect(await texts('a.open.corp.cluster.local')).toEqual(['A 10.0.0.3']);
    expect(await texts('notcluster.local')).toEqual(['A 10.0.0.3']);
    expect((await ask(port, 'a.secret.example')).rcode).toBe('NXDOMAIN');
    expect(others.names).toEqual(['a.open.corp.cluster.local', 'notcluster.local']);
  });

  it('refuses what has no server', async () => {
    const { port } = await serveFor('--server=/cluster.local/127.0.0.1#1');
    expect((await ask(port, 'example.com')).rcode).toBe('REFUSED');
    expect((await askTcp(port, { name: 'example.com' })).rcode).toBe('REFUSED');
  });
});

describe('a question to an upstream', () => {
  it('has an ID and a source port that cannot be guessed', async () => {
    const upstream = await upstreamWith(() => ({ rcode: RCODE.NXDOMAIN }));
    const { port } = await serveFor(`--server=${upstream.text}`);
    for (let i = 0; i < 40; i++) await ask(port, `n${i}.example`);
    const ids = upstream.asked.map(({ id }) => id);
    const ports = upstream.asked.map(({ sourcePort }) => sourcePort);
    for (const numbers of [ids, ports]) {
      const steps = numbers.slice(1).map((number, i) => number - numbers[i]!);
      expect(new Set(numbers).size).toBeGreaterThan(30);
      expect(new Set(steps).size).toBeGreaterThan(30);
    }
    expect(ids.filter((id) => id === 0x1234).length).toBeLessThan(3);
  });

  it('is not believed to be answered by a wrong ID, another question or no response', async () => {
    const upstream = await upstreamWith((query) => {
      const forged = responseTo(query, { answers: addressRecords(30, '6.6.6.6') });
      const wrongId = Buffer.from(forged);
      writeUint16(wrongId, 0, query.id ^ 1);
      const wrongName = Buffer.from(forged);
      wrongName[13]! ^= 1;
      const wrongType = Buffer.from(forged);
      writeUint16(wrongType, query.questionEnd - 4, TYPE.AAAA);
      const noResponse = Buffer.from(forged);
      noResponse[2]! &= 0x7f;
      const right = responseTo(query, { answers: addressRecords(30, '10.0.0.1') });
      return [wrongId, wrongName, wrongType, noResponse, forged.subarray(0, 11), right];
    });
    const { port } = await serveFor(`--server=${upstream.text}`);
    expect((await ask(port, 'a.example')).texts).toEqual(['A 10.0.0.1']);
    expect(upstream.asked).toHaveLength(1);
  });

  it.each(['127.0.0.1', '127.0.0.2'])(
    'is not believed to be answered from another port of %s',
    async (address) => {
      const forger = createSocket('udp4');
      forger.bind(0, address);
      await once(forger, 'listening');
      const upstream = await upstreamWith(async (query, { sourcePort }) => {
        const forged = responseTo(query, { answers: addressRecords(30, '6.6.6.6') });
        await new Promise((resolve) => forger.send(forged, sourcePort, '127.0.0.1', resolve));
        return { answers: addressRecords(30, '10.0.0.1') };
      });
      const { port } = await serveFor(`--server=${upstream.text}`);
      expect((await ask(port, 'a.example')).texts).toEqual(['A 10.0.0.1']);
      forger.close();
    },
  );

  it('uses TCP when the answer over UDP is truncated', async () => {
    const addresses = Array.from({ length: 100 }, (_, i) => `10.0.0.${i}`);
    const upstream = await upstreamWith((_query, { protocol }) =>
      protocol === 'udp'
        ? { isTruncated: true, answers: addressRecords(30, '6.6.6.6') }
        : { answers: addressRecords(30, ...addresses) },
    );
    const { port } = await serveFor(`--server=${upstream.text}`);
    const small = await ask(port, 'a.example');
    expect(small.isTruncated).toBe(true);
    expect(small.bytes.length).toBeLessThanOrEqual(512);
    expect(small.texts).not.toContain('A 6.6.6.6');
    expect(upstream.asked.map(({ protocol }) => protocol)).toEqual(['udp', 'tcp']);
    const whole = await askTcp(port, { name: 'a.example' });
    expect(whole.texts).toHaveLength(100);
    expect(upstream.asked).toHaveLength(2);
  });
});

describe('an upstream that fails', () => {
  it('is replaced by the next when its port is closed', async () => {
    const second = await upstreamWith(answering('10.0.0.2'));
    const { port } = await serveFor(
      `--server=127.0.0.1#${await freePort()}`,
      `--server=${second.text}`,
    );
    expect((await ask(port, 'a.example')).texts).toEqual(['A 10.0.0.2']);
  });

  it.each([RCODE.SERVFAIL, RCODE.REFUSED])(
    'is replaced by the next for rcode %d',
    async (rcode) => {
      const first = await upstreamWith(() => ({ rcode }));
      const second = await upstreamWith(answering('10.0.0.2'));
      const { port } = await serveFor(`--server=${first.text}`, `--server=${second.text}`);
      expect((await ask(port, 'a.example')).texts).toEqual(['A 10.0.0.2']);
      expect(first.asked).toHaveLength(1);
      const { texts } = await ask(port, { name: 'servers.bind', type: 'TXT', class: 'CH' });
      expect(texts).toEqual([`TXT ${first.text} 1 1|${second.text} 1 0`]);
    },
  );

  it('is reported when every other failed, too', async () => {
    const first = await upstreamWith(() => ({ rcode: RCODE.REFUSED }));
    const second = await upstreamWith(() => ({ rcode: RCODE.SERVFAIL }));
    const { port } = await serveFor(`--server=${first.text}`, `--server=${second.text}`);
    expect((await ask(port, 'a.example')).rcode).toBe('SERVFAIL');
  });

  it('is SERVFAIL immediately when no server listens', async () => {
    const { port } = await serveFor(`--server=127.0.0.1#${await freePort()}`);
    expect((await ask(port, 'a.example')).rcode).toBe('SERVFAIL');
  });

  it('is replaced when it is silent; silence of all is SERVFAIL before the client gives up', async () => {
    await againIfStalled(async () => {
      const silent = await upstreamWith(() => null);
      const second = await upstreamWith(answering('10.0.0.2'));
      const { port } = await serveFor(
        `--server=${silent.text}`,
        `--server=${second.text}`,
        `--server=/dead.example/${silent.text}`,
      );
      const names = ['a.example', 'x.dead.example'];
      const startedAt = performance.now();
      const [alive, dead] = await Promise.all(names.map((name) => ask(port, name)));
      expect(performance.now() - startedAt).toBeLessThan(5_000);
      expect(alive!.texts).toEqual(['A 10.0.0.2']);
      expect(dead!.rcode).toBe('SERVFAIL');
      expect(silent.names.filter((name) => name === 'x.dead.example')).toHaveLength(3);
    });
  }, 60_000);
});

describe('SIGTERM', () => {
  it('first answers waiting clients, and ends with 0', async () => {
    let release = (): void => undefined;
    const slow = await upstreamWith(async () => {
      await new Promise<void>((resolve) => (release = resolve));
      return { answers: addressRecords(30, '10.0.0.1') };
    });
    const { port, process } = await serveFor(`--server=${slow.text}`);
    const waiting = ask(port, 'a');
    await until(() => slow.asked.length === 1);
    process.signal('SIGTERM');
    await process.waitForLine('SIGTERM, closing');
    release();
    expect((await waiting).texts).toEqual(['A 10.0.0.1']);
    expect(await process.ended).toBe(0);
  });

  it('does not wait longer than clients for answers that never arrive', async () => {
    const silent = await upstreamWith(() => null);
    const { port, process } = await serveFor(`--server=${silent.text}`, '--query-timeout=300');
    const waiting = ask(port, 'a');
    await until(() => silent.asked.length > 0);
    process.signal('SIGTERM');
    expect((await waiting).rcode).toBe('SERVFAIL');
    expect(await process.ended).toBe(0);
  });
});

describe('limits', () => {
  it('refuses more than --dns-forward-max immediately, until fewer are in flight', async () => {
    const held: (() => void)[] = [];
    const slow = await upstreamWith(async () => {
      await new Promise<void>((resolve) => held.push(resolve));
      return { answers: addressRecords(30, '10.0.0.1') };
    });
    const { port } = await serveFor(`--server=${slow.text}`, '--dns-forward-max=2');
    const waiting = ['a', 'b'].map((name) => ask(port, name));
    await until(() => held.length === 2);
    expect((await ask(port, 'c')).rcode).toBe('REFUSED');
    slow.script = () => ({ answers: addressRecords(30, '10.0.0.1') });
    for (const release of held) release();
    expect((await Promise.all(waiting)).map(({ rcode }) => rcode)).toEqual(['NOERROR', 'NOERROR']);
    expect((await ask(port, 'd')).rcode).toBe('NOERROR');
  });

  it('sends UDP answers of at most --edns-packet-max bytes', async () => {
    const addresses = Array.from({ length: 60 }, (_, i) => `10.0.0.${i}`);
    const upstream = await upstreamWith(() => ({ answers: addressRecords(30, ...addresses) }));
    const { port } = await serveFor(`--server=${upstream.text}`, '--edns-packet-max=600');
    const { bytes, isTruncated } = await ask(port, { name: 'a.example', ednsBytes: 4096 });
    expect(isTruncated).toBe(true);
    expect(bytes.length).toBeLessThanOrEqual(600);
  });
});

describe('a default server that leads back here', () => {
  it('is found and asked no more', async () => {
    const upstream = await upstreamWith((query) =>
      query.type === TYPE.TXT
        ? { rcode: RCODE.NXDOMAIN }
        : { answers: addressRecords(30, '10.0.0.2') },
    );
    const own = await freePort();
    const back = await serveFor(`--server=127.0.0.1#${own}`);
    const { process } = await serveFor(
      ...[`--port=${own}`, '--dns-loop-detect'],
      ...[`--server=127.0.0.1#${back.port}`, `--server=${upstream.text}`],
    );
    await process.waitForLine(`NOT using nameserver 127.0.0.1#${back.port} - query loop detected`);
    expect((await ask(own, 'a.example')).texts).toEqual(['A 10.0.0.2']);
    const { texts } = await ask(own, { name: 'servers.bind', type: 'TXT', class: 'CH' });
    expect(texts).toEqual([`TXT 127.0.0.1#${back.port} 0 0|${upstream.text} 1 0`]);
  });

  it('is not used when it is this server itself, which is logged', async () => {
    const own = await freePort();
    const { process } = await serveFor(`--port=${own}`, `--server=127.0.0.1#${own}`);
    await process.waitForLine(`ignoring nameserver 127.0.0.1#${own} - local interface`);
    expect((await ask(own, 'a.example')).rcode).toBe('REFUSED');
  });
});

describe('--log-queries', () => {
  it('shows which server had no answer to a question, and why', async () => {
    await againIfStalled(async () => {
      const rcodes = await Promise.all(
        [RCODE.SERVFAIL, RCODE.REFUSED].map((rcode) => upstreamWith(() => ({ rcode }))),
      );
      const texts = rcodes.map(({ text }) => text);
      const silent = await upstreamWith(() => null);
      // One for each question: a server that is known to be closed is not asked.
      const closed = `127.0.0.1#${await freePort()}`;
      const closedTcp = `127.0.0.1#${await freePort()}`;
      const { port, process } = await serveFor(
        ...texts.map((text) => `--server=/failing.test/${text}`),
        `--server=/silent.test/${silent.text}`,
        `--server=/closed.test/${closed}`,
        `--server=/tcp.closed.test/${closedTcp}`,
        ...['--log-queries', '--query-timeout=1500'],
      );
      for (const label of ['failing', 'silent', 'closed']) await ask(port, `a.${label}.test`);
      await askTcp(port, { name: 'tcp.failing.test' });
      await askTcp(port, { name: 'tcp.closed.test' });
      for (const line of [
        `reply error is SERVFAIL (a.failing.test from ${texts[0]})`,
        `reply error is REFUSED (a.failing.test from ${texts[1]})`,
        `reply error is time-out (a.silent.test from ${silent.text})`,
        `reply error is unreachable (a.closed.test from ${closed})`,
        `reply error is SERVFAIL (tcp.failing.test from ${texts[0]})`,
        `reply error is connection refused (tcp.closed.test from ${closedTcp})`,
      ])
        await process.waitForLine(line);
    });
  }, 60_000);
});
