import { PlaceList, PlaceNode } from './place-list.js';

/** What a client has: its places, and those of its network where it can have many addresses. */
interface Holder<Taker> {
  readonly key: string;
  readonly places: PlaceList<Taker>;
  readonly network: Holder<Taker> | undefined;
  /** It has more than a tenth of all. */
  isLarge: boolean;
}

/** The place of one that takes it again and again: where it is in the lists of the client and of its network. */
export class Place<Taker> {
  /** Whose it is; undefined while it is not taken. */
  holder: Holder<Taker> | undefined;
  readonly ofClient: PlaceNode<Taker>;
  readonly ofNetwork: PlaceNode<Taker>;

  constructor(taker: Taker) {
    this.ofClient = new PlaceNode(taker);
    this.ofNetwork = new PlaceNode(taker);
  }
}

/** Of all places, what a client may have that is not to give one to another. */
const FAIR_PART = 1 / 10;
/** Groups of 16 bits in an IPv6 address, and in the network that one client may have (RFC 4291 section 2.5.4). */
const IPV6_GROUPS = 8;
const NETWORK_GROUPS = 4;

/**
 * The places of clients under one limit. Each may take what is free. At the limit a client with more than a tenth of
 * all gives its oldest place to one that has fewer. A client is an address, and with IPv6 its /64, too.
 */
export class FairPlaces<Taker> {
  readonly #clients = new Map<string, Holder<Taker>>();
  readonly #networks = new Map<string, Holder<Taker>>();
  /** Those with more than a tenth: fewer than 20. */
  readonly #large = new Set<Holder<Taker>>();
  #share = Number.POSITIVE_INFINITY;
  #size = 0;

  /** How many are taken. */
  get size(): number {
    return this.#size;
  }

  /** Takes one of `limit`, which is not taken, for a client, by its address as text. */
  add(client: string, place: Place<Taker>, limit: number): void {
    this.#share = limit * FAIR_PART;
    const holder = this.#clients.get(client) ?? this.#addHolder(client);
    const { places, network } = holder;
    this.#size++;
    place.holder = holder;
    places.add(place.ofClient);
    this.#weigh(holder);
    if (network === undefined) return;
    network.places.add(place.ofNetwork);
    this.#weigh(network);
  }

  /** Gives one back, if it is taken. */
  remove(place: Place<Taker>): void {
    const { holder } = place;
    if (holder === undefined) return;
    place.holder = undefined;
    const { places, network } = holder;
    this.#size--;
    places.remove(place.ofClient);
    this.#weigh(holder);
    if (places.size === 0) this.#clients.delete(holder.key);
    if (network === undefined) return;
    network.places.remove(place.ofNetwork);
    this.#weigh(network);
    if (network.places.size === 0) this.#networks.delete(network.key);
  }

  /** What has the place that a client gets; undefined when no other has more than its part and than this one. */
  displacedBy(client: string): Taker | undefined {
    const network = networkOf(client);
    const ownNetwork = network === undefined ? undefined : this.#networks.get(network);
    const inNetwork = this.#clients.get(client)?.places.size ?? 0;
    const own = network === undefined ? inNetwork : (ownNetwork?.places.size ?? 0);
    let largest: Holder<Taker> | undefined;
    for (const holder of this.#large) {
      if (holder === ownNetwork) continue;
      const isNeighbour = ownNetwork !== undefined && holder.network === ownNetwork;
      // It keeps as many as the other has then.
      if (holder.places.size <= (isNeighbour ? inNetwork : own) + 1) continue;
      if (holder.places.size > (largest?.places.size ?? 0)) largest = holder;
    }
    return largest?.places.oldest;
  }

  #addHolder(client: string): Holder<Taker> {
    const network = networkOf(client);
    const holder = {
      key: client,
      places: new PlaceList<Taker>(),
      network: network === undefined ? undefined : this.#networkOf(network),
      isLarge: false,
    };
    this.#clients.set(client, holder);
    return holder;
  }

  #networkOf(network: string): Holder<Taker> {
    const existing = this.#networks.get(network);
    if (existing !== undefined) return existing;
    const places = new PlaceList<Taker>();
    const holder = { key: network, places, network: undefined, isLarge: false };
    this.#networks.set(network, holder);
    return holder;
  }

  #weigh(holder: Holder<Taker>): void {
    const isLarge = holder.places.size > this.#share;
    if (isLarge === holder.isLarge) return;
    holder.isLarge = isLarge;
    if (isLarge) this.#large.add(holder);
    else this.#large.delete(holder);
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
