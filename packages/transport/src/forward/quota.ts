import { finishHash, hashBytes, randomSeed } from '@kube-dns/wire';

/** Has a slot, and may have to give it to another client. */
export interface SlotHolder {
  /**
   * Another client needs the slot, or another question of the same one, which `isOwn` says: gives it back, or lets a client with
   * fewer have it.
   */
  evict(isOwn?: boolean): void;
}

/** The slots of one client, or of a network of which a client can have many addresses. */
interface Share {
  readonly key: string;
  readonly slots: SlotList;
  readonly network: Share | undefined;
  /** Tells the domains of one client from those of others. */
  readonly salt: number;
  /** It has more than a tenth of all. */
  isLarge: boolean;
}

/** A slot that one holder acquires again and again: where it is in the lists. */
export class Slot {
  readonly holder: SlotHolder;
  /** Whose it is; undefined while it is free. */
  share: Share | undefined;
  /** The counters of its domain, and of its domain and client. */
  domain = 0;
  pair = 0;
  readonly ofClient = new SlotNode(this);
  readonly ofNetwork = new SlotNode(this);
  readonly ofAll = new SlotNode(this);

  constructor(holder: SlotHolder) {
    this.holder = holder;
  }
}

/** Of all slots, what a client may have that is not to give one to another. */
const FAIR_PART = 1 / 10;
/** Groups of 16 bits in an IPv6 address, and in the network that one client may have (RFC 4291 section 2.5.4). */
const IPV6_GROUPS = 8;
const NETWORK_GROUPS = 4;
/** Counters of domains, by a hash with a secret seed: two domains may share one, and then their fate. */
const COUNTERS = 1_024;
/** So many slots are looked at for one to give up, the oldest first. */
const MAX_LOOKS = 256;

type Age = 'oldest' | 'newest';

/**
 * The slots of clients under one limit. Each may acquire what is free. At the limit one gives its slot to another:
 *
 *     1. a client with more than a tenth of all, and more than the one that asks
 *     2. for a client without so many: a domain with more than a tenth of all, and more than the one that is asked for
 *     3. another domain of the same client, with more than the one that is asked for
 *
 * It is the oldest slot, or the newest, of the domain that has most there. A client is an address, and with IPv6 its /64, too; domains are
 * hashes.
 */
export class FairSlots {
  readonly #clients = new Map<string, Share>();
  readonly #networks = new Map<string, Share>();
  /** Those with more than a tenth: fewer than 20. */
  readonly #large = new Set<Share>();
  readonly #all = new SlotList();
  readonly #ofDomain = new Uint32Array(COUNTERS);
  readonly #ofPair = new Uint32Array(COUNTERS);
  readonly #given: Age;
  #salts = randomSeed();
  #fairShare = Number.POSITIVE_INFINITY;

  /** `given`: which slot of a client and domain another gets. */
  constructor(given: Age = 'oldest') {
    this.#given = given;
  }

  /** How many are acquired. */
  get size(): number {
    return this.#all.size;
  }

  /** Whether one of `limit` is free for a client, by its address as text, and a domain; others may have to give theirs. */
  makeRoom(client: string, limit: number, domain = 0): boolean {
    while (this.size >= limit) {
      const slot = this.evictable(client, domain);
      if (slot === undefined) return false;
      slot.holder.evict();
    }
    return true;
  }

  /** Whether a client may have one more if it may have `most`; another domain of its own may have to give one. */
  makeOwnRoom(client: string, most: number, domain: number): boolean {
    const share = this.#clients.get(client);
    while (share !== undefined && share.slots.size >= most) {
      const slot = this.#ofOtherDomain(share, domain);
      if (slot === undefined) return false;
      slot.holder.evict(true);
    }
    return true;
  }

  /** How many a client has. */
  sizeOf(client: string): number {
    return this.#clients.get(client)?.slots.size ?? 0;
  }

