import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer, type Manifest } from '@kube-dns/apiserver';
import {
  ask,
  type Dnsmasq,
  findRealDnsmasq,
  type Kubedns,
  missingRealDnsmasq,
  RealDnsmasq,
  unless,
  until,
} from '@kube-dns/testkit';
import { startDnsmasq, startKubedns } from '../src/fixtures/pod-containers.js';

const ZONE = 'svc.cluster.local';
const PORTS = [{ name: 'http', port: 80, protocol: 'TCP' }];
const CHANGED_MS = 1_000;

function object(kind: string, name: string, namespace: string | undefined, rest: object = {}) {
  const apiVersion = kind === 'EndpointSlice' ? 'discovery.k8s.io/v1' : 'v1';
  const metadata = { name, ...(namespace !== undefined && { namespace }) };
  return { apiVersion, kind, metadata, ...rest } as Manifest;
}

const namespace = (name: string) => object('Namespace', name, undefined);
const service = (name: string, ip: string, space = 'shop') =>
  object('Service', name, space, { spec: { clusterIP: ip, clusterIPs: [ip], ports: PORTS } });
const headless = (name: string) =>
  object('Service', name, 'shop', {
    spec: { clusterIP: 'None', clusterIPs: ['None'], ports: PORTS },
  });
const slice = (name: string, ...addresses: string[]): Manifest => ({
  ...object('EndpointSlice', `${name}-1`, 'shop', {
    addressType: 'IPv4',
    ports: PORTS,
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
  }),
  metadata: {
    name: `${name}-1`,
    namespace: 'shop',
    labels: { 'kubernetes.io/service-name': name },
  },
});

let api: ApiServer;
let kubedns: Kubedns;
let dnsmasq: Dnsmasq;

function serverArgs(port: number): string[] {
  return ['cluster.local', 'in-addr.arpa'].map((zone) => `--server=/${zone}/127.0.0.1#${port}`);
}

/** The rcode and the data of the records, as one text. */
async function answer(name: string, type = 'A', port = dnsmasq.ports.dns): Promise<string> {
  const { rcode, answers } = await ask(port, { name, type });
  const data = answers.map((record) => String('data' in record ? record.data : '')).sort();
  return [rcode, ...data].join(' ');
}

/** Waits until the cache has the old answer, for certain: asked twice, it is given without a question. */
async function cached(name: string, type: string, expected: string): Promise<void> {
  await until(`${name} ${type} ${expected}`, async () => (await answer(name, type)) === expected);
  const before = await misses();
  expect(await answer(name, type)).toBe(expected);
  expect(await misses()).toBe(before);
}

async function misses(): Promise<number> {
  return (await dnsmasq.metrics()).sum('dnsmasq_misses_total');
}

const subscribed = () => dnsmasq.server.waitForLine(/tells the changes of cluster.local/);

async function startAll(): Promise<void> {
  api = await createApiServer();
  await api.apply([
    namespace('shop'),
    service('web', '10.96.1.1'),
    headless('db'),
    slice('db', '10.1.0.1'),
  ]);
  kubedns = await startKubedns({ flags: [`--kube-master-url=${api.url}`] });
  await kubedns.ready();
  const args = ['--cache-size=1000', '--no-negcache', '--negcache=push'];
  dnsmasq = await startDnsmasq({ args: [...args, ...serverArgs(kubedns.ports.dns)] });
  await dnsmasq.ready();
  await subscribed();
}

async function endAll(): Promise<void> {
  await dnsmasq.close();
  await kubedns.close();
  await api.close();
}

