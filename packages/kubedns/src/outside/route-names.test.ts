import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { decodeName, encodeKey, EXTENDED_ERROR } from '@kube-dns/wire';
import { Answers } from '../../test/support/answers.js';
import { askLocal } from '../../test/support/local-answers.js';
import { serviceObject } from '../../test/support/objects.js';
import { type ApiObject, keyOf, ObjectStore, type Projection } from '../watch/store.js';
import { allStores, ClusterState } from '../watch/projections.js';
import { ClusterZone } from '../zone/cluster-zone.js';
import { RouteNames } from './route-names.js';

const HOST = 'app.example.com';

interface Fields {
  readonly name?: string;
  readonly namespace?: string;
  readonly created?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

function metadata({
  name = 'web',
  namespace = 'shop',
  created = '2026-01-01T00:00:00Z',
  annotations,
}: Fields) {
  return { name, namespace, creationTimestamp: created, annotations };
}

function ingress(
  host: string,
  ip: string | undefined,
  fields: Fields = {},
  service = 'web',
): ApiObject {
  return {
    metadata: metadata(fields),
    spec: { rules: [{ host, http: { paths: [{ backend: { service: { name: service } } }] } }] },
    status: { loadBalancer: { ingress: ip === undefined ? [] : [{ ip }] } },
  } as ApiObject;
}

function route(
  hostnames: string[],
  parents: object[],
  fields: Fields = {},
  status = {},
): ApiObject {
  const spec = { hostnames, parentRefs: parents, rules: [{ backendRefs: [{ name: 'web' }] }] };
  return { metadata: metadata(fields), spec, status } as ApiObject;
}

/** A Service with an address inside and one outside of the cluster. */
function annotatedService(annotations: Readonly<Record<string, string>>): ApiObject {
  const object = {
    metadata: metadata({ annotations }),
    spec: { clusterIP: '10.0.0.7', clusterIPs: ['10.0.0.7'], ports: [] },
    status: { loadBalancer: { ingress: [{ ip: '192.0.2.9' }] } },
  };
  return object as ApiObject;
}

function gateway(address: object | undefined, fields: Fields = {}): ApiObject {
  const addresses = address === undefined ? [] : [address];
  return { metadata: metadata({ name: 'gate', ...fields }), status: { addresses } } as ApiObject;
}

/** Objects of all resources, as a watch puts them. */
class Objects {
  readonly zone = new ClusterZone({ domain: 'cluster.local.', negativeTtlSeconds: 5 });
  readonly announced: string[] = [];
  readonly rejected: string[] = [];
  readonly names: RouteNames;
  readonly #stores = new Map<string, ObjectStore<ApiObject, Projection>>();
  settled: ReadonlySet<string> | undefined;
  nowMs = 0;

  constructor() {
    this.names = new RouteNames({
      zone: this.zone,
      ttlSeconds: 30,
      negativeTtlSeconds: 5,
      changes: {
        isObserved: true,
        takesNames: true,
        add: (name) => void this.announced.push(decodeName(name)),
      },
      isSynced: () => true,
      isSettled: (name) => this.settled?.has(name) ?? true,
      now: () => this.nowMs,
    });
    const records = allStores(this.zone, [
      {
        putService: (key, service) => this.names.putService(key, service),
        putNamespace: (...namespace) => this.names.putNamespace(...namespace),
      },
    ]);
    const state = new ClusterState({ records, keeps: { outside: true, hostNames: true } });
    for (const [resource, sink] of [
      ...this.names.resources.map((each) => [each.resource, each.sink] as const),
      ['services', state.services],
      ['namespaces', state.namespaces],
    ] as const) {
      const store = new ObjectStore(sink, (_what, reason) => void this.rejected.push(reason));
      this.#stores.set(resource, store);
    }
    this.put('namespaces', namespace('shop', true));
  }

  put(resource: string, object: ApiObject): void {
    this.#stores.get(resource)!.put(object);
  }

  delete(resource: string, object: ApiObject): void {
    this.#stores.get(resource)!.delete(object);
  }

