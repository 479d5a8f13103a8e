import { BucketHistogram } from '@kube-dns/daemon';
import { type Exchange, exchange, randomId, type ServerAddress } from '@kube-dns/transport';
import {
  AnswerWriter,
  buildQuery,
  encodeKey,
  type Query,
  randomBytes,
  RCODE,
  RCODE_MASK,
  readUint16,
  TYPE,
  writeUint16,
} from '@kube-dns/wire';
import { DURATION_BOUNDS } from '../answer/zones.js';

const ID_BYTES = 8;
const PERIOD_MS = 500;
/** Where other processes share the port, the kernel gives each some of the probes. */
const PROBES_WHEN_SHARED = 4;

/** Asks this process over UDP, as a client does, for a name that only it knows. */
export class SelfProbe {
  /** How long answers took, in seconds, and the probes that had none in time. */
  readonly seconds = new BucketHistogram(DURATION_BOUNDS);
  failures = 0;
  readonly #count: number;
  readonly #name = encodeKey(`${randomBytes(ID_BYTES).toString('hex')}.probe.node-cache`);
  readonly #writer = new AnswerWriter();
  readonly #pending = new Set<Exchange>();
  #server: ServerAddress | undefined;
  #onAnswer: () => void = () => undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(sharesPort: boolean) {
    this.#count = sharesPort ? PROBES_WHEN_SHARED : 1;
  }

  /**
   * Asks now, and then twice a second. `server` is where this process listens, from now on; nothing is asked without.
   * `onAnswer` is called when it has answered.
   */
  start(server: ServerAddress | undefined, onAnswer: () => void): void {
    this.#server = server;
    this.#onAnswer = onAnswer;
    this.#timer ??= setInterval(() => this.#ask(), PERIOD_MS).unref();
    this.#ask();
  }

  /** Whether a query is a probe of this process, which no server and no cache sees. */
  isOwn({ type, name, nameLength }: Query): boolean {
    if (type !== TYPE.TXT || nameLength !== this.#name.length) return false;
    for (let i = 0; i < nameLength; i++) if (name[i] !== this.#name[i]) return false;
    return true;
  }

  answer(query: Query, out: Uint8Array): number {
    this.#writer.begin(query, out);
    return this.#writer.finish();
  }

  close(): void {
    clearInterval(this.#timer);
    for (const each of this.#pending) each.cancel();
    this.#pending.clear();
  }

  #ask(): void {
    const server = this.#server;
    if (server === undefined) return;
    for (let i = 0; i < this.#count; i++) this.#send(server);
  }

  #send(server: ServerAddress): void {
    const query = buildQuery(this.#name, TYPE.TXT);
    writeUint16(query, 0, randomId());
    const startedMs = performance.now();
    const request = { query, server, protocol: 'udp', timeoutMs: PERIOD_MS } as const;
    const pending = exchange(request, (_error, reply) => {
      this.#pending.delete(pending);
      // Another process that shares the port refuses it.
      if (reply !== null && (readUint16(reply, 2) & RCODE_MASK) !== RCODE.NOERROR) return;
      this.seconds.observe((performance.now() - startedMs) / 1_000);
      if (reply === null) this.failures++;
      else this.#onAnswer();
    });
    this.#pending.add(pending);
  }
}
