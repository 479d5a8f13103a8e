import type { ApiServer, KubeObject } from '@kube-dns/apiserver';
import { alias, namespace, service, slice, withPort } from '../fixtures/change-objects.js';

const ZONE = 'svc.cluster.local';
/** The domain of ExternalNames' targets: a name server outside of the cluster answers for it. */
export const OUTSIDE = 'outside.example';
/** Where the slots of all kinds are, and where a wildcard finds the others of its name. */
const SPACES = ['shop', 'wild'] as const;

type Objects = Pick<ApiServer, 'delete'> & { readonly objects: ApiServer['objects'] };

/** What a name is answered with, as `answerText` writes it, once the change is made. */
interface SlotState {
  readonly text: string;
  /** Writes it into the API server, as one event. */
  readonly write: (api: Objects) => void;
}

/** A name that has two answers in turn. */
export interface Slot {
  readonly kind: string;
  readonly name: string;
  readonly type: string;
  readonly states: readonly [SlotState, SlotState];
  /** What must be there before. */
  readonly first: readonly KubeObject[];
}

const REPLICAS = 'kube-dns-replicas';

type SlotOf = (i: number) => Omit<Slot, 'kind' | 'type' | 'first'> & Partial<Slot>;

const octets = (i: number) => `${i >> 8}.${i & 0xff}`;
const found = (...texts: readonly string[]) => ['NOERROR', ...[...texts].sort()].join(' ');

function loads(text: string, ...objects: readonly KubeObject[]): SlotState {
  return { text, write: (api) => api.objects.load(objects.map((each) => structuredClone(each))) };
}

function deletes(
  kind: 'Service' | 'Namespace',
  space: string | undefined,
  name: string,
): SlotState {
  return { text: 'NXDOMAIN', write: (api) => void api.delete(kind, space, name) };
}

/** The kinds of changes; each slot of a kind has names and addresses of its own. */
const KINDS: Readonly<Record<string, SlotOf>> = {
  'a service is created or deleted': (i) => ({
    name: `c${i}.shop.${ZONE}`,
    states: [
      loads(found(`10.101.${octets(i)}`), service(`c${i}`, `10.101.${octets(i)}`)),
      deletes('Service', 'shop', `c${i}`),
    ],
  }),
  'a service gets another address': (i) => ({
    name: `a${i}.shop.${ZONE}`,
    states: [
      loads(found(`10.102.${octets(i)}`), service(`a${i}`, `10.102.${octets(i)}`)),
      loads(found(`10.103.${octets(i)}`), service(`a${i}`, `10.103.${octets(i)}`)),
    ],
  }),
  'a service gets or loses a family': (i) => ({
    name: `f${i}.shop.${ZONE}`,
    type: 'AAAA',
    states: [
      loads('NOERROR', service(`f${i}`, `10.104.${octets(i)}`)),
      loads(found(`fd00::${i + 1}`), service(`f${i}`, [`10.104.${octets(i)}`, `fd00::${i + 1}`])),
    ],
  }),
  'a port gets another name': (i) => ({
    name: `_http._tcp.p${i}.shop.${ZONE}`,
    type: 'SRV',
    states: [
      loads(found(`80 p${i}.shop.${ZONE}`), service(`p${i}`, `10.105.${octets(i)}`)),
      loads('NXDOMAIN', withPort(service(`p${i}`, `10.105.${octets(i)}`), 'admin')),
    ],
  }),
  'an endpoint comes or goes': (i) => ({
    name: `h${i}.shop.${ZONE}`,
    first: [service(`h${i}`, 'None')],
    states: [
      loads(found(`10.106.${octets(i)}`), slice(`h${i}`, [`10.106.${octets(i)}`], 10_000 + i)),
      loads(
        found(`10.106.${octets(i)}`, `10.107.${octets(i)}`),
        slice(`h${i}`, [`10.106.${octets(i)}`, `10.107.${octets(i)}`], 10_000 + i),
      ),
    ],
  }),
  'a host gets or loses its name': (i) => ({
    name: `a.n${i}.shop.${ZONE}`,
    first: [service(`n${i}`, 'None')],
    states: [
      loads(found(`10.108.${octets(i)}`), slice(`n${i}`, [`a=10.108.${octets(i)}`], 20_000 + i)),
      loads('NXDOMAIN', slice(`n${i}`, [`b=10.108.${octets(i)}`], 20_000 + i)),
    ],
  }),
  'an address is of another service (PTR)': (i) => ({
    name: `${i & 0xff}.${i >> 8}.109.10.in-addr.arpa`,
    type: 'PTR',
    first: [service(`r${i}`, 'None'), service(`q${i}`, 'None')],
    states: [
      loads(found(`a.r${i}.shop.${ZONE}`), slice(`r${i}`, [`a=10.109.${octets(i)}`], 30_000 + i)),
      loads(found(`a.q${i}.shop.${ZONE}`), slice(`q${i}`, [`a=10.109.${octets(i)}`], 30_000 + i)),
    ],
  }),
  'an ExternalName leads to another name outside': (i) => ({
    name: `x${i}.shop.${ZONE}`,
    states: [outside(i, 0), outside(i, 1)],
  }),
  'the target of an ExternalName gets another address': (i) => ({
    name: `l${i}.shop.${ZONE}`,
    first: [alias(`l${i}`, `t${i}.shop.${ZONE}`)],
    states: [
      loads(
        found(`10.110.${octets(i)}`, `t${i}.shop.${ZONE}`),
        service(`t${i}`, `10.110.${octets(i)}`),
      ),
      loads(
        found(`10.111.${octets(i)}`, `t${i}.shop.${ZONE}`),
        service(`t${i}`, `10.111.${octets(i)}`),
      ),
    ],
  }),
  'a service of a wildcard gets another address': (i) => ({
    name: `w${i}.*.${ZONE}`,
    first: [service(`w${i}`, `10.112.${octets(i)}`, SPACES[0])],
    states: [
      loads(
        found(`10.112.${octets(i)}`, `10.113.${octets(i)}`),
        service(`w${i}`, `10.113.${octets(i)}`, SPACES[1]),
      ),
      loads(
        found(`10.112.${octets(i)}`, `10.114.${octets(i)}`),
        service(`w${i}`, `10.114.${octets(i)}`, SPACES[1]),
      ),
    ],
  }),
  'a namespace is created or deleted': (i) => ({
    name: `10-1-0-1.s${i}.pod.cluster.local`,
    states: [
      loads(found('10.1.0.1'), namespace(`s${i}`)),
      deletes('Namespace', undefined, `s${i}`),
    ],
  }),
};

