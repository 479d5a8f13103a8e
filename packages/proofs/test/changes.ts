import type { ApiServer, KubeObject } from '@kube-dns/apiserver';
import type { ExchangeOptions, Question } from '@kube-dns/testkit';
import { alias, namespace, service, slice, withPort } from '../src/fixtures/change-objects.js';

const ZONE = 'svc.cluster.local';

/** How a name is asked for; its addresses over UDP unless given. */
export type Asked = Omit<Question, 'name'> & Pick<ExchangeOptions, 'isOverTcp'>;

/** A change of objects, and an answer before and after it; each row goes on with what is there after those before it. */
export interface Change {
  /** Continues "is there when". */
  readonly what: string;
  readonly name: string;
  readonly asked?: Asked;
  /** What is put there first. */
  readonly from?: readonly KubeObject[];
  readonly before: string;
  readonly to?: readonly KubeObject[];
  readonly remove?: Parameters<ApiServer['delete']>;
  readonly after: string;
}

/** What the first row begins with. */
export const FIRST_OBJECTS: readonly KubeObject[] = [
  namespace('shop'),
  service('web', '10.96.1.1'),
  service('db', 'None'),
  slice('db', ['10.1.0.1']),
];

/** Every kind of change that changes an answer. */
export const CHANGES: readonly Change[] = [
  {
    what: 'a service is created',
    name: `new.shop.${ZONE}`,
    before: 'NXDOMAIN',
    to: [service('new', '10.96.1.2')],
    after: 'NOERROR 10.96.1.2',
  },
  {
    what: 'an address changes, for a name in mixed case',
    name: `WeB.Shop.${ZONE}`,
    before: 'NOERROR 10.96.1.1',
    to: [service('web', '10.96.1.9')],
    after: 'NOERROR 10.96.1.9',
  },
  {
    what: 'an address changes, for clients over TCP',
    name: `tcp.shop.${ZONE}`,
    asked: { isOverTcp: true },
    from: [service('tcp', '10.96.2.1')],
    before: 'NOERROR 10.96.2.1',
    to: [service('tcp', '10.96.2.2')],
    after: 'NOERROR 10.96.2.2',
  },
  {
    what: 'an address changes, for clients that want signatures',
    name: `signed.shop.${ZONE}`,
    asked: { ednsBytes: 1_232, isDnssecOk: true },
    from: [service('signed', '10.96.2.3')],
    before: 'NOERROR 10.96.2.3',
    to: [service('signed', '10.96.2.4')],
    after: 'NOERROR 10.96.2.4',
  },
  {
    what: 'a service loses one of its families',
    name: `both.shop.${ZONE}`,
    asked: { type: 'AAAA' },
    from: [service('both', ['10.96.2.5', 'fd00::5'])],
    before: 'NOERROR fd00::5',
    to: [service('both', '10.96.2.5')],
    after: 'NOERROR',
  },
  {
    what: 'the port of a service gets another name',
    name: `_http._tcp.port.shop.${ZONE}`,
    asked: { type: 'SRV' },
    from: [service('port', '10.96.2.6')],
    before: `NOERROR 80 port.shop.${ZONE}`,
    to: [withPort(service('port', '10.96.2.6'), 'admin')],
    after: 'NXDOMAIN',
  },
  {
    what: 'the port of a service gets this name',
    name: `_admin._tcp.named.shop.${ZONE}`,
    asked: { type: 'SRV' },
    from: [service('named', '10.96.2.7')],
    before: 'NXDOMAIN',
    to: [withPort(service('named', '10.96.2.7'), 'admin')],
    after: `NOERROR 81 named.shop.${ZONE}`,
  },
  {
    what: 'an address is of another service, for its reverse name',
    name: '8.2.96.10.in-addr.arpa',
    asked: { type: 'PTR' },
    from: [service('old', '10.96.2.8')],
    before: `NOERROR old.shop.${ZONE}`,
    to: [service('old', '10.96.2.9'), service('other', '10.96.2.8')],
    after: `NOERROR other.shop.${ZONE}`,
  },
  {
    what: 'an address of IPv6 is of another service, for its reverse name',
    name: `6.${'0.'.repeat(29)}d.f.ip6.arpa`,
    asked: { type: 'PTR' },
    from: [service('old6', 'fd00::6')],
    before: `NOERROR old6.shop.${ZONE}`,
    to: [service('old6', 'fd00::7'), service('new6', 'fd00::6')],
    after: `NOERROR new6.shop.${ZONE}`,
  },
  {
    what: 'an endpoint is added',
    name: `db.shop.${ZONE}`,
    before: 'NOERROR 10.1.0.1',
    to: [slice('db', ['10.1.0.1', '10.1.0.2'])],
    after: 'NOERROR 10.1.0.1 10.1.0.2',
  },
  {
    what: 'an endpoint is not ready any more',
    name: `db.shop.${ZONE}`,
    before: 'NOERROR 10.1.0.1 10.1.0.2',
    to: [slice('db', ['10.1.0.1', '!10.1.0.2'])],
    after: 'NOERROR 10.1.0.1',
  },
  {
    what: 'the endpoints go',
    name: `_http._tcp.db.shop.${ZONE}`,
    before: 'NOERROR',
    to: [slice('db', [])],
    after: 'NXDOMAIN',
  },
  {
    what: 'an endpoint gets another hostname',
    name: `a.host.shop.${ZONE}`,
    from: [service('host', 'None'), slice('host', ['a=10.1.0.3'], 2)],
    before: 'NOERROR 10.1.0.3',
    to: [slice('host', ['b=10.1.0.3'], 2)],
    after: 'NXDOMAIN',
  },
  {
    what: 'a slice is of another service, for the reverse name of its endpoint',
    name: '4.0.1.10.in-addr.arpa',
    asked: { type: 'PTR' },
    from: [service('blue', 'None'), service('green', 'None'), slice('blue', ['a=10.1.0.4'], 3)],
    before: `NOERROR a.blue.shop.${ZONE}`,
    to: [slice('green', ['a=10.1.0.4'], 3)],
    after: `NOERROR a.green.shop.${ZONE}`,
  },
  {
    what: 'a slice becomes that of a service, for the reverse name of its endpoint',
    name: '5.0.1.10.in-addr.arpa',
    asked: { type: 'PTR' },
    from: [
      service('one', 'None'),
      slice('one', ['a=10.1.0.5'], 4),
      slice('two', ['a=10.1.0.5'], 5),
    ],
    before: `NOERROR a.one.shop.${ZONE}`,
    to: [service('two', 'None')],
    after: `NOERROR a.one.shop.${ZONE} a.two.shop.${ZONE}`,
  },
  {
    what: 'a service becomes headless',
    name: `turn.shop.${ZONE}`,
    from: [service('turn', '10.96.2.10'), slice('turn', ['10.1.0.6'], 6)],
    before: 'NOERROR 10.96.2.10',
    to: [service('turn', 'None')],
    after: 'NOERROR 10.1.0.6',
  },
  {
    what: 'a headless service becomes an ExternalName',
    name: `turn.shop.${ZONE}`,
    before: 'NOERROR 10.1.0.6',
    to: [service('end', '10.96.2.11'), alias('turn', `end.shop.${ZONE}`)],
    after: `NOERROR 10.96.2.11 end.shop.${ZONE}`,
  },
  {
    what: 'the end of a chain of CNAMEs changes its address',
    name: `start.shop.${ZONE}`,
    from: [alias('start', `turn.shop.${ZONE}`)],
    before: `NOERROR 10.96.2.11 end.shop.${ZONE} turn.shop.${ZONE}`,
    to: [service('end', '10.96.2.12')],
    after: `NOERROR 10.96.2.12 end.shop.${ZONE} turn.shop.${ZONE}`,
  },
  {
    what: 'a link in the middle of a chain of CNAMEs changes',
    name: `start.shop.${ZONE}`,
    before: `NOERROR 10.96.2.12 end.shop.${ZONE} turn.shop.${ZONE}`,
    to: [service('last', '10.96.2.13'), alias('turn', `last.shop.${ZONE}`)],
    after: `NOERROR 10.96.2.13 last.shop.${ZONE} turn.shop.${ZONE}`,
  },
  {
    what: 'the end of a chain of CNAMEs comes into being',
    name: `early.shop.${ZONE}`,
    from: [alias('early', `late.shop.${ZONE}`)],
    before: `NXDOMAIN late.shop.${ZONE}`,
    to: [service('late', '10.96.2.14')],
    after: `NOERROR 10.96.2.14 late.shop.${ZONE}`,
  },
  {
    what: 'a service is created, for a wildcard',
    name: `both.*.${ZONE}`,
    from: [service('both', '10.96.2.15', 'wild')],
    before: 'NOERROR 10.96.2.15 10.96.2.5',
    to: [service('both', '10.96.2.16', 'tame')],
    after: 'NOERROR 10.96.2.15 10.96.2.16 10.96.2.5',
  },
  {
    what: 'the service of the name server is created',
    name: 'ns.dns.cluster.local',
    before: 'NOERROR 127.0.0.1',
    to: [service('kube-dns', '10.96.0.10', 'kube-system')],
    after: 'NOERROR 10.96.0.10',
  },
  {
    what: 'a service is deleted',
    name: `new.shop.${ZONE}`,
    before: 'NOERROR 10.96.1.2',
    remove: ['Service', 'shop', 'new'],
    after: 'NXDOMAIN',
  },
  {
    what: 'a namespace is created',
    name: `other.${ZONE}`,
    before: 'NXDOMAIN',
    to: [namespace('other')],
    after: 'NOERROR',
  },
  {
    what: 'a namespace goes, for the name of a pod',
    name: `10-1-0-1.other.pod.cluster.local`,
    before: 'NOERROR 10.1.0.1',
    remove: ['Namespace', undefined, 'other'],
    after: 'NXDOMAIN',
  },
  {
    what: 'the last service of a namespace that is not listed goes',
    name: `lone.${ZONE}`,
    from: [service('only', '10.96.2.17', 'lone')],
    before: 'NOERROR',
    remove: ['Service', 'lone', 'only'],
    after: 'NXDOMAIN',
  },
];
