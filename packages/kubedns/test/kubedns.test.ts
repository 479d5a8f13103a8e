import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { endPrograms, holdsOnce, needsPrograms, unless, until } from '@kube-dns/testkit';
import { EXTENDED_ERROR } from '@kube-dns/wire';
import { startKubedns } from './support/kubedns-process.js';
import { NameServer } from './support/name-server.js';
import { HEADLESS, namespaceObject, serviceObject, sliceObject } from './support/objects.js';

const ZONE = 'shop.svc.cluster.local';
const OBJECTS = [
  namespaceObject('shop'),
  serviceObject({
    namespace: 'shop',
    clusterIPs: ['10.96.0.20'],
    ports: [{ name: 'http', port: 80 }],
  }),
  serviceObject({ namespace: 'shop', name: 'db', ...HEADLESS }),
  sliceObject({
    namespace: 'shop',
    name: 'db-1',
    service: 'db',
    endpoints: [{ addresses: ['10.1.0.1'], hostname: 'db-0' }, '10.1.0.2'],
    ports: [{ name: 'sql', port: 5432 }],
  }),
  serviceObject({ namespace: 'shop', name: 'ext', externalName: 'db.example.com' }),
];

const itWithDig = unless(needsPrograms('dig'), it);

let api: ApiServer;
let upstream: NameServer;
beforeEach(async () => {
  api = await createApiServer();
  await api.apply(OBJECTS);
  upstream = await NameServer.start();
});
afterEach(async () => {
  await endPrograms();
  await upstream.close();
  await api.close();
});

const start = (args?: readonly string[], env?: NodeJS.ProcessEnv) =>
  startKubedns(api, upstream, args, env);

/** An option with an Extended DNS Error. */
function extendedError(code: number, text: Buffer): Buffer {
  const head = Buffer.from([0, 15, 0, 0, 0, code]);
  head.writeUInt16BE(2 + text.length, 2);
  return Buffer.concat([head, text]);
}

