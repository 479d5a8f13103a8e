import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  addressRecords,
  ask,
  encodeReply,
  endPrograms,
  freePort,
  type Script,
  ScriptedNameServer,
  TcpClient,
  until,
} from '@kube-dns/testkit';
import { decodeMessage, encodeQuery, RCODE, TYPE, writeUint16 } from '@kube-dns/wire';
import { serve, type Serving } from './processes.js';

const answering =
  (address: string): Script =>
  () => ({ answers: addressRecords(30, address) });
const silent: Script = () => null;

const MANY = Array.from({ length: 100 }, (_, i) => `10.0.0.${i}`);
/** What the default server replies to a name, by its first label. */
const scripts = new Map<string, Script>();
const upstreams: ScriptedNameServer[] = [];
/** The default server. */
let upstream: ScriptedNameServer;
let dnsmasq: Serving;
/** Servers that fail, as `--server` has them. */
const failing: Record<string, string> = {};

async function upstreamWith(script: Script): Promise<ScriptedNameServer> {
  const started = await ScriptedNameServer.start(script);
  upstreams.push(started);
  return started;
}

const textsOf = async (name: string) => (await ask(dnsmasq.port, name)).texts;

/** One dnsmasq for all that ends with an answer. */
beforeAll(async () => {
  upstream = await upstreamWith((request) => {
    const script = scripts.get(request.name.split('.')[0]!) ?? answering('10.0.0.1');
    return script(request);
  });
  const [good, other] = [
    await upstreamWith(answering('10.0.0.2')),
    await upstreamWith(answering('10.0.0.3')),
  ];
  failing.servfail = (await upstreamWith(() => ({ rcode: RCODE.SERVFAIL }))).text;
  failing.refused = (await upstreamWith(() => ({ rcode: RCODE.REFUSED }))).text;
  // One for each question: a server that is known to be closed is not asked.
  for (const name of ['closed', 'closedTcp', 'closedFirst']) {
    failing[name] = `127.0.0.1#${await freePort()}`;
  }
  const { servfail, refused, closed, closedTcp, closedFirst } = failing;
  const routes = {
    'corp.local': [good.text],
    'deep.corp.local': [other.text],
    'after-servfail.test': [servfail, good.text],
    'after-refused.test': [refused, good.text],
    'after-closed.test': [closedFirst, good.text],
    'failing.test': [refused, servfail],
    'closed.test': [closed],
    'tcp.closed.test': [closedTcp],
    'secret.test': [''],
    'open.corp.local': ['#'],
  };
  const rules = Object.entries(routes).flatMap(([domain, servers]) =>
    servers.map((server) => `--server=/${domain}/${server}`),
  );
  const options = ['--log-queries', '--dns-forward-max=2', '--edns-packet-max=600'];
  dnsmasq = await serve(['--no-resolv', `--server=${upstream.text}`, ...rules, ...options]);
});

afterAll(async () => {
  await endPrograms();
  await Promise.all(upstreams.map((each) => each.close()));
});

describe('routing', () => {
  it('sends a question to the servers of its longest domain, else to the default ones', async () => {
    expect(await textsOf('a.corp.local')).toEqual(['A 10.0.0.2']);
    expect(await textsOf('a.deep.corp.local')).toEqual(['A 10.0.0.3']);
    expect(await textsOf('a.open.corp.local')).toEqual(['A 10.0.0.1']);
    expect(await textsOf('notcorp.local')).toEqual(['A 10.0.0.1']);
    expect((await ask(dnsmasq.port, 'a.secret.test')).rcode).toBe('NXDOMAIN');
    expect(upstream.differentNames).toEqual(['a.open.corp.local', 'notcorp.local']);
  });
});

