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

/** After this time a server that was found is probed again: who sees a probe can repeat it, and that is no loop. */
const RETRY_MS = 30_000;

interface Probe {
  readonly server: ServerAddress;
  readonly zone: string;
  readonly endsAtMs: number;
}

/**
 * Finds servers that forward our queries back to us: each gets a question for a random name, and a server
 * whose question arrives here is not used for 30 s, then probed again (dnsmasq src/loop.c, which does not).
 */
export class LoopDetector {
  readonly #log: Pick<Log, 'warn'>;
  #onLoop: (() => void) | undefined;
  readonly #now: () => number;
  /** The probes of the last seconds, oldest first, by their names. */
  readonly #probes = new Map<string, Probe>();
  /** When each server is probed again. */
  readonly #looping = new Map<string, NodeJS.Timeout>();
  readonly #logged = new Set<string>();
  readonly #retryMs: number;
  readonly #exchanges = new Set<Exchange>();

  /** `now` is in milliseconds that never fall. */
  constructor(log: Pick<Log, 'warn'>, now = () => performance.now(), retryMs = RETRY_MS) {
    this.#retryMs = retryMs;
    this.#now = now;
    this.#log = log;
  }

  /** Calls for each server that is found from now on, and when it is used again. */
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
    for (const timer of this.#looping.values()) clearTimeout(timer);
    this.#looping.clear();
    this.#logged.clear();
  }

  /** Sends a probe to each server, for a name of this zone. */
  probe(servers: readonly ServerAddress[], zone = ZONE): void {
    for (const server of servers) {
      const name = `${randomBytes(LABEL_BYTES / 2).toString('hex')}.${zone}`;
      this.#probes.set(name, { server, zone, endsAtMs: this.#now() + PROBE_MS });
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
    if (!this.isLooping(probe.server)) this.#disable(probe);
    return true;
  }

  #disable({ server, zone }: Probe): void {
    const text = serverText(server);
    const useAgain = () => {
      this.#looping.delete(text);
      this.#onLoop?.();
      this.probe([server], zone);
    };
    this.#looping.set(text, setTimeout(useAgain, this.#retryMs).unref());
    if (!this.#logged.has(text)) {
      this.#log.warn(`NOT using nameserver ${text} - query loop detected`);
    }
    this.#logged.add(text);
    this.#onLoop?.();
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
