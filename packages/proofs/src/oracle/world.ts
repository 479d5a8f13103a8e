import type { ObjectAccess } from '@kube-dns/apiserver';
import { addressBytes, reverseName } from '@kube-dns/wire';
import {
  type EndpointState,
  namespaceObject,
  serviceObject,
  type ServiceState,
  sliceObject,
} from '../soak/cluster-state.js';
import { answerText, dnsName, recordText } from '../soak/questions.js';

/**
 * How a service changes. One kind changes one object, because watches of several resources have no order among them:
 * its address, port or existence; the slice of a headless one that stays; the Service over a slice that stays; or the
 * target of an ExternalName.
 */
const KINDS = ['address', 'endpoints', 'turning', 'alias'] as const;
type SlotKind = (typeof KINDS)[number];

/** A service that the cluster has, or may have. */
interface Slot extends ServiceState {
  readonly slot: SlotKind;
}

/** All that answers depend on, at one moment. */
export interface World {
  readonly slots: readonly Slot[];
  /** Whether each of the namespaces without services exists. */
  readonly bare: readonly boolean[];
}

/** A world and what makes it of the one before. */
interface Change {
  readonly world: World;
  readonly apply: (objects: ObjectAccess) => void;
}

const COUNTS: Readonly<Record<SlotKind, number>> = {
  address: 40,
  endpoints: 24,
  turning: 16,
  alias: 12,
};
const NAMESPACES = ['shop', 'team-a', 'team-b'];
const BARE = 6;
const BARE_PART = 0.05;
const MAX_ENDPOINTS = 3;
/** Addresses of a kind; several services may have the same, so that reverse names have several. */
const POOL = 60;

/** The name of the i-th namespace without services. */
function bareNamespace(i: number): string {
  return `bare-${i}`;
}

/** An address that services of a kind may have, or their endpoints. */
function poolAddress(kind: SlotKind, number: number): string {
  return `10.${64 + KINDS.indexOf(kind)}.0.${1 + number}`;
}

function poolIpv6(number: number): string {
  return `fd00::${(16 + number).toString(16)}`;
}

/** A cluster that changes at random, one object at a time. */
export class WorldMaker {
  readonly #below: (limit: number) => number;

  /** `below`: a random whole number below a limit. */
  constructor(below: (limit: number) => number) {
    this.#below = below;
  }