  /** The slot that a client gets for a domain; undefined when none has more than its part and than this one. */
  evictable(client: string, domain = 0): Slot | undefined {
    const network = networkOf(client);
    const ownNetwork = network === undefined ? undefined : this.#networks.get(network);
    const own = this.#clients.get(client);
    const largest = this.#largestBeside(own, ownNetwork, network === undefined);
    if (largest !== undefined) return this.#pick(largest.slots, this.#ofPair, 'pair', 0);
    if (own?.isLarge !== true && ownNetwork?.isLarge !== true) {
      const most = Math.max(this.#ofDomain[domain & (COUNTERS - 1)]! + 1, this.#fairShare);
      const slot = this.#pick(this.#all, this.#ofDomain, 'domain', most);
      if (slot !== undefined) return slot;
    }
    return own && this.#ofOtherDomain(own, domain);
  }

  /** Acquires one of `limit` that is free. */
  acquire(client: string, slot: Slot, limit: number, domain = 0): void {
    this.#fairShare = limit * FAIR_PART;
    const share = this.#clients.get(client) ?? this.#addClient(client);
    const { slots, network } = share;
    slot.share = share;
    slot.domain = domain & (COUNTERS - 1);
    slot.pair = pairOf(share, domain);
    this.#ofDomain[slot.domain]!++;
    this.#ofPair[slot.pair]!++;
    this.#all.add(slot.ofAll);
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
    this.#ofDomain[slot.domain]!--;
    this.#ofPair[slot.pair]!--;
    this.#all.remove(slot.ofAll);
    slots.remove(slot.ofClient);
    this.#weigh(share);
    if (slots.size === 0) this.#clients.delete(share.key);
    if (network === undefined) return;
    network.slots.remove(slot.ofNetwork);
    this.#weigh(network);
    if (network.slots.size === 0) this.#networks.delete(network.key);
  }

  /** The client, or network, that has most of those with more than a tenth, and more than this one would have then. */
  #largestBeside(
    own: Share | undefined,
    ownNetwork: Share | undefined,
    isIpv4: boolean,
  ): Share | undefined {
    const inNetwork = own?.slots.size ?? 0;
    const count = isIpv4 ? inNetwork : (ownNetwork?.slots.size ?? 0);
    let largest: Share | undefined;
    for (const share of this.#large) {
      if (share === ownNetwork) continue;
      const isNeighbour = ownNetwork !== undefined && share.network === ownNetwork;
      // It keeps as many as the other has then.
      if (share.slots.size <= (isNeighbour ? inNetwork : count) + 1) continue;
      if (share.slots.size > (largest?.slots.size ?? 0)) largest = share;
    }
    return largest;
  }

