import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import type { Explanation } from '@kube-dns/telemetry';
import { endPrograms, freePort, ScriptedNameServer } from '@kube-dns/testkit';
import { type KubednsProcess, startKubedns } from './support/kubedns-process.js';
import { HEADLESS, namespaceObject, serviceObject, sliceObject } from './support/objects.js';

const ZONE = 'svc.cluster.local';
const PORTS = [{ name: 'http', port: 80, protocol: 'TCP' }];
let api: ApiServer;
let upstream: ScriptedNameServer;
let kubedns: KubednsProcess;
let metricsPort: number;

beforeAll(async () => {
  api = await createApiServer();
  await api.apply([
    namespaceObject('shop'),
    serviceObject({ clusterIPs: ['10.96.0.7'], ports: PORTS }),
    serviceObject({ name: 'db', namespace: 'shop', ...HEADLESS, ports: PORTS }),
    serviceObject({ name: 'out', externalName: 'out.example' }),
    serviceObject({ name: 'idle', ...HEADLESS }),
    sliceObject({ endpoints: [{ addresses: ['10.1.0.9'], isReady: false }], ports: PORTS }),
    sliceObject({
      name: 'db-x',
      namespace: 'shop',
      service: 'db',
      ports: PORTS,
      endpoints: [
        { addresses: ['10.1.0.1'], pod: 'db-0', hostname: 'db-0' },
        { addresses: ['10.1.0.2'], pod: 'db-1', isReady: false },
        { addresses: ['10.1.0.3'], pod: 'extra' },
      ],
    }),
  ]);
  upstream = await ScriptedNameServer.start();
  upstream.respond('out.example A', { answers: [{ type: 'A', ttl: 60, data: '192.0.2.7' }] });
  metricsPort = await freePort();
  kubedns = startKubedns(api, upstream, [], { PROMETHEUS_PORT: String(metricsPort) });
  await kubedns.ready();
  await kubedns.port();
});

afterAll(async () => {
  await endPrograms();
  await Promise.all([api.close(), upstream.close()]);
});

async function explain(name: string, type = 'A'): Promise<Explanation> {
  const query = new URLSearchParams({ name, type }).toString();
  const [status, body] = await kubedns.get(`/explain?${query}`);
  expect(status).toBe(200);
  return JSON.parse(body) as Explanation;
}

/** The texts of steps of a kind. */
function texts({ steps }: Explanation, step: string): string[] {
  return steps.filter((one) => one.step === step).map(({ text }) => text);
}