describe('a question to an upstream', () => {
  it('has an ID and a source port that cannot be guessed', async () => {
    const before = upstream.requests.length;
    for (let i = 0; i < 40; i++) await textsOf(`n${i}.example`);
    const asked = upstream.requests.slice(before);
    const ids = asked.map(({ id }) => id);
    for (const numbers of [ids, asked.map(({ peer }) => peer.port)]) {
      const steps = numbers.slice(1).map((number, i) => number - numbers[i]!);
      expect(new Set(numbers).size).toBeGreaterThan(30);
      expect(new Set(steps).size).toBeGreaterThan(30);
    }
    expect(ids.filter((id) => id === 0x1234).length).toBeLessThan(3);
  });

  it('is not believed to be answered by a wrong ID, another question or no response', async () => {
    scripts.set('forged', ({ query, id, questionEnd, isOverTcp }) => {
      const forged = encodeReply(query, { answers: addressRecords(30, '6.6.6.6') });
      const wrongId = Buffer.from(forged);
      writeUint16(wrongId, 0, id ^ 1);
      const wrongName = Buffer.from(forged);
      wrongName[13]! ^= 1;
      const wrongType = Buffer.from(forged);
      writeUint16(wrongType, questionEnd - 4, TYPE.AAAA);
      const noResponse = Buffer.from(forged);
      noResponse[2]! &= 0x7f;
      const right = encodeReply(query, { answers: addressRecords(30, '10.0.0.1') });
      // After the wrong ID the question comes over TCP.
      if (isOverTcp) return [right];
      return [wrongName, wrongType, noResponse, forged.subarray(0, 11), wrongId, forged];
    });
    expect(await textsOf('forged.example')).toEqual(['A 10.0.0.1']);
  });

  it.each(['127.0.0.1', '127.0.0.2'])(
    'is not believed to be answered from another port of %s',
    async (address) => {
      const forger = createSocket('udp4');
      forger.bind(0, address);
      await once(forger, 'listening');
      scripts.set('other', async ({ query, peer }) => {
        const forged = encodeReply(query, { answers: addressRecords(30, '6.6.6.6') });
        await new Promise((resolve) => forger.send(forged, peer.port, '127.0.0.1', resolve));
        return { answers: addressRecords(30, '10.0.0.1') };
      });
      expect(await textsOf(`other.from-${address.replaceAll('.', '-')}`)).toEqual(['A 10.0.0.1']);
      forger.close();
    },
  );

  it('uses TCP when the answer over UDP is truncated', async () => {
    scripts.set('cut', ({ protocol }) =>
      protocol === 'udp'
        ? { isTruncated: true, answers: addressRecords(30, '6.6.6.6') }
        : { answers: addressRecords(30, ...MANY) },
    );
    const small = await ask(dnsmasq.port, 'cut.example');
    expect(small.isTruncated).toBe(true);
    expect(small.bytes.length).toBeLessThanOrEqual(512);
    expect(small.texts).not.toContain('A 6.6.6.6');
    const whole = await ask(dnsmasq.port, { name: 'cut.example' }, { isOverTcp: true });
    expect(whole.texts).toHaveLength(100);
    const asked = upstream.requests.filter(({ name }) => name === 'cut.example');
    expect(new Set(asked.map(({ protocol }) => protocol))).toEqual(new Set(['udp', 'tcp']));
  });
});

describe('a server that fails', () => {
  it.each(['closed', 'servfail', 'refused'])(
    'is replaced by the next, and so for each way to fail: %s',
    async (way) => {
      expect(await textsOf(`a.after-${way}.test`)).toEqual(['A 10.0.0.2']);
    },
  );

  it('is in the log of queries, with the reason; SERVFAIL is what the client gets when all have failed', async () => {
    const { port, process } = dnsmasq;
    for (const domain of ['failing.test', 'closed.test']) {
      expect((await ask(port, `a.${domain}`)).rcode).toBe('SERVFAIL');
      expect((await ask(port, { name: `tcp.${domain}` }, { isOverTcp: true })).rcode).toBe(
        'SERVFAIL',
      );
    }
    for (const line of [
      `reply error is SERVFAIL (a.failing.test from ${failing.servfail})`,
      `reply error is REFUSED (a.failing.test from ${failing.refused})`,
      `reply error is unreachable (a.closed.test from ${failing.closed})`,
      `reply error is SERVFAIL (tcp.failing.test from ${failing.servfail})`,
      `reply error is connection refused (tcp.closed.test from ${failing.closedTcp})`,
    ])
      await process.waitForLine(line);
  });

  it('is replaced when it is silent', async () => {
    const server = await upstreamWith(silent);
    const next = await upstreamWith(answering('10.0.0.2'));
    const { port } = await serve([
      ...['--no-resolv', '--strict-order', `--server=${server.text}`, `--server=${next.text}`],
      ...['--query-timeout=60000', '--fast-dns-retry=50,60000'],
    ]);
    expect((await ask(port, 'a.example')).texts).toEqual(['A 10.0.0.2']);
    expect(server.names).toContain('a.example');
  });
});

