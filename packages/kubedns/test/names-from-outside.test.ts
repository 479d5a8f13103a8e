import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { endPrograms, ScriptedNameServer, until } from '@kube-dns/testkit';
import { type KubednsProcess, startKubedns } from './support/kubedns-process.js';
import { SHOP } from './support/objects.js';

const HOST = 'app.example.com';

let api: ApiServer;
let upstream: ScriptedNameServer;
let kubedns: KubednsProcess;

function ingress(namespace: string, host: string, ip: string) {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name: 'web', namespace },
    spec: { rules: [{ host, http: { paths: [{ backend: { service: { name: 'web' } } }] } }] },
    status: { loadBalancer: { ingress: [{ ip }] } },
  };
}

function hosts(text: string) {
  const metadata = { name: 'kube-dns', namespace: 'kube-system' };
  const upstreamNameservers = JSON.stringify([upstream.hostPort]);
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata,
    data: { hosts: text, upstreamNameservers },
  };
}

function route(kind: string, hostname: string) {
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind,
    metadata: { name: 'web', namespace: 'shop' },
    spec: { hostnames: [hostname], parentRefs: [{ name: 'gate' }] },
  };
}

async function becomes(name: string, ...addresses: string[]): Promise<void> {
  const expected = addresses.map((address) => `${name} A ${address}`);
  await until(`${name} A ${addresses.join()}`, async () => {
    const { answers } = await kubedns.ask(name, 'A');
    return answers.join() === expected.join();
  });
}

beforeAll(async () => {
  api = await createApiServer();
  upstream = await ScriptedNameServer.start();
  const labels = { 'kube-dns/host-names': 'true' };
  await api.apply([
    ...SHOP,
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop', labels } },
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'tenant' } },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'lb', namespace: 'shop' },
      spec: { type: 'LoadBalancer', ports: [{ name: 'http', port: 80 }] },
      status: { loadBalancer: { ingress: [{ ip: '192.0.2.80' }] } },
    },
    ingress('shop', HOST, '192.0.2.1'),
    ingress('tenant', 'yahoo.com', '192.0.2.66'),
    {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'Gateway',
      metadata: { name: 'gate', namespace: 'shop' },
      status: { addresses: [{ type: 'IPAddress', value: '192.0.2.7' }] },
    },
    route('HTTPRoute', '*.shop.example.com'),
    route('GRPCRoute', 'grpc.example.com'),
    hosts('192.0.2.5 db.example.com db'),
  ]);
  api.failRequests({ resource: 'tlsroutes', status: 403 });
  const flags = [
    '--external-domain=lb.test',
    '--route-names',
    '--search-zone=ap.k8s.io',
    '--config-map=kube-dns',
  ];
  kubedns = await startKubedns(api, upstream, flags).ready();
});
afterAll(async () => {
  await endPrograms();
  await upstream.close();
  await api.close();
});

describe('names from outside', () => {
  it('are those of services with an address outside of the cluster, in their zone', async () => {
    expect(await kubedns.ask('lb.shop.lb.test', 'A')).toMatchObject({
      rcode: 'NOERROR',
      flags: 'aa ra rd',
      answers: ['lb.shop.lb.test A 192.0.2.80'],
    });
    expect(await kubedns.ask('web.shop.lb.test', 'A')).toMatchObject({ rcode: 'NXDOMAIN' });
    expect((await kubedns.ask('lb.test', 'NS')).answers).toEqual(['lb.test NS ns.dns.lb.test']);
  });

  it('are the hosts of Ingresses and routes of namespaces with the label', async () => {
    await becomes(HOST, '192.0.2.1');
    await becomes('a.shop.example.com', '192.0.2.7');
    await becomes('grpc.example.com', '192.0.2.7');
    expect(await kubedns.ask(HOST, 'MX')).toMatchObject({ rcode: 'NOERROR', answers: [] });
    await api.apply(ingress('shop', HOST, '192.0.2.2'));
    await becomes(HOST, '192.0.2.2');
    api.delete('Ingress', 'shop', 'web');
    await until('NXDOMAIN from upstream', async () => {
      return (await kubedns.ask(HOST, 'A')).rcode !== 'NOERROR';
    });
  });

  it('are the lines of the key hosts, as they are now', async () => {
    await becomes('db', '192.0.2.5');
    const reverse = '5.2.0.192.in-addr.arpa';
    expect((await kubedns.ask(reverse, 'PTR')).answers).toEqual([`${reverse} PTR db.example.com`]);
    await api.apply(hosts('192.0.2.6 db.example.com'));
    await becomes('db.example.com', '192.0.2.6');
    await api.apply(hosts('db.example.com'));
    await kubedns.waitForLine(/hosts: line 1: "db.example.com" is not an IP address/);
    await becomes('db.example.com', '192.0.2.6');
  });

  it('are not what another tenant wants: that is forwarded as before', async () => {
    upstream.respond('yahoo.com A', {
      answers: [{ type: 'A', name: 'yahoo.com', ttl: 77, data: '203.0.113.1' }],
    });
    expect(await kubedns.ask('yahoo.com', 'A')).toMatchObject({
      flags: 'ra rd',
      answers: ['yahoo.com A 203.0.113.1'],
    });
    expect(upstream.asked).toContain('yahoo.com A');
  });

  // RFC 8020.
  it('are below names that exist, whatever an upstream server says', async () => {
    for (const name of ['shop.example.com', 'example.com']) {
      upstream.respond(`${name} A`, { rcode: 'NXDOMAIN' });
      expect(await kubedns.ask(name, 'A')).toMatchObject({ rcode: 'NOERROR', answers: [] });
    }
    upstream.respond('example.org A', { rcode: 'NXDOMAIN' });
    expect(await kubedns.ask('example.org', 'A')).toMatchObject({ rcode: 'NXDOMAIN' });
  });

  it('are on the page /cache, and in explanations', async () => {
    const [, cache] = await kubedns.get('/cache');
    for (const text of ['192.0.2.80', '192.0.2.7', '192.0.2.6']) expect(cache).toContain(text);
    expect(cache).not.toContain('192.0.2.66');
    const explained = async (name: string) => {
      const [, body] = await kubedns.get(`/explain?name=${name}&type=A`);
      return body;
    };
    expect(await explained('a.shop.example.com')).toContain('that of HTTPRoute shop/web');
    expect(await explained('shop.example.com')).toContain('above a name that is answered here');
    expect(await explained('lb.shop.lb.test')).toContain('the name of the service shop/lb');
    const search = await explained('lb.search.shop.cluster.local.ap.k8s.io');
    expect(search).toContain('lb.shop.svc.cluster.local: it exists.');
    const outside = await explained('yahoo.com.search.shop.cluster.local.ap.k8s.io');
    expect(outside).toContain('yahoo.com.svc.cluster.local: there is no such name.');
    expect(outside).toContain('yahoo.com: its server is asked.');
    expect(outside).toContain('203.0.113.1');
  });

  it('do without a resource that is denied, which is one line', async () => {
    const lines = kubedns.program.stderr.split('\n').filter((line) => line.includes('tlsroutes'));
    expect(lines).toHaveLength(1);
    expect((await kubedns.get('/readiness'))[0]).toBe(200);
  });
});