  first(): Change {
    const slots = KINDS.flatMap((slot) =>
      Array.from({ length: COUNTS[slot] }, (_, i) => this.#fill(slot, i)),
    );
    const bare = Array.from({ length: BARE }, (_, i) => i % 2 === 0);
    const apply = (objects: ObjectAccess) => {
      objects.load([...NAMESPACES, 'default'].map(namespaceObject));
      bare.forEach((isThere, i) => putNamespace(objects, i, isThere));
      for (const slot of slots) {
        putService(objects, slot);
        if (hasSlice(slot)) objects.load([sliceObject(slot)]);
      }
    };
    return { world: { slots, bare }, apply };
  }

  next({ slots, bare }: World): Change {
    if (this.#below(100) < BARE_PART * 100) {
      const at = this.#below(BARE);
      const isThere = !bare[at]!;
      const apply = (objects: ObjectAccess) => putNamespace(objects, at, isThere);
      return { world: { slots, bare: bare.with(at, isThere) }, apply };
    }
    const at = this.#below(slots.length);
    const after = this.#change(slots[at]!);
    const apply = (objects: ObjectAccess) => {
      if (after.slot === 'endpoints') objects.load([sliceObject(after)]);
      else putService(objects, after);
    };
    return { world: { slots: slots.with(at, after), bare }, apply };
  }

  #fill(slot: SlotKind, i: number): Slot {
    return {
      slot,
      kind: slot === 'alias' ? 'alias' : slot === 'address' ? 'address' : 'headless',
      name: `${slot}-${Math.floor(i / NAMESPACES.length)}`,
      namespace: NAMESPACES[i % NAMESPACES.length]!,
      isThere: slot === 'endpoints' || this.#flip(),
      clusterIP: poolAddress(slot, this.#below(POOL)),
      portName: 'web',
      port: 80,
      ready: slot === 'turning' ? this.#endpoints(slot, 1) : this.#endpoints(slot, 0),
      unready: [],
      target: this.#target(),
    };
  }

  #change(slot: Slot): Slot {
    if (slot.slot === 'endpoints') {
      const all = this.#endpoints(slot.slot, 0);
      const [first, ...rest] = all;
      if (first === undefined || this.#flip()) return { ...slot, ready: all, unready: [] };
      return { ...slot, ready: rest, unready: [first] };
    }
    if (!slot.isThere || this.#below(4) === 0) return { ...slot, isThere: !slot.isThere };
    if (slot.slot === 'alias') return { ...slot, target: this.#target() };
    if (slot.slot === 'turning') {
      return { ...slot, kind: slot.kind === 'headless' ? 'address' : 'headless' };
    }
    switch (this.#below(3)) {
      case 0:
        return { ...slot, portName: slot.portName === 'web' ? 'admin' : 'web' };
      case 1:
        return { ...slot, ipv6: this.#flip() ? poolIpv6(this.#below(POOL)) : undefined };
      default:
        return { ...slot, clusterIP: poolAddress(slot.slot, this.#below(POOL)) };
    }
  }

  #endpoints(slot: SlotKind, least: number): EndpointState[] {
    const count = least + this.#below(MAX_ENDPOINTS + 1 - least);
    const addresses = new Set<string>();
    while (addresses.size < count) addresses.add(poolAddress(slot, POOL + this.#below(POOL)));
    return Array.from(addresses, (address, i) => ({ hostname: `h${i}`, address }));
  }

  /** A service whose records are of its Service object alone. */
  #target(): string {
    const i = this.#below(COUNTS.address);
    const name = `address-${Math.floor(i / NAMESPACES.length)}`;
    return `${name}.${NAMESPACES[i % NAMESPACES.length]!}.svc.cluster.local`;
  }

  #flip(): boolean {
    return this.#below(2) === 0;
  }
}

function hasSlice({ slot }: Slot): boolean {
  return slot === 'endpoints' || slot === 'turning';
}

function putService(objects: ObjectAccess, slot: Slot): void {
  const { namespace, name, isThere } = slot;
  if (isThere) objects.load([serviceObject(slot)]);
  else if (objects.get('Service', namespace, name) !== undefined) {
    objects.delete('Service', namespace, name);
  }
}

function putNamespace(objects: ObjectAccess, i: number, isThere: boolean): void {
  const name = bareNamespace(i);
  if (isThere) objects.load([namespaceObject(name)]);
  else if (objects.get('Namespace', undefined, name) !== undefined) {
    objects.delete('Namespace', undefined, name);
  }
}

/** A question, and its right answer in a world. */
export interface OracleQuestion {
  readonly name: string;
  readonly type: 'A' | 'AAAA' | 'PTR' | 'SRV';
  readonly expected: (world: World) => string;
}

/** Whether an answer denies a name or a type, which has a TTL of its own. */
export function isNegative(text: string): boolean {
  return text === NXDOMAIN || text === NODATA || text.startsWith('NXDOMAIN |');
}

/**
 * An answer that says of a name only that it exists, where its cache has other answers of it: dnsmasq makes it of
 * NXDOMAIN, and so does 2.90.
 */
export function isMere(text: string): boolean {
  return text === NODATA || /^NOERROR( \| \S+ cname \S+)+$/.test(text);
}

type Below = (limit: number) => number;
type AddressType = 'A' | 'AAAA';

const NXDOMAIN = answerText('NXDOMAIN', []);
const NODATA = answerText('NOERROR', []);
const POD = ['10-1-2-3', '10.1.2.3'] as const;
const ASKED_POOL = 120;

/** Parts of a hundred questions; the sum is 100. */
const MIX: readonly (readonly [number, (below: Below, world: World) => OracleQuestion])[] = [
  [40, (below, world) => askService(below, world)],
  [10, (below, world) => askPort(below(world.slots.length), world)],
  [10, (below, world) => askHost(below(world.slots.length), world)],
  [15, (below) => askReverse(below)],
  [8, (below, world) => askEverywhere(below(world.slots.length), world)],
  [7, (below) => askNamespace(below(BARE))],
  [10, (below) => askNothing(`www${below(50)}.example.com.shop.svc.cluster.local`)],
];

/** A random question about what is in a world, or was. */
export function randomQuestion(below: Below, world: World): OracleQuestion {
  let dice = below(100);
  const [, make] = MIX.find(([part]) => (dice -= part) < 0)!;
  const question = make(below, world);
  // Letters in both cases are the same name.
  return below(10) === 0 ? { ...question, name: question.name.toUpperCase() } : question;
}

function askService(below: Below, { slots }: World): OracleQuestion {
  const at = below(slots.length);
  const type = below(4) === 0 ? 'AAAA' : 'A';
  const name = dnsName(slots[at]!);
  return { name, type, expected: (world) => addressText(name, type, world.slots[at]!, world) };
}

function addressText(name: string, type: AddressType, slot: Slot, world: World): string {
  if (slot.kind !== 'alias' || !slot.isThere)
    return answerOf(slot, (own) => records(name, type, own));
  const cname = recordText(name, 'CNAME', slot.target);
  const target = world.slots.find((each) => dnsName(each) === slot.target)!;
  if (!target.isThere) return answerText('NXDOMAIN', [cname]);
  return answerText('NOERROR', [cname, ...records(slot.target, type, target)]);
}

/** NXDOMAIN where there is no service, or a headless one without endpoints. */
function answerOf(slot: Slot, find: (slot: Slot) => readonly string[] | undefined): string {
  const { isThere, kind, ready } = slot;
  if (!isThere || (kind === 'headless' && ready.length === 0)) return NXDOMAIN;
  const found = find(slot);
  return found === undefined ? NXDOMAIN : answerText('NOERROR', found);
}

function records(name: string, type: AddressType, slot: Slot): string[] {
  const { kind, clusterIP, ipv6, ready } = slot;
  const own = ipv6 === undefined ? [clusterIP] : [clusterIP, ipv6];
  const addresses = kind === 'headless' ? ready.map(({ address }) => address) : own;
  return addresses
    .filter((address) => address.includes(':') === (type === 'AAAA'))
    .map((address) => recordText(name, type, address));
}

function askPort(at: number, { slots }: World): OracleQuestion {
  const service = dnsName(slots[at]!);
  const name = `_web._tcp.${service}`;
  const expected = ({ slots: now }: World) =>
    answerOf(now[at]!, ({ kind, portName, port, ready }) => {
      // The port of the slice stays when its service turns.
      if (kind === 'alias' || portName !== 'web') return undefined;
      const hosts = ready.map(({ hostname }) => `${hostname}.${service}`);
      const targets = kind === 'headless' ? hosts : [service];
      return targets.map((target) => recordText(name, 'SRV', `${port} ${target}`));
    });
  return { name, type: 'SRV', expected };
}

function askHost(at: number, { slots }: World): OracleQuestion {
  const name = `h0.${dnsName(slots[at]!)}`;
  const expected = ({ slots: now }: World) =>
    answerOf(now[at]!, ({ kind, ready }) => {
      const host = kind === 'headless' && ready.find(({ hostname }) => hostname === 'h0');
      return host ? [recordText(name, 'A', host.address)] : undefined;
    });
  return { name, type: 'A', expected };
}

function askReverse(below: Below): OracleQuestion {
  const kind = (['address', 'endpoints', 'turning'] as const)[below(3)]!;
  const isIpv6 = kind === 'address' && below(2) === 0;
  const address = isIpv6 ? poolIpv6(below(ASKED_POOL / 2)) : poolAddress(kind, below(ASKED_POOL));
  const name = reverseName(addressBytes(address));
  const expected = ({ slots }: World) => {
    const names = slots.flatMap((slot) => namesOf(slot, address));
    if (names.length === 0) return NXDOMAIN;
    return answerText(
      'NOERROR',
      names.map((each) => recordText(name, 'PTR', each)),
    );
  };
  return { name, type: 'PTR', expected };
}

function namesOf(slot: Slot, address: string): string[] {
  const { kind, isThere, clusterIP, ipv6, ready } = slot;
  if (!isThere || kind === 'alias') return [];
  if (kind === 'address') return [clusterIP, ipv6].includes(address) ? [dnsName(slot)] : [];
  return ready
    .filter((endpoint) => endpoint.address === address)
    .map(({ hostname }) => `${hostname}.${dnsName(slot)}`);
}

/** The services of one name in all namespaces. */
function askEverywhere(at: number, { slots }: World): OracleQuestion {
  const { slot, name: service } = slots[at]!;
  if (slot === 'alias') return askNothing(`*.${service}.nowhere.svc.cluster.local`);
  const name = `${service}.*.svc.cluster.local`;
  const expected = ({ slots: now }: World) => {
    const found = now.filter(
      ({ name: own, isThere, kind, ready }) =>
        own === service && isThere && (kind !== 'headless' || ready.length > 0),
    );
    if (found.length === 0) return NXDOMAIN;
    const all = found.flatMap((each) => records(name, 'A', each));
    return answerText('NOERROR', [...new Set(all)]);
  };
  return { name, type: 'A', expected };
}

/** A namespace without services, or the name of a pod there. */
function askNamespace(number: number): OracleQuestion {
  const [label, address] = POD;
  const name = `${label}.${bareNamespace(number)}.pod.cluster.local`;
  const expected = ({ bare }: World) =>
    bare[number] === true ? answerText('NOERROR', [recordText(name, 'A', address)]) : NXDOMAIN;
  return { name, type: 'A', expected };
}

function askNothing(name: string): OracleQuestion {
  return { name, type: 'A', expected: () => NXDOMAIN };
}
