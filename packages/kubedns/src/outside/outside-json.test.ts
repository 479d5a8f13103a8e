import { expect, it } from '@jest/globals';
import type { V1Service } from '@kubernetes/client-node';
import { encodeKey, ROOT_NAME } from '@kube-dns/wire';
import { Cluster } from '../../test/support/cluster.js';
import { serviceObject } from '../../test/support/objects.js';
import { hostRecords, NO_IPV4, NO_IPV6, projectService } from '../watch/projections.js';
import { cacheJson } from '../zone/cache-json.js';
import { ExternalZone } from './external-zone.js';
import { externalNode, hostsNode } from './outside-json.js';

interface Shown {
  readonly ChildNodes: Readonly<Record<string, Shown>>;
  readonly Entries: Readonly<Record<string, { host: string; port?: number }>>;
}

const fail = (reason: string) => {
  throw new Error(reason);
};

function recordsOf(...addresses: string[]) {
  return hostRecords(
    addresses.map((ip) => ({ ip })),
    fail,
  )!;
}

function outsideService(ingress: readonly object[]) {
  const object = {
    metadata: { namespace: 'shop', name: 'web' },
    spec: { clusterIP: '10.0.0.1', ports: [{ name: 'http', port: 80, protocol: 'TCP' }] },
    status: { loadBalancer: { ingress } },
  };
  const keeps = { outside: true, hostNames: false };
  return projectService(object as unknown as V1Service, {
    names: 'hash',
    onRejected: fail,
    keeps,
  });
}

/** The paths of all entries, as `/cache` shows them. */
function entriesOf({ ChildNodes, Entries }: Shown, path = ''): string[] {
  const own = Object.values(Entries).map(
    ({ host, port }) => `${path} ${host}${port === undefined ? '' : ` ${port}`}`,
  );
  return [
    ...own,
    ...Object.entries(ChildNodes).flatMap(([label, node]) => entriesOf(node, `${path}/${label}`)),
  ];
}

it('/cache shows names from outside beside the zone of the cluster, of one domain together', () => {
  const cluster = new Cluster();
  cluster.services.put(serviceObject({ externalName: 'db.example.com' }));
  const zone = new ExternalZone({
    domain: 'example.com.',
    ttlSeconds: 30,
    negativeTtlSeconds: 5,
    changes: { isObserved: false, takesNames: false, add: () => undefined },
    isSynced: () => true,
    ownRecords: () => ({ ipv4: NO_IPV4, ipv6: NO_IPV6, target: undefined }),
  });
  zone.putService('shop/web', outsideService([{ ip: '192.0.2.1' }, { ip: '2001:db8::1' }]));
  zone.putService('shop/alias', outsideService([{ hostname: 'lb.example.net' }]));
  const routes = [
    { host: '*.shop.example.com', records: recordsOf('192.0.2.2') },
    { host: 'example.org', records: recordsOf('192.0.2.3') },
  ];
  const others = [
    { host: 'example.org', records: recordsOf('192.0.2.3', '192.0.2.4') },
    { host: 'db', records: recordsOf('192.0.2.5') },
  ];
  const texts = cacheJson(cluster.zone, [
    { apex: encodeKey('example.com'), node: () => externalNode(zone) },
    { apex: ROOT_NAME, node: () => hostsNode(routes) },
    { apex: ROOT_NAME, node: () => hostsNode(others) },
  ]);
  expect(entriesOf(JSON.parse([...texts].join('')) as Shown)).toEqual([
    '/com/example/shop/* 192.0.2.2',
    '/com/example/shop/alias lb.example.net.',
    '/com/example/shop/alias/_tcp/_http lb.example.net. 80',
    '/com/example/shop/web 192.0.2.1',
    '/com/example/shop/web 2001:db8::1',
    '/com/example/shop/web/_tcp/_http web.shop.example.com. 80',
    '/db 192.0.2.5',
    '/local/cluster/svc/default db.example.com.',
    '/org/example 192.0.2.3',
    '/org/example 192.0.2.4',
  ]);
});