describe('/explain of kubedns', () => {
  it('has the service and its slices with the versions that the API server has now', async () => {
    const explained = await explain(`db.shop.${ZONE}`);
    const { metadata } = api.objects.get('Service', 'shop', 'db')!;
    expect(explained.program).toBe('kubedns');
    expect(explained.question).toEqual({ name: `db.shop.${ZONE}.`, type: 'A' });
    const [service, slice] = ['service', 'slice'].map((kind) =>
      explained.steps.find(({ step }) => step === kind)!,
    );
    expect(service!.text).toMatch(/^The service shop\/db \(version \d+\) is headless/);
    expect(slice!.text).toMatch(/^Its slice db-x \(version \d+, IPv4\) has 2 of 3 endpoints ready/);
    expect(service!.resourceVersion).toBe(metadata.resourceVersion);
    expect(texts(explained, 'left-out')).toEqual([
      '1 endpoint is left out, not ready: 10.1.0.2 (pod db-1).',
    ]);
    expect(explained.verdict.answers.toSorted()).toEqual([
      `db.shop.${ZONE}. 30 IN A 10.1.0.1`,
      `db.shop.${ZONE}. 30 IN A 10.1.0.3`,
    ]);
  });

  it('says why a name does not exist, and which one is near', async () => {
    const near = async (name: string) => {
      const explained = await explain(name);
      expect(explained.verdict.rcode).toBe('NXDOMAIN');
      return [
        ...texts(explained, 'absent'),
        ...texts(explained, 'left-out'),
        ...texts(explained, 'near'),
      ];
    };
    expect(await near(`dbb.shop.${ZONE}`)).toEqual([
      'There is no service dbb in the namespace shop.',
      `Did you mean db.shop.${ZONE}.?`,
    ]);
    expect(await near(`db.default.${ZONE}`)).toEqual([
      'There is no service db in the namespace default. There is one of this name in the namespace shop.',
      `Did you mean db.shop.${ZONE}.?`,
    ]);
    expect(await near(`shop.db.${ZONE}`)).toEqual([
      'There is no namespace db. The service comes first in a name, then its namespace.',
      `Did you mean db.shop.${ZONE}.?`,
    ]);
    expect(await near(`www.example.com.shop.${ZONE}`)).toEqual([
      `There is no service com in the namespace shop. It looks like www.example.com with the search domain shop.${ZONE} appended.`,
    ]);
    expect(await near('db.shop.cluster.local')).toEqual([
      'Directly below cluster.local there are only svc, pod, dns and dns-version, not shop.',
      `Did you mean db.shop.${ZONE}.?`,
    ]);
    expect((await near(`extra.db.shop.${ZONE}`))[0]).toMatch(
      /^The pod extra is an endpoint \(10\.1\.0\.3\) without a hostname/,
    );
    expect((await near(`db-7.db.shop.${ZONE}`))[0]).toBe(
      'No ready endpoint has the hostname db-7; there is db-0.',
    );
    expect(await near(`web-0.web.default.${ZONE}`)).toEqual([
      'The service has a cluster address, so its pods have no names below it: those are made for headless services (clusterIP: None).',
    ]);
    expect(await near(`_htp._tcp.web.default.${ZONE}`)).toEqual([
      'No port is named htp over TCP. Its port is http (TCP 80). Did you mean _http?',
    ]);
    expect((await near(`idle.default.${ZONE}`))[0]).toMatch(
      /^A headless service without a ready endpoint has no name/,
    );
  });

  it('says which part of a name is missing, and nothing of the others', async () => {
    const missing = async (name: string) => {
      const explained = await explain(name, 'SRV');
      expect(explained.verdict.rcode).toBe('NXDOMAIN');
      const kinds = ['absent', 'left-out', 'note'];
      return kinds.flatMap((kind) => texts(explained, kind));
    };
    expect(await missing('x.dns.cluster.local')).toEqual([
      'Below dns.cluster.local there is only ns.',
    ]);
    expect(await missing('x.dns-version.cluster.local')).toEqual([
      'dns-version.cluster.local has no names below it.',
    ]);
    expect(await missing('a.10-0-0-1.shop.pod.cluster.local')).toEqual([
      'The name of a pod has no names below it.',
    ]);
    // The host is there, the port is not; and the other way round.
    const notReady = '1 endpoint is left out, not ready: 10.1.0.2 (pod db-1).';
    expect(await missing(`db-0._htp._tcp.db.shop.${ZONE}`)).toEqual([
      notReady,
      'No port is named htp over TCP. Its port is http (TCP 80). Did you mean _http?',
    ]);
    expect(await missing(`db-7._http._tcp.db.shop.${ZONE}`)).toEqual([
      'No ready endpoint has the hostname db-7; there is db-0.',
      notReady,
    ]);
    expect(await missing(`_http._tcp.db-0.db.shop.${ZONE}`)).toEqual([
      notReady,
      'A port is named _PORT._PROTOCOL before the name of the service, and that of one endpoint HOST._PORT._PROTOCOL.',
    ]);
    // The address of the service is not that of a name that does not exist.
    expect(await missing(`_htp._tcp.web.default.${ZONE}`)).toEqual([
      'No port is named htp over TCP. Its port is http (TCP 80). Did you mean _http?',
    ]);
  });

  it('says why a name has no record of a type, and that a service has no ready endpoint', async () => {
    const explained = await explain(`web.default.${ZONE}`, 'AAAA');
    expect(explained.verdict).toMatchObject({ rcode: 'NOERROR', answers: [] });
    expect(texts(explained, 'left-out')[0]).toMatch(/^It has IPv4 addresses only/);
    expect(texts(explained, 'note')).toEqual([
      'None of its 1 endpoint is ready: the name has an address, but connections to it fail.',
    ]);
    expect(texts(await explain(`web.default.${ZONE}`, 'MX'), 'left-out')).toEqual([
      'There is never an MX record for a service: only A, AAAA and SRV.',
    ]);
  });

  it('follows an ExternalName to the servers that are asked', async () => {
    const explained = await explain(`out.default.${ZONE}`);
    const server = upstream.text;
    expect(texts(explained, 'name')[0]).toMatch(/of type ExternalName: a CNAME of out\.example\.$/);
    expect(texts(explained, 'route')[1]).toBe(
      `The target out.example is not in cluster.local, and no stub domain matches: it goes to the servers of --nameservers, ${server}.`,
    );
    expect(texts(explained, 'server')[0]).toMatch(
      /^127\.0\.0\.1#\d+ was asked over UDP: it replied NOERROR after [\d.]+ ms\.$/,
    );
    expect(explained.verdict.answers).toEqual([
      `out.default.${ZONE}. 30 IN CNAME out.example.`,
      'out.example. 60 IN A 192.0.2.7',
    ]);
  });

  it('says whose address a reverse name is, and why that of a pod has no name', async () => {
    const of = async (text: string) => {
      const name = `${text.split('.').reverse().join('.')}.in-addr.arpa`;
      const explained = await explain(name, 'PTR');
      return [...texts(explained, 'name'), ...texts(explained, 'absent')][0];
    };
    expect(await of('10.96.0.7')).toBe(
      'It is the reverse name of 10.96.0.7, an address of the service default/web.',
    );
    expect(await of('10.1.0.1')).toBe(
      'It is the reverse name of 10.1.0.1, an endpoint of the headless service shop/db.',
    );
    expect(await of('10.1.0.2')).toMatch(/which is no address of a service/);
  });

  it('is on the port of metrics, too, and for this machine alone', async () => {
    const response = await fetch(`http://127.0.0.1:${metricsPort}/explain?name=web`);
    expect(response.status).toBe(200);
    const status = await new Promise((resolve, reject) => {
      const headers = { host: 'rebound.example' };
      const asked = request({ port: metricsPort, path: '/explain?name=web', headers }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      asked.on('error', reject).end();
    });
    expect(status).toBe(404);
    expect((await kubedns.get('/explain'))[0]).toBe(400);
  });

  it('explains from memory while the API server does not answer', async () => {
    await api.close();
    const explained = await explain(`web.default.${ZONE}`);
    expect(texts(explained, 'api')[0]).toMatch(/^The API server could not be asked: .*memory\.$/);
    expect(texts(explained, 'service')).toEqual([
      'The service default/web has the cluster address 10.96.0.7. It has 0 ready endpoints in 1 slice. Its port is http (TCP 80).',
    ]);
    expect(explained.verdict.answers).toEqual([`web.default.${ZONE}. 30 IN A 10.96.0.7`]);
  });
});