describe('a change in the API, seen through the cache', () => {
  beforeAll(startAll);
  afterAll(endAll);

  it.each<[string, string, string, string, () => Promise<unknown>, string]>([
    [
      'a service is created',
      `new.shop.${ZONE}`,
      'A',
      'NXDOMAIN',
      () => api.apply([service('new', '10.96.1.2')]),
      'NOERROR 10.96.1.2',
    ],
    [
      'an address changes',
      `web.shop.${ZONE}`,
      'A',
      'NOERROR 10.96.1.1',
      () => replace(service('web', '10.96.1.9')),
      'NOERROR 10.96.1.9',
    ],
    [
      'a reverse name changes',
      '9.1.96.10.in-addr.arpa',
      'PTR',
      `NOERROR web.shop.${ZONE}`,
      () => replace(service('web', '10.96.1.10')),
      'SERVFAIL',
    ],
    [
      'an endpoint is added',
      `db.shop.${ZONE}`,
      'A',
      'NOERROR 10.1.0.1',
      () => api.apply([slice('db', '10.1.0.1', '10.1.0.2')]),
      'NOERROR 10.1.0.1 10.1.0.2',
    ],
    [
      'the endpoints go',
      `_http._tcp.db.shop.${ZONE}`,
      'A',
      'NOERROR',
      () => api.apply([slice('db')]),
      'NXDOMAIN',
    ],
    [
      'a service is deleted',
      `new.shop.${ZONE}`,
      'A',
      'NOERROR 10.96.1.2',
      () => remove('Service', 'shop', 'new'),
      'NXDOMAIN',
    ],
    [
      'a namespace is created',
      `other.${ZONE}`,
      'A',
      'NXDOMAIN',
      () => api.apply([namespace('other')]),
      'NOERROR',
    ],
    [
      'a namespace goes',
      `10-1-0-1.other.pod.cluster.local`,
      'A',
      'NOERROR 10.1.0.1',
      () => remove('Namespace', undefined, 'other'),
      'NXDOMAIN',
    ],
  ])('is there when %s', async (_, name, type, before, change, after) => {
    await cached(name, type, before);
    const startedMs = performance.now();
    await change();
    await until(after, async () => (await answer(name, type)) === after, { stepMs: 1 });
    expect(performance.now() - startedMs).toBeLessThan(CHANGED_MS);
  });
});

describe('an answer of a zone whose server tells changes', () => {
  beforeEach(startAll);
  afterEach(endAll);

  it('stays in the cache, and goes as its TTL says once the server is cut off', async () => {
    await cached(`web.shop.${ZONE}`, 'A', 'NOERROR 10.96.1.1');
    await cached(`none.shop.${ZONE}`, 'A', 'NXDOMAIN');
    // The TTL of a negative answer is 5 s.
    await new Promise((resolve) => setTimeout(resolve, 5_500));
    await cached(`none.shop.${ZONE}`, 'A', 'NXDOMAIN');
    kubedns.server.signal('SIGKILL');
    await dnsmasq.server.waitForLine(/tells no changes any more/);
    expect(await answer(`none.shop.${ZONE}`)).toBe('SERVFAIL');
    expect(await answer(`web.shop.${ZONE}`)).toBe('NOERROR 10.96.1.1');
  });

  it('is asked for again after the server was away', async () => {
    await cached(`web.shop.${ZONE}`, 'A', 'NOERROR 10.96.1.1');
    await cached(`late.shop.${ZONE}`, 'A', 'NXDOMAIN');
    const { ports } = kubedns;
    await kubedns.close();
    await api.apply([service('late', '10.96.1.3')]);
    await replace(service('web', '10.96.1.4'));
    kubedns = await startKubedns({ flags: [`--kube-master-url=${api.url}`], ports });
    await until('live again', () => dnsmasq.server.stderr.split('tells the changes').length > 2);
    expect(await answer(`late.shop.${ZONE}`)).toBe('NOERROR 10.96.1.3');
    expect(await answer(`web.shop.${ZONE}`)).toBe('NOERROR 10.96.1.4');
  });
});

describe('a server that tells no changes', () => {
  unless(missingRealDnsmasq(), it)('is said once, and TTLs rule', async () => {
    const server = await RealDnsmasq.start(findRealDnsmasq()!, {
      args: ['--address=/cluster.local/10.0.0.1'],
    });
    const front = await startDnsmasq({ args: ['--cache-size=100', ...serverArgs(server.port)] });
    try {
      await front.ready();
      await front.server.waitForLine(/does not tell changes of cluster.local, in-addr.arpa \(/);
      expect(await answer('a.cluster.local', 'A', front.ports.dns)).toBe('NOERROR 10.0.0.1');
    } finally {
      await front.close();
      await server.close();
    }
  });
});

async function replace(made: Manifest): Promise<void> {
  await remove('Service', 'shop', made.metadata!.name!);
  await api.apply([made]);
}

function remove(
  kind: 'Service' | 'Namespace',
  space: string | undefined,
  name: string,
): Promise<void> {
  api.delete(kind, space, name);
  return Promise.resolve();
}
