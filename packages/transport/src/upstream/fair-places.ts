/** What a client has: its places, oldest first, and those of its network where it can have many addresses. */
interface Holder<Place> {
  readonly key: string;
  readonly places: Set<Place>;
  readonly network: Holder<Place> | undefined;
  /** It has more than a tenth of all. */
  isLarge: boolean;
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
export class FairPlaces<Place> {
  readonly #clients = new Map<string, Holder<Place>>();
  readonly #networks = new Map<string, Holder<Place>>();
  /** Those with more than a tenth: fewer than 20. */
  readonly #large = new Set<Holder<Place>>();
  #share = Number.POSITIVE_INFINITY;
  #size = 0;

  /** How many are taken. */
  get size(): number {
    return this.#size;
  }

  /** Takes one of `limit` for a client, by its address as text. */
  add(client: string, place: Place, limit: number): void {
    this.#share = limit * FAIR_PART;
    const holder = this.#holderOf(client);
    this.#size++;
    this.#change(holder, place, true);
    if (holder.network !== undefined) this.#change(holder.network, place, true);
  }

  /** Gives one back. */
  remove(client: string, place: Place): void {
    const holder = this.#clients.get(client);
    if (holder?.places.has(place) !== true) return;
    this.#size--;
    this.#change(holder, place, false);
    if (holder.places.size === 0) this.#clients.delete(client);
    const { network } = holder;
    if (network === undefined) return;
    this.#change(network, place, false);
    if (network.places.size === 0) this.#networks.delete(network.key);
  }

  /** The place that a client gets from another; undefined when none has more than its part and than this one. */
  displacedBy(client: string): Place | undefined {
    const network = networkOf(client);
    const ownNetwork = network === undefined ? undefined : this.#networks.get(network);
    const inNetwork = this.#clients.get(client)?.places.size ?? 0;
    const own = network === undefined ? inNetwork : (ownNetwork?.places.size ?? 0);
    let largest: Holder<Place> | undefined;
    for (const holder of this.#large) {
      if (holder === ownNetwork) continue;
      const isNeighbour = ownNetwork !== undefined && holder.network === ownNetwork;
      // It keeps as many as the other has then.
      if (holder.places.size <= (isNeighbour ? inNetwork : own) + 1) continue;
      if (holder.places.size > (largest?.places.size ?? 0)) largest = holder;
    }
    return largest?.places.values().next().value;
  }

  #holderOf(client: string): Holder<Place> {
    const existing = this.#clients.get(client);
    if (existing !== undefined) return existing;
    const network = networkOf(client);
    const holder = {
      key: client,
      places: new Set<Place>(),
      network: network === undefined ? undefined : this.#networkOf(network),
      isLarge: false,
    };
    this.#clients.set(client, holder);
    return holder;
  }

  #networkOf(network: string): Holder<Place> {
    const existing = this.#networks.get(network);
    if (existing !== undefined) return existing;
    const holder = { key: network, places: new Set<Place>(), network: undefined, isLarge: false };
    this.#networks.set(network, holder);
    return holder;
  }

  #change(holder: Holder<Place>, place: Place, isTaken: boolean): void {
    const { places } = holder;
    if (isTaken) places.add(place);
    else places.delete(place);
    const isLarge = places.size > this.#share;
    if (isLarge === holder.isLarge) return;
    holder.isLarge = isLarge;
    if (isLarge) this.#large.add(holder);
    else this.#large.delete(holder);
  }
}

/** The /64 of an IPv6 address in its shortest spelling; undefined for IPv4, also mapped. */
function networkOf(address: string): string | undefined {
  if (address.includes('.') || !address.includes(':')) return undefined;
  const [head = '', tail] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const last = tail === '' ? [] : tail.split(':');
    while (groups.length + last.length < IPV6_GROUPS) groups.push('0');
    groups.push(...last);
  }
  return groups.slice(0, NETWORK_GROUPS).join(':');
}
