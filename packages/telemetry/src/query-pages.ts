import type { LocalAnswer, LocalPage } from '@kube-dns/daemon';
import { encodeKey, isInZone } from '@kube-dns/wire';
import { AnswerFacts, JsonLines, LineWriter } from './lines.js';
import type { ObservedAnswer, QuerySink } from './observed-answer.js';
import { LineRing, MAX_LINE_BYTES } from './query-log.js';
import type { Telemetry } from './telemetry.js';

/** Readers of the query log over HTTP at the same time. */
const MAX_READERS = 4;
/** The lines that wait for one of them; those beyond are dropped, and counted. */
const READER_BYTES = 512 * 1024;
/** A reader that has not come back for so long is gone. */
const GONE_MS = 5_000;
/** How long a request waits for the first line. */
const WAIT_MS = 500;
const READER = /^[0-9a-f]{16}$/;

/**
 * By their paths: `/top`, who asks most and for what, and `/querylog?reader=ID[&name=NAME]`, the answers since the last request
 * of this reader, as JSON: `{ dropped, lines }`. A reader chooses its ID, 16 hexadecimal digits, and begins with its first
 * request; it gets all answers, whatever `--query-log` says, or those for a name and names below it. `{ error }` has status
 * 400 or 429.
 */
export function queryPages(telemetry: Telemetry): ReadonlyMap<string, LocalPage> {
  const readers = new LogReaders(telemetry);
  return new Map<string, LocalPage>([
    ['/top', () => topLists(telemetry)],
    ['/querylog', (parameters) => readers.read(parameters)],
  ]);
}

function topLists({ top }: Telemetry): LocalAnswer {
  const {
    'Top clients': clients,
    'Top names': names,
    'Top NXDOMAIN names': nxdomainNames,
  } = top.sections();
  return { status: 200, body: `${JSON.stringify({ clients, names, nxdomainNames })}\n` };
}

function refusal(status: number, error: string): LocalAnswer {
  return { status, body: `${JSON.stringify({ error })}\n` };
}

/** Those that read the query log over HTTP. Without any, an answer costs nothing. */
class LogReaders {
  readonly #telemetry: Telemetry;
  readonly #readers = new Map<string, LogReader>();

  constructor(telemetry: Telemetry) {
    this.#telemetry = telemetry;
  }

  async read(parameters: URLSearchParams): Promise<LocalAnswer> {
    const id = parameters.get('reader') ?? '';
    if (!READER.test(id)) return refusal(400, 'reader= must be 16 hexadecimal digits');
    const known = this.#readers.get(id);
    if (known !== undefined) return { status: 200, body: await known.take() };
    const name = parameters.get('name');
    const zone = name === null ? undefined : keyOf(name);
    if (zone === null) return refusal(400, 'name= must be a domain name');
    if (this.#readers.size >= MAX_READERS) {
      return refusal(429, `${MAX_READERS} readers have the query log already`);
    }
    const reader = new LogReader(zone, () => {
      this.#readers.delete(id);
      this.#telemetry.remove(reader);
    });
    this.#readers.set(id, reader);
    this.#telemetry.add(reader);
    return { status: 200, body: await reader.take() };
  }
}

/** Null for what is no name. */
function keyOf(name: string): Uint8Array | null {
  try {
    return encodeKey(name);
  } catch {
    return null;
  }
}

/** One of them: its lines wait until its next request. */
class LogReader implements QuerySink {
  readonly #zone: Uint8Array | undefined;
  readonly #ring = new LineRing(READER_BYTES);
  readonly #line = new LineWriter();
  readonly #json = new JsonLines();
  readonly #facts = new AnswerFacts();
  readonly #gone: NodeJS.Timeout;
  #dropped = 0;
  #onLine: (() => void) | undefined;

  /** `zone`: a name in wire form and lower case; all names without one. `onGone`: it has not come back. */
  constructor(zone: Uint8Array | undefined, onGone: () => void) {
    this.#zone = zone;
    this.#gone = setTimeout(onGone, GONE_MS).unref();
  }

  answered(answer: ObservedAnswer): void {
    const { query, message, length } = answer;
    if (this.#zone !== undefined && !isInZone(query.name, query.nameLength, this.#zone)) return;
    const at = this.#ring.reserve(MAX_LINE_BYTES);
    if (at < 0) {
      this.#dropped++;
      return;
    }
    this.#line.start(this.#ring.bytes, at);
    if (length > 0) this.#facts.read(message, length);
    else this.#facts.errorCount = 0;
    this.#json.put(this.#line, answer, this.#facts, Date.now());
    this.#ring.commit(this.#line.at);
    this.#onLine?.();
  }

  /** The lines that wait; the first of them is waited for. */
  async take(): Promise<string> {
    this.#gone.refresh();
    if (this.#ring.waitingBytes === 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, WAIT_MS);
        this.#onLine = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#onLine = undefined;
    }
    let text = '';
    while (this.#ring.waitingBytes > 0) {
      const { start, pieceBytes, bytes } = this.#ring;
      text += Buffer.from(bytes.buffer, start, pieceBytes).toString('latin1');
      this.#ring.release(pieceBytes);
    }
    const dropped = this.#dropped;
    this.#dropped = 0;
    return `{"dropped":${dropped},"lines":[${text.trimEnd().replaceAll('\n', ',')}]}\n`;
  }
}
