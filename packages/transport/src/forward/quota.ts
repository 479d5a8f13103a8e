/** Has a slot, and may have to give it to another client. */
export interface SlotHolder {
  /** Another client needs the slot: gives it back, or lets a client with fewer have it. */
  evict(): void;
}

/** The slots of one client, or of a network of which a client can have many addresses. */
interface Share {
  readonly key: string;
  readonly slots: SlotList;
  readonly network: Share | undefined;
  /** It has more than a tenth of all. */
  isLarge: boolean;
}

/** A slot that one holder acquires again and again: where it is in the lists of the client and of its network. */
export class Slot {
  readonly holder: SlotHolder;
  /** Whose it is; undefined while it is free. */
  share: Share | undefined;
  readonly ofClient = new SlotNode(this);
  readonly ofNetwork = new SlotNode(this);

  constructor(holder: SlotHolder) {
    this.holder = holder;
  }
}

/** Of all slots, what a client may have that is not to give one to another. */
const FAIR_PART = 1 / 10;
/** Groups of 16 bits in an IPv6 address, and in the network that one client may have (RFC 4291 section 2.5.4). */
const IPV6_GROUPS = 8;
const NETWORK_GROUPS = 4;

/**
 * The slots of clients under one limit. Each may acquire what is free. At the limit a client with more than a tenth of
 * all gives its oldest slot to one that has fewer. A client is an address, and with IPv6 its /64, too.
 */
export class FairSlots {
  readonly #clients = new Map<string, Share>();
  readonly #networks = new Map<string, Share>();
  /** Those with more than a tenth: fewer than 20. */
  readonly #large = new Set<Share>();
  #fairShare = Number.POSITIVE_INFINITY;
  #size = 0;

  /** How many are acquired. */
  get size(): number {
    return this.#size;
  }

  /** Whether one of `limit` is free for a client, by its address as text; others may have to give theirs. */
  makeRoom(client: string, limit: number): boolean {
    while (this.#size >= limit) {
      const slot = this.evictable(client);
      if (slot === undefined) return false;
      slot.holder.evict();
    }
    return true;
  }

  /** The slot that a client gets from another; undefined when no other has more than its part and than this one. */
  evictable(client: string): Slot | undefined {
    const network = networkOf(client);
    const ownNetwork = network === undefined ? undefined : this.#networks.get(network);
    const inNetwork = this.#clients.get(client)?.slots.size ?? 0;
    const own = network === undefined ? inNetwork : (ownNetwork?.slots.size ?? 0);
    let largest: Share | undefined;
    for (const share of this.#large) {
      if (share === ownNetwork) continue;
      const isNeighbour = ownNetwork !== undefined && share.network === ownNetwork;
      // It keeps as many as the other has then.
      if (share.slots.size <= (isNeighbour ? inNetwork : own) + 1) continue;
      if (share.slots.size > (largest?.slots.size ?? 0)) largest = share;
    }
    return largest?.slots.oldest;
  }

  /** Acquires one of `limit` that is free. */
  acquire(client: string, slot: Slot, limit: number): void {
    this.#fairShare = limit * FAIR_PART;
    const share = this.#clients.get(client) ?? this.#addClient(client);
    const { slots, network } = share;
    this.#size++;
    slot.share = share;
    slots.add(slot.ofClient);
    this.#weigh(share);
    if (network === undefined) return;
    network.slots.add(slot.ofNetwork);
    this.#weigh(network);
  }

  /** Gives one back, if it is acquired. */
  release(slot: Slot): void {
    const { share } = slot;
    if (share === undefined) return;
    slot.share = undefined;
    const { slots, network } = share;
    this.#size--;
    slots.remove(slot.ofClient);
    this.#weigh(share);
    if (slots.size === 0) this.#clients.delete(share.key);
    if (network === undefined) return;
    network.slots.remove(slot.ofNetwork);
    this.#weigh(network);
    if (network.slots.size === 0) this.#networks.delete(network.key);
  }

  #addClient(client: string): Share {
    const key = networkOf(client);
    let network = key === undefined ? undefined : this.#networks.get(key);
    if (key !== undefined && network === undefined) {
      network = { key, slots: new SlotList(), network: undefined, isLarge: false };
      this.#networks.set(key, network);
    }
    const share = { key: client, slots: new SlotList(), network, isLarge: false };
    this.#clients.set(client, share);
    return share;
  }

  #weigh(share: Share): void {
    const isLarge = share.slots.size > this.#fairShare;
    if (isLarge === share.isLarge) return;
    share.isLarge = isLarge;
    if (isLarge) this.#large.add(share);
    else this.#large.delete(share);
  }
}

/** Where a slot is in a list, while it is in one. */
class SlotNode {
  readonly slot: Slot;
  older: SlotNode | undefined;
  newer: SlotNode | undefined;

  constructor(slot: Slot) {
    this.slot = slot;
  }
}

