import { errorText, MAX_TIMER_MS } from '@kube-dns/base';
import { BucketHistogram, type Log } from '@kube-dns/daemon';
import { type DecodedMessage, encodeQuery } from '@kube-dns/wire';
import { parseServer, QueryError, type Server } from './ask.js';
import { type Pacing, startLoop } from './pacing.js';

interface ProbeOptions {
  readonly spec: ProbeSpec;
  readonly ask: (signal: AbortSignal) => Promise<DecodedMessage>;
  readonly pacing: Pacing;
  readonly log: Log;
}

/** 0.25 ms, doubled fifteen times: contract of `…_latency_ms`. */
const LATENCY_BOUNDS_MS = Array.from({ length: 16 }, (_, power) => 0.25 * 2 ** power);
/** A result older than this many intervals is stale: it does not show the current health. */
const STALE_INTERVALS = 3;
const NANOSECONDS_PER_MS = 1e6;

/** The result of one query; `error` is empty when it succeeded. */
interface Result {
  readonly at: number;
  readonly latencyMs: number;
  readonly error: string;
}

/**
 * Asks one question at each interval and stores the last result: any reply with at least one answer
 * record is a success, whatever its rcode. After kubernetes/dns pkg/sidecar/dnsprobe.go.
 */
export class Probe {
  readonly spec: ProbeSpec;
  /** Latencies of the successful probes, in milliseconds. */
  readonly latencyMs = new BucketHistogram(LATENCY_BOUNDS_MS);
  /** How many probes failed. */
  errors = 0;
  readonly #options: ProbeOptions;
  readonly #closing = new AbortController();
  #last: Result | null = null;

  constructor(options: ProbeOptions) {
    this.spec = options.spec;
    this.#options = options;
  }

  /** Starts after a random part of the interval, so that several probes do not ask at the same time. */
  start(): void {
    const { log } = this.#options;
    startLoop(`probe ${this.spec.label}`, () => this.#run(), this.#closing.signal, log);
  }

  /** Ends the loop and the query in flight; may be called twice. */
  close(): void {
    this.#closing.abort();
  }

  /** Milliseconds since the last result; null before the first. */
  ageMs(): number | null {
    return this.#last === null ? null : this.#options.pacing.now() - this.#last.at;
  }

  /** The last result, or why there is none or only a stale one. */
  health(): Health {
    const last = this.#last;
    if (last === null) return unhealthy('waiting for first probe');
    const ageMs = this.ageMs() ?? 0;
    if (ageMs > STALE_INTERVALS * this.spec.intervalMs) {
      return unhealthy(`last probe was ${Math.floor(ageMs / 1_000)} s ago`);
    }
    if (last.error !== '') return unhealthy(last.error);
    const nanoseconds = Math.round(last.latencyMs * NANOSECONDS_PER_MS);
    return { isOk: true, latencySeconds: nanoseconds / 1e9, error: '' };
  }

  async #run(): Promise<void> {
    const { pacing } = this.#options;
    const { intervalMs } = this.spec;
    const { signal } = this.#closing;
    await pacing.pause(pacing.random() * intervalMs, signal);
    while (!signal.aborted) {
      const before = pacing.now();
      await this.#probeOnce(before);
      await pacing.pause(Math.max(0, intervalMs - (pacing.now() - before)), signal);
    }
  }

