import { readFileSync } from 'node:fs';

export interface NeighboursOptions {
  /** The file of the neighbour table; Linux's unless given. */
  readonly path?: string;
  /** A monotonic clock in milliseconds; the process's unless given. */
  readonly now?: () => number;
}

const ARP_TABLE = '/proc/net/arp';
/** How long one read of the neighbour table is trusted; a new client has no MAC until then. */
const FRESH_MS = 1_000;
const ETHERNET = '0x1';
const COMPLETE_FLAG = 0x2;

/**
 * The MACs of the machines in the same network, by IPv4 address. The system's table is read on demand, at
 * most once a second; without a table no client has a MAC.
 */
export class Neighbours {
  readonly #path: string;
  readonly #now: () => number;
  #macs: ReadonlyMap<string, Uint8Array> = new Map();
  #staleAtMs = Number.NEGATIVE_INFINITY;

  constructor({ path = ARP_TABLE, now = () => performance.now() }: NeighboursOptions = {}) {
    this.#path = path;
    this.#now = now;
  }

  /** The six bytes of the MAC of an address in wire form; undefined for every IPv6 address. */
  macOf(address: Uint8Array): Uint8Array | undefined {
    if (address.length !== 4) return undefined;
    const nowMs = this.#now();
    if (nowMs >= this.#staleAtMs) {
      this.#macs = readTable(this.#path);
      this.#staleAtMs = nowMs + FRESH_MS;
    }
    return this.#macs.get(address.join('.'));
  }
}

/** Lines of `address type flags MAC mask device` after a heading (proc_net(5)). */
function readTable(path: string): ReadonlyMap<string, Uint8Array> {
  const macs = new Map<string, Uint8Array>();
  let text: string;
  try {
    text = readFileSync(path, 'latin1');
  } catch {
    return macs; // no such table on this system
  }
  for (const line of text.split('\n')) {
    const [address = '', type, flags, mac = ''] = line.split(/\s+/);
    const isComplete = type === ETHERNET && (Number(flags) & COMPLETE_FLAG) !== 0;
    if (!isComplete || !/^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/i.test(mac)) continue;
    macs.set(
      address,
      Uint8Array.from(mac.split(':'), (byte) => parseInt(byte, 16)),
    );
  }
  return macs;
}
