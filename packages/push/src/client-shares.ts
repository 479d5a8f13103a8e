import { isLoopback, networkOf } from '@kube-dns/transport';

/** What a client has: something with its address as text. */
interface Owned {
  readonly address: string;
}

/**
 * Who has how many of something that is limited, so that the client with most gives one up. Each call costs the same
 * however many there are: a client that is refused all the time must not cost more than one that is accepted. A client is
 * an address, with IPv6 its /64.
 */
export class ClientShares<Item extends Owned> {
  /** What each client has, the oldest first. */
  readonly #items = new Map<string, Set<Item>>();
  /** The clients that have one, two and so on; no set is empty. */
  readonly #clients = new Map<number, Set<string>>();
  #most = 0;

  add(item: Item): void {
    const client = clientOf(item);
    const items = this.#items.get(client) ?? new Set();
    this.#items.set(client, items);
    this.#move(client, items.size, items.size + 1);
    items.add(item);
    this.#most = Math.max(this.#most, items.size);
  }

  delete(item: Item): void {
    const client = clientOf(item);
    const items = this.#items.get(client);
    if (items?.delete(item) !== true) return;
    if (items.size === 0) this.#items.delete(client);
    this.#move(client, items.size + 1, items.size);
    // One less than the most is had by this client, if by no other.
    if (!this.#clients.has(this.#most)) this.#most--;
  }

  /**
   * What is taken from another client for a new one: the oldest of the client that has most, when the new one has fewer or is
   * of this machine or pod. Undefined when that would not be fair.
   */
  takenFor(item: Item): Item | undefined {
    const own = this.#items.get(clientOf(item))?.size ?? 0;
    // Two that have as many would take from each other for ever.
    const isFair = isLoopback(item.address) ? own === 0 || this.#most > own : this.#most > own + 1;
    if (!isFair) return undefined;
    const [client = ''] = this.#clients.get(this.#most) ?? [];
    const [oldest] = this.#items.get(client) ?? [];
    return oldest;
  }

  #move(client: string, from: number, to: number): void {
    const before = this.#clients.get(from);
    before?.delete(client);
    if (before?.size === 0) this.#clients.delete(from);
    if (to === 0) return;
    const after = this.#clients.get(to) ?? new Set();
    this.#clients.set(to, after.add(client));
  }
}

function clientOf({ address }: Owned): string {
  return networkOf(address) ?? address;
}