  objects(resource: string): ApiObject[] {
    return [...this.#stores.get(resource)!.objects()];
  }

  /** The addresses of a name, or its CNAME; undefined where another server is asked. */
  addresses(name: string): string[] | undefined {
    const answer = askLocal(this.names, name, 'ANY');
    return answer?.answers.map((text) => text.split(' ').slice(2).join(' '));
  }
}

function namespace(name: string, isAllowed: boolean): ApiObject {
  const labels = isAllowed ? { 'kube-dns/host-names': 'true' } : {};
  return { metadata: { name, labels } } as ApiObject;
}

let objects: Objects;
beforeEach(() => {
  objects = new Objects();
});

describe('the hosts of --route-names', () => {
  it('are those of an Ingress whose load balancer has an address', () => {
    objects.put('ingresses', ingress(HOST, undefined));
    expect(objects.addresses(HOST)).toBeUndefined();
    objects.put('ingresses', ingress(HOST, '192.0.2.1'));
    expect(objects.addresses(HOST)).toEqual(['192.0.2.1']);
    expect(askLocal(objects.names, HOST, 'AAAA')).toMatchObject({ rcode: 'NOERROR', answers: [] });
    expect(askLocal(objects.names, HOST, 'MX')!.authorities).toHaveLength(1);
    objects.delete('ingresses', ingress(HOST, '192.0.2.1'));
    expect(objects.addresses(HOST)).toBeUndefined();
    expect(objects.announced).toEqual([HOST, HOST]);
  });

  it('are none of a namespace without the label', () => {
    const fields = { namespace: 'other' };
    objects.put('namespaces', namespace('other', false));
    objects.put('ingresses', ingress('yahoo.com', '192.0.2.1', fields));
    expect(objects.addresses('yahoo.com')).toBeUndefined();
    objects.put('namespaces', namespace('other', true));
    expect(objects.addresses('yahoo.com')).toEqual(['192.0.2.1']);
    objects.put('namespaces', namespace('other', false));
    expect(objects.addresses('yahoo.com')).toBeUndefined();
  });

  it.each(['httproutes', 'grpcroutes', 'tlsroutes'])(
    'are those of %s with a gateway',
    (resource) => {
      const parents = [{ name: 'gate', namespace: 'infra' }];
      objects.put(resource, route([HOST, '*.shop.example.com'], parents));
      expect(objects.addresses(HOST)).toBeUndefined();
      const fields = { namespace: 'infra' };
      objects.put('gateways', gateway({ type: 'IPAddress', value: '192.0.2.7' }, fields));
      expect(objects.addresses(HOST)).toEqual(['192.0.2.7']);
      expect(objects.addresses('a.shop.example.com')).toEqual(['192.0.2.7']);
      objects.put('gateways', gateway({ type: 'Hostname', value: 'lb.example.net' }, fields));
      expect(objects.addresses(HOST)).toEqual(['lb.example.net']);
      objects.put('gateways', gateway(undefined, fields));
      expect(objects.addresses(HOST)).toBeUndefined();
    },
  );

  it('are none of a gateway that has refused the route', () => {
    const parents = [{ name: 'gate' }];
    const conditions = [{ type: 'Accepted', status: 'False' }];
    objects.put('gateways', gateway({ value: '192.0.2.7' }));
    const status = { parents: [{ parentRef: { name: 'gate' }, conditions }] };
    objects.put('httproutes', route([HOST], parents, {}, status));
    expect(objects.addresses(HOST)).toBeUndefined();
    objects.put('httproutes', route([HOST], parents));
    expect(objects.addresses(HOST)).toEqual(['192.0.2.7']);
  });

  it('lead to the backend where the annotation says so', () => {
    const annotations = { 'kube-dns/target': 'backend' };
    objects.put('ingresses', ingress(HOST, '192.0.2.1', { annotations }));
    expect(objects.addresses(HOST)).toBeUndefined();
    objects.put('services', serviceObject({ namespace: 'shop', clusterIPs: ['10.0.0.7'] }));
    expect(objects.addresses(HOST)).toEqual(['10.0.0.7']);
    objects.put('services', serviceObject({ namespace: 'shop', clusterIPs: ['None'] }));
    expect(objects.addresses(HOST)).toBeUndefined();
  });

  it('are those of annotations of a Service', () => {
    objects.put(
      'services',
      annotatedService({
        'external-dns.alpha.kubernetes.io/hostname': 'out.example.com, *.out.example.com',
        'kube-dns/hosts': 'in.example.com',
      }),
    );
    expect(objects.addresses('out.example.com')).toEqual(['192.0.2.9']);
    expect(objects.addresses('a.out.example.com')).toEqual(['192.0.2.9']);
    expect(objects.addresses('in.example.com')).toEqual(['10.0.0.7']);
    objects.put('services', annotatedService({}));
    expect(objects.addresses('out.example.com')).toBeUndefined();
  });

  it('are the oldest object’s, and the others are named', () => {
    objects.put(
      'ingresses',
      ingress(HOST, '192.0.2.2', { name: 'young', created: '2026-02-01T00:00:00Z' }),
    );
    objects.put('ingresses', ingress(HOST, '192.0.2.1', { name: 'old' }));
    expect(objects.addresses(HOST)).toEqual(['192.0.2.1']);
    expect([...objects.names.conflicts()]).toEqual([
      { host: HOST, owner: 'Ingress shop/old', others: ['Ingress shop/young'] },
    ]);
  });

  it.each([
    'com',
    '*.com',
    'localhost',
    '10.0.0.1',
    '1.0.0.10.in-addr.arpa',
    'a*.example.com',
    '*',
  ])('are not %s', (host) => {
    objects.put('ingresses', ingress(host, '192.0.2.1'));
    expect(objects.names.index.size).toBe(0);
    expect(objects.rejected).toEqual([`"${host}" is not a host name that can be answered`]);
  });

  it('are not answered before all resources are known, or denied', () => {
    objects.settled = new Set(['ingresses', 'httproutes', 'grpcroutes', 'tlsroutes']);
    expect(objects.names.isSynced).toBe(false);
    objects.settled = undefined;
    expect(objects.names.isSynced).toBe(true);
    objects.settled = new Set();
    expect(objects.names.isSynced).toBe(true);
  });

  it('of a namespace come in turns of the event loop where there are thousands', async () => {
    const host = (n: number) => `h${n}.example.com`;
    for (let n = 0; n < 5_000; n++) {
      objects.put('ingresses', ingress(host(n), '192.0.2.1', { name: `i${n}`, namespace: 'many' }));
    }
    objects.names.putNamespace('many', true, true);
    const isThere = (n: number) => askLocal(objects.names, host(n), 'A') !== undefined;
    expect([isThere(0), isThere(4_999)]).toEqual([true, false]);
    while (!isThere(4_999)) await setImmediate();
    objects.names.putNamespace('many', true, false);
    while (isThere(4_999)) await setImmediate();
    expect(isThere(2_500)).toBe(false);
  });

  it.each([
    ['the host itself', [[HOST, HOST]], HOST],
    [
      'another host and back',
      [
        [HOST, 'b.example.com'],
        ['b.example.com', HOST],
      ],
      HOST,
    ],
    ['a name of its own wildcard', [['*.example.com', 'lb.example.com']], 'x.example.com'],
  ])(
    'are SERVFAIL with the reason where their load balancer is %s',
    async (_what, links, asked) => {
      for (const [host, hostname] of links) {
        const object = ingress(host!, undefined, { name: host!.replace('*', 'any') });
        Object.assign(object, { status: { loadBalancer: { ingress: [{ hostname }] } } });
        objects.put('ingresses', object);
      }
      const answers = new Answers({ others: objects.names });
      const answer = await answers.ask(asked, 'A', { hasEdns: true });
      answers.close();
      expect(answer).toMatchObject({
        rcode: 'SERVFAIL',
        extendedError: EXTENDED_ERROR.OTHER,
        reason: 'CNAME loop',
      });
      // Each CNAME once.
      expect(new Set(answer.answers).size).toBe(answer.answers.length);
    },
  );

  it('may be any name until all is listed, for 10 s after the start: none is forwarded', () => {
    const find = () => {
      const name = encodeKey('not-listed.example.com');
      return objects.names.find(name, name.length);
    };
    objects.settled = new Set(['ingresses']);
    expect([find(), objects.names.isSynced]).toEqual([true, false]);
    objects.nowMs = 9_999;
    expect(find()).toBe(true);
    objects.nowMs = 10_000;
    expect(find()).toBe(false);

    objects = new Objects();
    objects.settled = new Set();
    expect(find()).toBe(true);
    objects.settled = undefined;
    expect(find()).toBe(false);
  });

  it('are the same from the objects of a snapshot', () => {
    objects.put('gateways', gateway({ type: 'Hostname', value: 'lb.example.net' }));
    objects.put('httproutes', route(['b.example.com'], [{ name: 'gate' }]));
    objects.put('ingresses', ingress(HOST, '192.0.2.1'));
    const annotations = { 'kube-dns/target': 'backend' };
    objects.put('ingresses', ingress('c.example.com', undefined, { name: 'c', annotations }));
    objects.put('services', annotatedService({ 'kube-dns/hosts': 'in.example.com' }));
    const restored = new Objects();
    for (const resource of ['namespaces', 'services', 'ingresses', 'httproutes', 'gateways']) {
      for (const object of objects.objects(resource)) {
        restored.put(resource, JSON.parse(JSON.stringify(object)) as ApiObject);
      }
    }
    for (const host of [HOST, 'b.example.com', 'c.example.com', 'in.example.com']) {
      expect(objects.addresses(host)).toHaveLength(1);
      expect(restored.addresses(host)).toEqual(objects.addresses(host));
    }
    expect(keyOf(objects.objects('gateways')[0])).toBe('shop/gate');
  });
});
