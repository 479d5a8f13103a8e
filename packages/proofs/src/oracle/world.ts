import type { ObjectAccess } from '@kube-dns/apiserver';
import { namespaceObject, serviceObject, sliceObject } from '../soak/cluster-objects.js';
import type { EndpointState, ServiceState } from '../soak/service-state.js';

/**
 * How a service changes. One kind changes one object, because watches of several resources have no order among them:
 * its address, port or existence; the slice of a headless one that stays; the Service over a slice that stays; or the
 * target of an ExternalName.
 */
const KINDS = ['address', 'endpoints', 'turning', 'alias'] as const;
type SlotKind = (typeof KINDS)[number];

/** A service that the cluster has, or may have. */
export interface Slot extends ServiceState {
  readonly slot: SlotKind;
}

/** All that answers depend on, at one moment. */
export interface World {
  readonly slots: readonly Slot[];
  /** Whether each of the namespaces without services exists. */
  readonly bare: readonly boolean[];
}

/** A world and what makes it of the one before. */
export interface Change {
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
export function bareNamespace(i: number): string {
  return `bare-${i}`;
}

/** An address that services of a kind may have, or their endpoints. */
export function poolAddress(kind: SlotKind, number: number): string {
  return `10.${64 + KINDS.indexOf(kind)}.0.${1 + number}`;
}

export function poolIpv6(number: number): string {
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