describe('the program', () => {
  it('answers SERVFAIL and is not ready until the cluster is listed, then answers with its records', async () => {
    api.hang();
    const kubedns = start();
    expect(await kubedns.ask(`web.${ZONE}`, 'A', { hasEdns: true })).toMatchObject({
      rcode: 'SERVFAIL',
      answers: [],
      extendedError: EXTENDED_ERROR.NOT_READY,
    });
    expect(await kubedns.get('/readiness')).toEqual([503, 'not ready\n']);
    api.unhang();
    await until('ready', async () => (await kubedns.get('/readiness'))[0] === 200);
    expect(await kubedns.get('/readiness')).toEqual([200, 'ok\n']);
    expect(await kubedns.get('/nothing')).toEqual([404, '404 page not found\n']);
    expect((await kubedns.ask(`web.${ZONE}`, 'A')).answers).toEqual([`web.${ZONE} A 10.96.0.20`]);
  });

  it('answers over UDP and over TCP', async () => {
    const kubedns = await start().ready();
    for (const isOverTcp of [false, true]) {
      expect(await kubedns.ask(`_sql._tcp.db.${ZONE}`, 'SRV', { isOverTcp })).toMatchObject({
        rcode: 'NOERROR',
        flags: 'aa ra rd',
      });
      expect(await kubedns.ask(`no.${ZONE}`, 'A', { isOverTcp })).toMatchObject({
        rcode: 'NXDOMAIN',
        authorities: ['cluster.local SOA ns.dns.cluster.local hostmaster.cluster.local 5'],
      });
    }
  });

  itWithDig('answers dig as it should', async () => {
    const kubedns = await start().ready();
    const port = String(await kubedns.port());
    const dig = async (...args: string[]) => {
      const all = ['@127.0.0.1', '-p', port, '+tries=1', '+time=20', ...args];
      const { stdout } = await promisify(execFile)('dig', all);
      return stdout.trim();
    };
    const short = async (...args: string[]) => (await dig('+short', ...args)).split('\n').sort();
    const { clusterIP } = api.get('Service', 'default', 'kubernetes')!.spec;
    expect(await short('kubernetes.default.svc.cluster.local')).toEqual([clusterIP]);
    expect(await short('+tcp', 'kubernetes.default.svc.cluster.local')).toEqual([clusterIP]);
    expect(await short('-x', clusterIP!)).toEqual(['kubernetes.default.svc.cluster.local.']);
    expect(await short('-x', '10.1.0.1')).toEqual([`db-0.db.${ZONE}.`]);
    expect(await short(`db.${ZONE}`)).toEqual(['10.1.0.1', '10.1.0.2']);
    expect(await short(`_http._tcp.web.${ZONE}`, 'SRV')).toEqual([`10 100 80 web.${ZONE}.`]);
    expect(await short(`1-2-3-4.shop.pod.cluster.local`)).toEqual(['1.2.3.4']);
    const negative = await dig(`no.${ZONE}`);
    expect(negative).toMatch(/status: NXDOMAIN/);
    expect(negative).toMatch(/flags: qr aa rd ra;/);
    expect(negative).toMatch(/cluster\.local\.\s+5\s+IN\s+SOA/);
    expect(negative).not.toMatch(/malformed|extra bytes/);
  });

  itWithDig('gives what a server says of its answer as text that dig can read', async () => {
    const kubedns = await start().ready();
    const port = String(await kubedns.port());
    const response = { answers: [{ type: 'A', ttl: 9, data: '192.0.2.1' } as const] };
    for (const [name, said, expected] of [
      ['emoji.test', ['😀'.repeat(20)], [`upstream: ${'😀'.repeat(7)}`]],
      ['long.test', ['x'.repeat(900)], [`upstream: ${'x'.repeat(30)}`]],
      ['bytes.test', [Buffer.of(0xff, 0xfe)], ['upstream: ??']],
      ['many.test', Array<string>(150).fill('a'), ['upstream: a', 'upstream: a']],
      ['behind-dnsmasq.test', ['upstream: a\u001b'], ['upstream: a?']],
    ] as const) {
      upstream.respond(`${name} A`, response);
      upstream.options = Buffer.concat(said.map((text) => extendedError(6, Buffer.from(text))));
      const { stdout } = await promisify(execFile)('dig', ['@127.0.0.1', '-p', port, name]);
      const texts = [...stdout.matchAll(/^; EDE: 6 \(DNSSEC Bogus\): \((.*)\)$/gm)];
      expect(texts.map(([, text]) => text)).toEqual(expected);
      expect(stdout).toMatch('192.0.2.1');
    }
  });

  it('serves a change of an object within a second', async () => {
    const kubedns = await start().ready();
    const added = serviceObject({
      namespace: 'shop',
      name: 'new',
      clusterIPs: ['10.96.0.30'],
      ports: [{ port: 80 }],
    });
    const rcode = async (name: string) => (await kubedns.ask(name, 'A')).rcode;
    const timed = async (change: () => unknown, name: string, expected: string) => {
      await change();
      const startedMs = performance.now();
      await until(expected, async () => (await rcode(name)) === expected);
      return performance.now() - startedMs;
    };
    await holdsOnce(async () => {
      await timed(() => api.apply(OBJECTS), `db.${ZONE}`, 'NOERROR');
      const addedMs = await timed(() => api.apply(added), `new.${ZONE}`, 'NOERROR');
      expect((await kubedns.ask('30.0.96.10.in-addr.arpa', 'PTR')).answers).toHaveLength(1);
      const removeService = () => api.delete('Service', 'shop', 'new');
      const removedMs = await timed(removeService, `new.${ZONE}`, 'NXDOMAIN');
      const removeSlice = () => api.delete('EndpointSlice', 'shop', 'db-1');
      const emptiedMs = await timed(removeSlice, `db.${ZONE}`, 'NXDOMAIN');
      expect(Math.max(addedMs, removedMs, emptiedMs)).toBeLessThan(1_000);
    });
  });

  it('keeps answering while the API server is away', async () => {
    const kubedns = await start().ready();
    await api.close();
    await kubedns.waitForLine(/W.* \/api\/v1\/services: .*next try in/);
    expect((await kubedns.ask(`web.${ZONE}`, 'A')).answers).toHaveLength(1);
    expect(await kubedns.get('/readiness')).toEqual([200, 'ok\n']);
  });

  it('serves the zone of --domain', async () => {
    const kubedns = await start(['--domain=corp.example']).ready();
    expect((await kubedns.ask('web.shop.svc.corp.example', 'A')).answers).toHaveLength(1);
    expect((await kubedns.ask(`web.${ZONE}`, 'A')).rcode).toBe('NXDOMAIN');
    expect(upstream.asked).toEqual([`web.${ZONE} A`]);
  });
});

describe('a name outside the cluster', () => {
  it('is answered by the name server that --nameservers names', async () => {
    upstream.respond('example.com A', {
      answers: [{ type: 'A', name: 'example.com', ttl: 77, data: '192.0.2.1' }],
    });
    const kubedns = await start().ready();
    for (const isOverTcp of [false, true]) {
      expect(await kubedns.ask('Example.com', 'A', { isOverTcp })).toMatchObject({
        flags: 'ra rd',
        question: 'Example.com A',
        ttls: [77],
      });
    }
    expect((await kubedns.ask('9.9.9.9.in-addr.arpa', 'PTR')).rcode).toBe('NXDOMAIN');
    expect(upstream.asked).toContain('9.9.9.9.in-addr.arpa PTR');
  });

  it('is SERVFAIL within 4.5 s when that is silent, with and without a CNAME', async () => {
    upstream.isSilent = true;
    const kubedns = await start().ready();
    await holdsOnce(async (attempt) => {
      // Names of its own: a failure is remembered.
      const [alias, target] = [`ext${attempt}.${ZONE}`, `db${attempt}.example.com`];
      const fields = { namespace: 'shop', name: `ext${attempt}`, externalName: target };
      await api.apply(serviceObject(fields));
      const isThere = async () => (await kubedns.ask(alias, 'CNAME')).answers.length === 1;
      await until('the alias', isThere);
      const startedMs = performance.now();
      const both = await Promise.all([
        kubedns.ask(`a${attempt}.example.com`, 'A'),
        kubedns.ask(alias, 'A'),
      ]);
      expect(performance.now() - startedMs).toBeLessThan(4_500);
      expect(both.map(({ rcode }) => rcode)).toEqual(['SERVFAIL', 'SERVFAIL']);
      expect(both[1].answers).toEqual([`${alias} CNAME ${target}`]);
    });
  });
});