describe('SIGTERM', () => {
  it('first answers waiting clients, and ends with 0', async () => {
    let release = (): void => undefined;
    const slow = await upstreamWith(async () => {
      await new Promise<void>((resolve) => (release = resolve));
      return { answers: addressRecords(30, '10.0.0.1') };
    });
    const { port, process } = await serve(['--no-resolv', `--server=${slow.text}`]);
    const waiting = ask(port, 'a');
    await until(() => slow.requests.length > 0);
    process.signal('SIGTERM');
    await process.waitForLine('SIGTERM, closing');
    release();
    expect((await waiting).texts).toEqual(['A 10.0.0.1']);
    expect(await process.ended).toBe(0);
  });

  it('answers what was sent over TCP before and is not read yet', async () => {
    const { port, process } = await serve(['--no-resolv', '--address=/web.test/10.0.0.1']);
    const clients = await Promise.all(Array.from({ length: 10 }, () => TcpClient.connect(port)));
    const ids = Array.from({ length: 30 }, (_, id) => id);
    const first = encodeQuery({ id: 99, name: 'web.test', type: 'A' });
    for (const client of clients) await client.ask(first);
    process.signal('SIGSTOP');
    for (const client of clients)
      for (const id of ids) client.send(encodeQuery({ id, name: 'web.test', type: 'A' }));
    process.signal('SIGTERM');
    process.signal('SIGCONT');
    for (const client of clients) {
      for (const id of ids) expect(decodeMessage(await client.inbox.next()).id).toBe(id);
      await client.closed;
    }
    expect(await process.ended).toBe(0);
  });

  it('does not wait longer than clients for answers that never arrive, which are SERVFAIL', async () => {
    const server = await upstreamWith(silent);
    const { port, process } = await serve([
      ...['--no-resolv', `--server=${server.text}`, '--query-timeout=100', '--log-queries'],
    ]);
    const waiting = ask(port, 'a');
    await until(() => server.requests.length > 0);
    process.signal('SIGTERM');
    expect((await waiting).rcode).toBe('SERVFAIL');
    expect(await process.ended).toBe(0);
    expect(process.stderr).toContain(`reply error is time-out (a from ${server.text})`);
  });
});

describe('limits', () => {
  it('refuses more than --dns-forward-max immediately, but what is cached, until fewer are in flight', async () => {
    const { port } = dnsmasq;
    await textsOf('known.example');
    const held: (() => void)[] = [];
    scripts.set('held', async () => {
      await new Promise<void>((resolve) => held.push(resolve));
      return { answers: addressRecords(30, '10.0.0.1') };
    });
    const waiting = ['a', 'b'].map((label) => ask(port, `held.${label}`));
    await until(() => held.length >= 2);
    expect((await ask(port, 'third.example')).rcode).toBe('REFUSED');
    // What is cached takes no place.
    expect(await textsOf('known.example')).toEqual(['A 10.0.0.1']);
    for (const release of held) release();
    expect((await Promise.all(waiting)).map(({ rcode }) => rcode)).toEqual(['NOERROR', 'NOERROR']);
    expect((await ask(port, 'third.example')).rcode).toBe('NOERROR');
  });

  it('sends UDP answers of at most --edns-packet-max bytes', async () => {
    scripts.set('many', () => ({ answers: addressRecords(30, ...MANY.slice(0, 60)) }));
    const name = 'many.example';
    const { bytes, isTruncated } = await ask(dnsmasq.port, { name, ednsBytes: 4096 });
    expect(isTruncated).toBe(true);
    expect(bytes.length).toBeLessThanOrEqual(600);
  });
});

describe('a default server that leads back here, or is this server itself', () => {
  it('is found, logged and asked no more', async () => {
    const server = await upstreamWith(({ type }) =>
      type === 'TXT' ? { rcode: RCODE.NXDOMAIN } : { answers: addressRecords(30, '10.0.0.2') },
    );
    const own = await freePort();
    const back = await serve(['--no-resolv', `--server=127.0.0.1#${own}`]);
    const { process } = await serve([
      ...['--no-resolv', `--port=${own}`, '--dns-loop-detect', `--server=127.0.0.1#${own}`],
      ...[`--server=127.0.0.1#${back.port}`, `--server=${server.text}`],
    ]);
    await process.waitForLine(`ignoring nameserver 127.0.0.1#${own} - local interface`);
    await process.waitForLine(`NOT using nameserver 127.0.0.1#${back.port} - query loop detected`);
    expect((await ask(own, 'a.example')).texts).toEqual(['A 10.0.0.2']);
    const { texts } = await ask(own, { name: 'servers.bind', type: 'TXT', class: 'CH' });
    expect(texts[0]).toMatch(`TXT 127.0.0.1#${back.port} 0 0|${server.text} `);
  });
});