/** Slots in the order in which they were acquired; one is removed in a step. A Set costs ten times as much. */
class SlotList {
  size = 0;
  #oldest: SlotNode | undefined;
  #newest: SlotNode | undefined;

  get oldest(): Slot | undefined {
    return this.#oldest?.slot;
  }

  add(node: SlotNode): void {
    node.older = this.#newest;
    if (this.#newest === undefined) this.#oldest = node;
    else this.#newest.newer = node;
    this.#newest = node;
    this.size++;
  }

  remove(node: SlotNode): void {
    const { older, newer } = node;
    node.older = node.newer = undefined;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    this.size--;
  }
}

/** The /64 of an IPv6 address in its shortest spelling; undefined for IPv4. */
export function networkOf(address: string): string | undefined {
  if (!address.includes(':')) return undefined;
  const [head = '', tail] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const last = tail === '' ? [] : tail.split(':');
    while (groups.length + last.length < IPV6_GROUPS) groups.push('0');
    groups.push(...last);
  }
  return groups.slice(0, NETWORK_GROUPS).join(':');
}

/** What waits for the servers of a group, or of several groups with one limit. */
export class GroupLoad {
  // Made when they are needed: a configuration has many groups that are never asked.
  #questionSlots: FairSlots | undefined;
  #joinerSlots: FairSlots | undefined;

  /** For the forwarder: the slots of questions, each of the client that waits longest for it. */
  get questionSlots(): FairSlots {
    return (this.#questionSlots ??= new FairSlots());
  }

  /** For the forwarder: the slots of all others that wait. */
  get joinerSlots(): FairSlots {
    return (this.#joinerSlots ??= new FairSlots());
  }

  /** Questions in flight. */
  get questions(): number {
    return this.#questionSlots?.size ?? 0;
  }

  /** Clients that joined a question in flight. */
  get joiners(): number {
    return this.#joinerSlots?.size ?? 0;
  }
}

/** Waits for a connection over TCP. */
export interface TcpWaiter {
  /** The slot that it waited for is its own from now on. */
  onSlot(): void;
}

/** Of all slots, one server may have this part: another that is slow does not have them all. */
const PART_OF_SERVER = 1 / 2;

/** The connections over TCP to all upstream servers: beyond the limit a question waits for a slot. */
export class TcpSlots {
  readonly #max: number;
  readonly #maxOfServer: number;
  #size = 0;
  /** The servers for which a question waits, in the order of their turns. */
  readonly #queue = new Set<ServerTcpSlots>();
  #isServing = false;

  constructor(max: number) {
    this.#max = max;
    this.#maxOfServer = Math.max(1, Math.floor(max * PART_OF_SERVER));
  }

  /** For ServerTcpSlots: acquires a slot if one is free. */
  acquire(server: ServerTcpSlots): boolean {
    if (this.#size >= this.#max || server.size >= this.#maxOfServer) return false;
    this.#size++;
    server.size++;
    return true;
  }

  /** For ServerTcpSlots: whether a question waits for a slot. */
  queue(server: ServerTcpSlots): void {
    if (server.waiting > 0) this.#queue.add(server);
    else this.#queue.delete(server);
  }

  /** For ServerTcpSlots: a slot is free, for the server whose turn it is. */
  release(server: ServerTcpSlots): void {
    this.#size--;
    server.size--;
    // The one that gets a slot may give it back during the call.
    if (this.#isServing) return;
    this.#isServing = true;
    while (this.#serveNext()) continue;
    this.#isServing = false;
  }

  #serveNext(): boolean {
    for (const server of this.#queue) {
      if (!this.acquire(server)) continue;
      this.#queue.delete(server);
      const waiter = server.shift();
      this.queue(server);
      waiter.onSlot();
      return true;
    }
    return false;
  }
}

/** The connections over TCP to one server. */
export class ServerTcpSlots {
  /** How many there are. */
  size = 0;
  readonly #all: TcpSlots;
  #waiters: Set<TcpWaiter> | undefined;

  constructor(all: TcpSlots) {
    this.#all = all;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#waiters?.size ?? 0;
  }

  /** True when a slot is free, which is the caller's then; else it waits for one. */
  acquire(waiter: TcpWaiter): boolean {
    if (this.#all.acquire(this)) return true;
    this.#waiters ??= new Set();
    this.#waiters.add(waiter);
    this.#all.queue(this);
    return false;
  }

  release(): void {
    this.#all.release(this);
  }

  /** Waits no longer. */
  leave(waiter: TcpWaiter): void {
    if (this.#waiters?.delete(waiter) === true) this.#all.queue(this);
  }

  /** For TcpSlots: the one that has waited longest; it waits no longer. */
  shift(): TcpWaiter {
    const [waiter] = this.#waiters!;
    this.#waiters!.delete(waiter!);
    return waiter!;
  }
}