  async #probeOnce(before: number): Promise<void> {
    const { pacing, ask } = this.#options;
    const { signal } = this.#closing;
    let error = '';
    try {
      const reply = await ask(signal);
      if (reply.answers.length === 0) {
        throw new QueryError(`no RRs for domain ${JSON.stringify(this.spec.name)}`);
      }
    } catch (cause) {
      error = errorText(cause);
    }
    if (signal.aborted) return;
    const at = pacing.now();
    const latencyMs = at - before;
    if (error === '') this.latencyMs.observe(latencyMs);
    else this.errors++;
    this.#logResult(error);
    this.#last = { at, latencyMs, error };
  }

  /** Logs once that a probe begins to fail or to succeed; further failures only with `-v=3`. */
  #logResult(error: string): void {
    const { log, spec } = this.#options;
    const wasOk = this.#last === null ? null : this.#last.error === '';
    if (error === '') {
      if (wasOk !== true) log.info(`probe ${spec.label}: ok`);
    } else if (wasOk !== false) {
      log.warn(`probe ${spec.label}: failing: ${error}`);
    } else if (log.isEnabled(3)) {
      log.verbose(3, `probe ${spec.label}: still failing: ${error}`);
    }
  }
}

function unhealthy(error: string): Health {
  return { isOk: false, latencySeconds: 0, error };
}

/** The content of `/healthcheck/<label>`. */
export interface Health {
  readonly isOk: boolean;
  readonly latencySeconds: number;
  /** The reason when it is not ok, otherwise empty. */
  readonly error: string;
}

/** The body of `/healthcheck/<label>`, in the keys, order and escapes of Go's encoding/json. */
export function healthJson({ isOk, latencySeconds, error }: Health): string {
  return JSON.stringify({ IsOk: isOk, LatencySeconds: latencySeconds, Err: error }).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** One `--probe`: the question, its server, the interval, and the label of the result. */
export interface ProbeSpec {
  /** Part of the URL path and of the metric names. */
  readonly label: string;
  readonly server: Server;
  /** With a final dot. */
  readonly name: string;
  readonly intervalMs: number;
  readonly type: ProbeType;
}

const PROBE_TYPES = ['A', 'AAAA', 'ANY', 'SRV'] as const;
type ProbeType = (typeof PROBE_TYPES)[number];

/** How a probe is written. */
export const PROBE_FORMAT = '<label>,<server>,<name>[,<interval>[,<type>]]';
const DEFAULT_INTERVAL_SECONDS = '5';
const DEFAULT_TYPE = 'ANY';
const LABEL = /^[a-zA-Z0-9_]+$/;
const MAX_INTERVAL_SECONDS = Math.floor(MAX_TIMER_MS / 1_000);

/**
 * Parses `<label>,<server>,<name>[,<interval seconds>[,<type>]]`; throws with what is wanted. The checks of
 * the original are first, in its order (kubernetes/dns pkg/sidecar/options.go, probeOptions.Set); then follow
 * those that it makes at every probe, or not at all and panics.
 */
export function parseProbeSpec(text: string): ProbeSpec {
  const fields = text.split(',');
  if (fields.length < 3 || fields.length > 5) throw new Error(`must be ${PROBE_FORMAT}`);
  const [label = '', server = '', bareName = ''] = fields;
  if (!LABEL.test(label)) throw new Error('the label must be letters, digits and _');
  const seconds = parseSeconds(fields[3] ?? DEFAULT_INTERVAL_SECONDS);
  const type = parseType(fields[4] ?? DEFAULT_TYPE);
  const name = bareName.endsWith('.') ? bareName : `${bareName}.`;
  encodeQuery({ id: 0, name, type }); // throws for a name that no query can hold
  return { label, server: parseServer(server), name, intervalMs: seconds * 1_000, type };
}

/** As Go's strconv.Atoi: decimal, a sign allowed. */
function parseSeconds(text: string): number {
  const seconds = /^[+-]?\d+$/.test(text) ? Number(text) : 0;
  if (seconds >= 1 && seconds <= MAX_INTERVAL_SECONDS) return seconds;
  throw new Error(`the interval must be whole seconds from 1 to ${MAX_INTERVAL_SECONDS}`);
}

function parseType(text: string): ProbeType {
  const type = PROBE_TYPES.find((each) => each === text);
  if (type === undefined) throw new Error(`the type must be one of ${PROBE_TYPES.join(', ')}`);
  return type;
}
