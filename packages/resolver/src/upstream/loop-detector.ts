import type { Log } from '@kube-dns/daemon';
import {
  type Exchange,
  exchange,
  randomId,
  type ServerAddress,
  serverText,
} from '@kube-dns/transport';
import {
  buildQuery,
  decodeName,
  encodeKey,
  type Query,
  randomBytes,
  TYPE,
  writeUint16,
} from '@kube-dns/wire';

/** The probe's name is `XXXXXXXX.test` with hexadecimal digits, as dnsmasq's is, unless it is of another zone. */
const ZONE = 'test';
const LABEL_BYTES = 8;
/** How long a probe's socket stays open, and its name is known; a slower loop is not found. */
const PROBE_MS = 5_000;

interface Probe {
  readonly server: ServerAddress;
  readonly endsAtMs: number;
}

/**
 * Finds servers that forward our queries back to us: each gets a question for a random name, and a server
 * whose question arrives here is no longer used (dnsmasq src/loop.c).
 */
export class LoopDetector {
  readonly #log: Pick<Log, 'warn'>;
  #onLoop: (() => void) | undefined;
  readonly #now: () => number;
  /** The probes of the last seconds, oldest first, by their names. */
  readonly #probes = new Map<string, Probe>();
  readonly #looping = new Set<string>();
  readonly #exchanges = new Set<Exchange>();

  /** `now` is in milliseconds that never fall. */
  constructor(log: Pick<Log, 'warn'>, now = () => performance.now()) {
    this.#now = now;
    this.#log = log;
  }

  /** Calls for each server that is found from now on. */
  listen(onLoop: () => void): void {
    this.#onLoop = onLoop;
  }

  isLooping(server: ServerAddress): boolean {
    return this.#looping.has(serverText(server));
  }

  /** Forgets the loops found, and cancels the probes in flight. */
  reset(): void {
    for (const probe of this.#exchanges) probe.cancel();
    this.#exchanges.clear();
    this.#probes.clear();
    this.#looping.clear();
  }

  /** Sends a probe to each server, for a name of this zone. */
  probe(servers: readonly ServerAddress[], zone = ZONE): void {
    for (const server of servers) {
      const name = `${randomBytes(LABEL_BYTES / 2).toString('hex')}.${zone}`;
      this.#probes.set(name, { server, endsAtMs: this.#now() + PROBE_MS });
      const query = buildQuery(encodeKey(name), TYPE.TXT);
      writeUint16(query, 0, randomId());
      const request = { query, server, protocol: 'udp', timeoutMs: PROBE_MS } as const;
      // A reply, or none, does not matter: a loop shows when the question itself arrives here.
      const probe = exchange(request, () => this.#exchanges.delete(probe));
      this.#exchanges.add(probe);
    }
  }

  /** Whether a query is one of the probes, which must not be answered. */
  isOwnProbe(query: Query): boolean {
    this.#forgetOld();
    if (this.#probes.size === 0 || query.type !== TYPE.TXT) return false;
    if (query.name[0] !== LABEL_BYTES) return false;
    const probe = this.#probes.get(decodeName(query.name));
    if (probe === undefined) return false;
    const { server } = probe;
    if (!this.isLooping(server)) {
      this.#looping.add(serverText(server));
      this.#log.warn(`NOT using nameserver ${serverText(server)} - query loop detected`);
      this.#onLoop?.();
    }
    return true;
  }

  #forgetOld(): void {
    if (this.#probes.size === 0) return;
    const nowMs = this.#now();
    for (const [name, { endsAtMs }] of this.#probes) {
      if (endsAtMs > nowMs) return;
      this.#probes.delete(name);
    }
  }

  /** Cancels the probes in flight. */
  close(): void {
    this.reset();
  }
}
