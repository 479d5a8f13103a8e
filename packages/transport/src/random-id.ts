import { readFileSync } from 'node:fs';
import { fillRandom } from '@kube-dns/wire';

const pool = new Uint16Array(1024);
const bytes = new Uint8Array(pool.buffer);
let next = pool.length;

/** A message ID that cannot be guessed (RFC 5452 section 9.2); random bytes are fetched in bulk. */
export function randomId(): number {
  if (next === pool.length) {
    fillRandom(bytes);
    next = 0;
  }
  return pool[next++]!;
}

/** A number from 0 to less than `size`, each as likely as another; `size` is from 1 to 65536. */
export function randomBelow(size: number): number {
  const fair = 0x1_0000 - (0x1_0000 % size);
  for (;;) {
    const number = randomId();
    if (number < fair) return number % size;
  }
}

/** The source ports of queries. */
export interface SourcePorts {
  /** One port for all queries (0: the system chooses it), instead of changing ports. */
  readonly fixed?: number;
  /** Ports are drawn at random from this range; without it from all that need no privilege. */
  readonly min?: number;
  readonly max?: number;
  /** Ports that are never drawn. */
  readonly avoided?: ReadonlySet<number>;
}

/** dnsmasq's own bounds (src/option.c). */
const LOWEST_PORT = 1024;
const HIGHEST_PORT = 65_535;
/** This many ports are drawn, each alone; then ports in a row are tried, so that a small range is searched. */
const DRAWS = 8;
const MAX_IN_A_ROW = 64;
const RESERVED_PORTS = '/proc/sys/net/ipv4/ip_local_reserved_ports';

/** The ports to try for one more socket, in order; the first that is free is to be used. */
export function* portsToTry(ports: SourcePorts): Generator<number> {
  const { fixed, min = LOWEST_PORT, max = HIGHEST_PORT, avoided } = ports;
  if (fixed !== undefined) {
    yield fixed;
    return;
  }
  const lowest = Math.min(min, max);
  const size = max - lowest + 1;
  for (let i = 0; i < DRAWS; i++) {
    const port = lowest + randomBelow(size);
    if (avoided?.has(port) !== true) yield port;
  }
  const start = randomBelow(size);
  for (let i = 0; i < Math.min(size, MAX_IN_A_ROW); i++) {
    const port = lowest + ((start + i) % size);
    if (avoided?.has(port) !== true) yield port;
  }
}

/** The ports that this machine keeps for its programs (`net.ipv4.ip_local_reserved_ports`). */
export function reservedPorts(): Set<number> {
  try {
    return parsePortRanges(readFileSync(RESERVED_PORTS, 'latin1'));
  } catch {
    // no Linux
    return new Set();
  }
}

/** The ports of a list such as `8080,30000-32767`. */
export function parsePortRanges(text: string): Set<number> {
  const ports = new Set<number>();
  for (const range of text.trim().split(',')) {
    const [first = '', last = first] = range.split('-');
    if (first === '') continue;
    for (let port = Number(first); port <= Number(last); port++) ports.add(port);
  }
  return ports;
}