  #ofOtherDomain(share: Share, domain: number): Slot | undefined {
    const own = this.#ofPair[pairOf(share, domain)]!;
    return this.#pick(share.slots, this.#ofPair, 'pair', own + 1);
  }

  /** Of the oldest slots one whose counter is highest, and above `most`. */
  #pick(
    { oldest, size }: SlotList,
    counters: Uint32Array,
    counter: 'domain' | 'pair',
    most: number,
  ): Slot | undefined {
    let found: Slot | undefined;
    // No other can have more: a flood for one domain is refused without a search.
    let looks = 2 * most < size ? MAX_LOOKS : 0;
    for (let node = oldest; node !== undefined && looks > 0; node = node.newer, looks--) {
      const count = counters[node.slot[counter]]!;
      if (count < most || (count === most && (found === undefined || this.#given === 'oldest'))) {
        continue;
      }
      most = count;
      found = node.slot;
    }
    return found;
  }

  #addClient(client: string): Share {
    const key = networkOf(client);
    let network = key === undefined ? undefined : this.#networks.get(key);
    if (key !== undefined && network === undefined) {
      network = { key, slots: new SlotList(), network: undefined, salt: 0, isLarge: false };
      this.#networks.set(key, network);
    }
    const salt = finishHash(this.#salts++);
    const share = { key: client, slots: new SlotList(), network, salt, isLarge: false };
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

function pairOf({ salt }: Share, domain: number): number {
  return finishHash(salt ^ domain) & (COUNTERS - 1);
}

const domainSeed = randomSeed();

/** Of a name (lower-cased, in wire form) the hash of its last two labels; of a whole domain that of the domain. */
export function domainHash(name: Uint8Array, length: number, isWhole: boolean): number {
  let from = 0;
  if (!isWhole) {
    let before = 0;
    for (let at = 0; at + 1 < length; at += 1 + name[at]!) {
      from = before;
      before = at;
    }
  }
  return finishHash(hashBytes(domainSeed, name, from, length));
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

  get oldest(): SlotNode | undefined {
    return this.#oldest;
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

/** Waits for a connection over TCP, or has one, which another may need (`evict`): then it waits again. */
export interface TcpWaiter extends SlotHolder {
  /** The address of the client, and the hash of the domain, that it counts for. */
  readonly client: string;
  readonly domain: number;
  readonly slot: Slot;
  /** The slot that it waited for is its own from now on. */
  onSlot(): void;
}

/** Of all slots, one server may have this part: another that is slow does not have them all. */
const PART_OF_SERVER = 1 / 2;

/** The connections over TCP to all upstream servers: beyond the limit a question waits for a slot. */
export class TcpSlots {
  /** Of them, what one server may have. */
  readonly maxOfServer: number;
  readonly #max: number;
  #size = 0;
  /** The servers for which a question waits, in the order of their turns. */
  readonly #queue = new Set<ServerTcpSlots>();
  #isServing = false;

  constructor(max: number) {
    this.#max = max;
    this.maxOfServer = Math.max(1, Math.floor(max * PART_OF_SERVER));
  }

  /** For ServerTcpSlots: whether a slot is free. */
  isFree(server: ServerTcpSlots): boolean {
    return this.#size < this.#max && server.size < this.maxOfServer;
  }

  /** For ServerTcpSlots: acquires a slot if one is free. */
  acquire(server: ServerTcpSlots): boolean {
    if (!this.isFree(server)) return false;
    this.#size++;
    return true;
  }

  /** For ServerTcpSlots: whether a question waits for a slot. */
  queue(server: ServerTcpSlots): void {
    if (server.waiting > 0) this.#queue.add(server);
    else this.#queue.delete(server);
  }

  /** For ServerTcpSlots: a slot is free, for the server whose turn it is. */
  release(): void {
    this.#size--;
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

/**
 * The connections over TCP to one server. When there are no more, a client and a domain with more than others give their
 * newest: the older ones end, however slow their servers are.
 */
export class ServerTcpSlots {
  readonly #all: TcpSlots;
  // Made when they are needed: most servers are never asked over TCP.
  #slots: FairSlots | undefined;
  #waiters: Set<TcpWaiter> | undefined;

  constructor(all: TcpSlots) {
    this.#all = all;
  }

  /** How many there are. */
  get size(): number {
    return this.#slots?.size ?? 0;
  }

  /** Whether a question need not wait for one. */
  get isFree(): boolean {
    return this.#all.isFree(this);
  }

  /** How many wait. */
  get waiting(): number {
    return this.#waiters?.size ?? 0;
  }

  /** True when the caller has a slot, that was free or another's; else it waits for one. */
  acquire(waiter: TcpWaiter): boolean {
    if (!this.#all.acquire(this)) {
      const slot = this.#slots?.evictable(waiter.client, waiter.domain);
      if (slot === undefined) {
        this.#wait(waiter);
        return false;
      }
      slot.holder.evict();
    }
    this.#take(waiter);
    return true;
  }

  /** The connection of one is closed. */
  release({ slot }: TcpWaiter): void {
    this.#slots?.release(slot);
    this.#all.release();
  }

  /** The connection of one is closed for another: it waits again. */
  yield(waiter: TcpWaiter): void {
    this.#slots?.release(waiter.slot);
    this.#wait(waiter);
  }

  /** Waits no longer. */
  leave(waiter: TcpWaiter): void {
    if (this.#waiters?.delete(waiter) === true) this.#all.queue(this);
  }

  /** For TcpSlots: the one that has waited longest; it has the slot. */
  shift(): TcpWaiter {
    const [waiter] = this.#waiters!;
    this.#waiters!.delete(waiter!);
    this.#take(waiter!);
    return waiter!;
  }

  #wait(waiter: TcpWaiter): void {
    this.#waiters ??= new Set();
    this.#waiters.add(waiter);
    this.#all.queue(this);
  }

  #take({ client, slot, domain }: TcpWaiter): void {
    this.#slots ??= new FairSlots('newest');
    this.#slots.acquire(client, slot, this.#all.maxOfServer, domain);
  }
}
