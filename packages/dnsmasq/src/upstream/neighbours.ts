import { readFileSync } from 'node:fs';

export interface NeighboursOptions {
  /** The system's table; Linux's own unless a test says otherwise. */
  readonly path?: string;
  /** Milliseconds that never fall; the process's own clock unless said otherwise. */
  readonly now?: () => number;
}

const ARP_TABLE = '/proc/net/arp';
/** So long a table that was read is good for; who is new has no MAC until then. */
const FRESH_MS = 1_000;
const ETHERNET = '0x1';
const IS_COMPLETE = 0x2;

/**
 * The MACs of the machines beside this one, by their IPv4 addresses. The system's table is read when it
 * is asked for and a second old; where there is none nobody has a MAC.
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

  /** The six bytes of the MAC behind an address in wire form; IPv6 addresses have none here. */
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

/** Lines of `address type flags MAC mask device` behind a heading (proc_net(5)). */
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
    const isKnown = type === ETHERNET && (Number(flags) & IS_COMPLETE) !== 0;
    if (!isKnown || !/^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/i.test(mac)) continue;
    macs.set(
      address,
      Uint8Array.from(mac.split(':'), (byte) => parseInt(byte, 16)),
    );
  }
  return macs;
}
