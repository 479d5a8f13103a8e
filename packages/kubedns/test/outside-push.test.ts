import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import {
  endPrograms,
  exchange,
  type NameServerRequest,
  ScriptedNameServer,
  startBundle,
  until,
} from '@kube-dns/testkit';
import { decodeMessage, skipName, writeUint16 } from '@kube-dns/wire';
import { type KubednsProcess, startKubedns } from './support/kubedns-process.js';
import { queryBytes, readAnswer } from './support/messages.js';
import { namespaceObject, serviceObject } from './support/objects.js';

const LB = 'web.shop.lb.test';
const HOST = 'app.example.com';
const SEARCH = 'search.shop.cluster.local.ap.k8s.io';
/** No answer of the cache expires while the test runs. */
const TTL_SECONDS = 3_600;

let api: ApiServer;
let upstream: ScriptedNameServer;
/** Gets the NOTIFY messages. */
let secondary: ScriptedNameServer;
let kubedns: KubednsProcess;
/** The port of a cache in front of kubedns, which subscribes to it. */
let cache: number;

function loadBalancer(ip: string) {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'shop' },
    spec: { type: 'LoadBalancer', clusterIP: '10.96.0.20', ports: [{ port: 80 }] },
    status: { loadBalancer: { ingress: [{ ip }] } },
  };
}

function ingress(ip: string) {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name: 'web', namespace: 'shop' },
    spec: { rules: [{ host: HOST }] },
    status: { loadBalancer: { ingress: [{ ip }] } },
  };
}

async function cached(name: string) {
  return readAnswer(await exchange(cache, queryBytes(name, 'A'), { limitMs: 60_000 }));
}

const addressesOf = async (name: string) =>
  (await cached(name)).answers.map((text) => text.split(' ').at(-1)!);

/** Each name of a NOTIFY with the owner of the SOA in it. */
const notified = () =>
  secondary.requests.map(({ query, question }) => {
    const [soa] = decodeMessage(query).answers;
    return `${question.name} ${soa!.name}`;
  });

function acknowledge({ query }: NameServerRequest): Buffer[] {
  const response = Buffer.from(query.subarray(0, skipName(query, 12, query.length) + 4));
  response[2]! |= 0x80;
  writeUint16(response, 6, 0);
  return [response];
}

beforeAll(async () => {
  api = await createApiServer();
  upstream = await ScriptedNameServer.start();
  upstream.respond('db A', { rcode: 'NXDOMAIN' });
  secondary = await ScriptedNameServer.start(acknowledge);
  const labels = { 'kube-dns/host-names': 'true' };
  await api.apply([
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop', labels } },
    namespaceObject('default'),
    loadBalancer('192.0.2.1'),
    ingress('192.0.2.1'),
  ]);
  kubedns = startKubedns(api, upstream, [
    '--external-domain=lb.test',
    '--route-names',
    '--search-zone=ap.k8s.io',
    '--negative-ttl=1',
    `--record-ttl=${TTL_SECONDS}`,
    `--notify=127.0.0.1#${secondary.port}`,
  ]);
  await kubedns.ready();
  const port = await kubedns.port();
  const zones = ['cluster.local', 'lb.test', 'example.com', 'ap.k8s.io'];
  const servers = zones.map((zone) => `--server=/${zone}/127.0.0.1#${port}`);
  const own = ['--port=0', '--listen-address=127.0.0.1', '-R', '-h'];
  const program = startBundle('dnsmasq', ['--', ...own, ...servers]);
  await program.waitForLine(/announces the changes of cluster\.local, lb\.test, example\.com/);
  cache = Number((await program.waitForLine(/serving on port (\d+)/))[1]);
});
afterAll(async () => {
  await endPrograms();
  await Promise.all([upstream.close(), secondary.close(), api.close()]);
});

it('a load balancer’s address that changes is at once what a cache answers, and NOTIFY names it', async () => {
  await until('the first address', async () => (await addressesOf(LB)).includes('192.0.2.1'));
  await api.apply(loadBalancer('192.0.2.2'));
  await until('the next address', async () => (await addressesOf(LB)).includes('192.0.2.2'));
  await until('NOTIFY', () => notified().includes(`${LB} lb.test`));
});

it('a name above a host exists for a cache, too, which asks once', async () => {
  const data = { mname: 'ns.com', rname: 'admin.com', minimum: 60 };
  const authorities = [{ type: 'SOA', name: 'com', ttl: 60, data }] as const;
  upstream.respond('example.com A', { rcode: 'NXDOMAIN', authorities });
  for (let turn = 0; turn < 2; turn++) {
    expect(await cached('example.com')).toMatchObject({ rcode: 'NOERROR', answers: [] });
  }
  expect(upstream.asked.filter((each) => each === 'example.com A')).toHaveLength(1);
});

it('so is that of a host of a route, and a host that goes', async () => {
  await until('the first address', async () => (await addressesOf(HOST)).includes('192.0.2.1'));
  await api.apply(ingress('192.0.2.2'));
  await until('the next address', async () => (await addressesOf(HOST)).includes('192.0.2.2'));
  await until('NOTIFY', () => notified().includes(`${HOST} cluster.local`));
  api.delete('Ingress', 'shop', 'web');
  await until('no address', async () => (await addressesOf(HOST)).length === 0);
});

it('a search name goes with its target, and its denial has the TTL that it says', async () => {
  const name = `web.${SEARCH}`;
  const { answers } = await cached(name);
  expect(answers).toEqual([
    `${name} CNAME web.shop.svc.cluster.local`,
    'web.shop.svc.cluster.local A 10.96.0.20',
  ]);
  const denied = await cached(`db.${SEARCH}`);
  expect(denied).toMatchObject({ rcode: 'NXDOMAIN', ttls: [1] });
  api.delete('Service', 'shop', 'web');
  upstream.respond('web A', { rcode: 'NXDOMAIN' });
  await until('NXDOMAIN', async () => (await cached(name)).rcode === 'NXDOMAIN');
  await api.apply(
    serviceObject({
      namespace: 'shop',
      name: 'db',
      clusterIPs: ['10.96.0.30'],
      ports: [{ port: 1 }],
    }),
  );
  // What it may be a name of is not announced, so nothing but its TTL ends the denial.
  await until('the new service', async () => (await addressesOf(`db.${SEARCH}`)).length === 2);
});