/** The kinds whose answers depend on more than the names below them: any change drops them from a cache. */
const WIDE_KINDS = [
  'an ExternalName leads to another name outside',
  'the target of an ExternalName gets another address',
  'a service of a wildcard gets another address',
];

function outside(i: number, target: number): SlotState {
  const name = `x${i}-${target}.${OUTSIDE}`;
  return loads(found(outsideAddress(name), name), alias(`x${i}`, name));
}

/** The address of a name outside, `x<i>-<target>.outside.example`, for ever. */
export function outsideAddress(name: string): string {
  const [, i = '0', target = '0'] = /^x(\d+)-(\d)\./.exec(name) ?? [];
  return `198.18.${Number(target)}.${Number(i) & 0xff}`;
}

/** The objects that are there at the start: every slot has its first state, and the DNS pods have their services. */
export function firstObjects(
  slots: readonly Slot[],
  pods: readonly string[],
): readonly KubeObject[] {
  const spaces = ['default', 'kube-system', ...SPACES].map(namespace);
  const dns = [
    service('kube-dns', '10.96.0.10', 'kube-system'),
    service(REPLICAS, 'None', 'kube-system'),
    slice(REPLICAS, pods, 1, 'kube-system'),
  ];
  return [...spaces, ...dns, ...slots.flatMap(({ first }) => first)];
}

/** So many slots of each kind. */
export function createSlots(perKind: number): readonly Slot[] {
  return Object.entries(KINDS).flatMap(([kind, slotOf]) =>
    Array.from({ length: perKind }, (_, i) => {
      const made = slotOf(i);
      return Object.assign({ kind, type: 'A', first: [] }, made);
    }),
  );
}

/** Whether any change of the zone drops the answer of a slot from a cache. */
export function isWide({ kind }: Slot): boolean {
  return WIDE_KINDS.includes(kind);
}
