import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { comesTrue } from '@kube-dns/testkit';
import { decodeMessage, encodeQuery, writeUint16 } from '@kube-dns/wire';

/** What became of one question. */
export interface Seen {
  readonly name: string;
  /** On the clock of `performance.now()` of the client's process. */
  readonly sentMs: number;
  readonly tookMs: number;
  /** The addresses in order with commas, `NODATA`, another rcode's name, or `silence`. */
  readonly text: string;
}

/** What a steady client asks whom. */
export interface SteadyQuestions {
  readonly port: number;
  /** 127.0.0.1 unless given. */
  readonly address?: string;
  /** Asked in turn, all for their A records. */
  readonly names: readonly string[];
  readonly ratePerSecond: number;
  /** How long an answer is waited for; 5 s unless given, as resolvers do. */
  readonly patienceMs?: number;
}

const TICK_MS = 5;
const PATIENCE_MS = 5_000;
const MAX_IDS = 0x1_0000;
const STEP_MS = 10;

interface Waiting {
  readonly name: string;
  readonly sentMs: number;
}

function textOf(message: Buffer): string {
  const { rcode, answers } = decodeMessage(message);
  if (rcode !== 'NOERROR') return rcode;
  const addresses = answers.flatMap((record) => (record.type === 'A' ? [record.data] : []));
  return addresses.length === 0 ? 'NODATA' : addresses.sort().join(',');
}

/** Asks the same few names again and again and writes down what became of each question. */
export class SteadyClient {
  readonly #questions: SteadyQuestions;
  readonly #socket: Socket;
  readonly #seen: Seen[] = [];
  readonly #waiting = new Map<number, Waiting>();
  readonly #startMs = performance.now();
  readonly #timer: NodeJS.Timeout;
  #sent = 0;
  #strays = 0;

  private constructor(questions: SteadyQuestions, socket: Socket) {
    this.#questions = questions;
    this.#socket = socket;
    socket.on('message', (message) => this.#receive(message));
    // "Connection refused" of a server that is away: silence says the same.
    socket.on('error', () => undefined);
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  static async start(questions: SteadyQuestions): Promise<SteadyClient> {
    const socket = createSocket({ type: 'udp4', recvBufferSize: 1024 * 1024 });
    socket.connect(questions.port, questions.address ?? '127.0.0.1');
    await once(socket, 'connect');
    return new SteadyClient(questions, socket);
  }

  /** Everything that was decided so far, in the order in which it was. */
  get seen(): readonly Seen[] {
    return this.#seen;
  }

  /** Messages that were the answer to no question that waits for one. */
  get strays(): number {
    return this.#strays;
  }

  /**
   * Waits until a question about `name` that was sent now or later was answered like this; the moment
   * at which that one was sent, NaN when there was none in time.
   */
  async awaitText(name: string, text: string, limitMs: number): Promise<number> {
    const fromMs = performance.now();
    let sentMs = Number.NaN;
    let next = this.#seen.length;
    const isThere = () => {
      while (next < this.#seen.length && Number.isNaN(sentMs)) {
        const seen = this.#seen[next++]!;
        if (seen.name === name && seen.text === text && seen.sentMs >= fromMs) sentMs = seen.sentMs;
      }
      return !Number.isNaN(sentMs);
    };
    await comesTrue(isThere, { limitMs, stepMs: STEP_MS });
    return sentMs;
  }

  /** Sends no more, and waits until all that is under way is decided. */
  async finish(): Promise<readonly Seen[]> {
    clearInterval(this.#timer);
    const isDecided = () => {
      this.#giveUp();
      return this.#waiting.size === 0;
    };
    await comesTrue(isDecided, { limitMs: this.#patienceMs + STEP_MS, stepMs: STEP_MS });
    await this.close();
    return this.#seen;
  }

  close(): Promise<void> {
    clearInterval(this.#timer);
    this.#socket.removeAllListeners('message');
    try {
      this.#socket.close();
    } catch {
      // It was closed before.
    }
    return Promise.resolve();
  }

  get #patienceMs(): number {
    return this.#questions.patienceMs ?? PATIENCE_MS;
  }

  #tick(): void {
    const { ratePerSecond } = this.#questions;
    const due = Math.floor(((performance.now() - this.#startMs) * ratePerSecond) / 1_000);
    while (this.#sent < due) this.#ask();
    this.#giveUp();
  }

  #ask(): void {
    const { names } = this.#questions;
    const name = names[this.#sent % names.length]!;
    const id = this.#sent++ % MAX_IDS;
    const query = encodeQuery({ id: 0, name, type: 'A' });
    writeUint16(query, 0, id);
    this.#waiting.set(id, { name, sentMs: performance.now() });
    this.#socket.send(query, () => undefined);
  }

  #receive(message: Buffer): void {
    const id = message.length < 2 ? -1 : message.readUInt16BE(0);
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) {
      this.#strays++;
      return;
    }
    this.#waiting.delete(id);
    this.#decide(waiting, textOf(message));
  }

  #giveUp(): void {
    const endMs = performance.now() - this.#patienceMs;
    // Those that were sent first come first.
    for (const [id, waiting] of this.#waiting) {
      if (waiting.sentMs > endMs) break;
      this.#waiting.delete(id);
      this.#decide(waiting, 'silence');
    }
  }

  #decide({ name, sentMs }: Waiting, text: string): void {
    this.#seen.push({ name, sentMs, tookMs: performance.now() - sentMs, text });
  }
}
