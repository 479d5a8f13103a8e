import { MeasureError, monotonicMs } from '@kube-dns/testkit';
import { chooseUdpEngine, FrameReader, type UdpEngine } from '@kube-dns/transport';
import { HEADER_BYTES, writeUint16 } from '@kube-dns/wire';

/** Clients that ask more than can be answered. */
export interface FloodPlan {
  /** Of 127.0.0.1. */
  readonly port: number;
  /** Questions a second, of all clients together; without it a question is asked for each answer: so many as can be answered. */
  readonly rate?: number;
  /** Their addresses, of 127.0.0.0/8. */
  readonly addresses: readonly string[];
  /** As `encodeQuestionFile` has them; asked in turn. */
  readonly questions: Uint8Array;
  /** The first label of each question is another one each time, of eight letters as the first one is. */
  readonly isRandom: boolean;
}

/** What came of it. */
export interface FloodResult {
  readonly seconds: number;
  readonly sent: number;
  readonly answered: number;
}

/** The methods of a flood in its own process. */
export interface FloodMethods {
  /** Asks from now on. */
  start(plan: FloodPlan): Promise<void>;
  stop(): Promise<FloodResult>;
}

type Port = NonNullable<ReturnType<UdpEngine['openUpstreamPort']>>;

/** With fewer, questions of one socket would leave as one message, and cost the server less than those of a network. */
const LEAST_SOCKETS = 256;
/** Sent before answers are received. */
const TOGETHER = 256;
const MAX_LATE_MS = 5;
/** Without a rate: fewer than find room in a socket. */
const OUTSTANDING = 256;
/** Without an answer for so long, what is outstanding is lost. */
const LOST_MS = 1_000;
const LABEL_AT = HEADER_BYTES + 1;
const LABEL_BYTES = 8;
const LETTER_A = 0x61;

/** Asks at a rate, whatever is answered, or as much as can be answered. */
export class Flood implements FloodMethods {
  #engine: UdpEngine | undefined;
  #plan: FloodPlan | undefined;
  #ports: readonly Port[] = [];
  #queries: readonly Buffer[] = [];
  #startMs = 0;
  #sent = 0;
  #leftOut = 0;
  #answered = 0;
  #answeredMs = 0;
  #lost = 0;
  #isRunning = false;

  async start(plan: FloodPlan): Promise<void> {
    const { engine } = await chooseUdpEngine('auto');
    this.#engine = engine;
    this.#plan = plan;
    this.#queries = queriesOf(plan.questions);
    this.#ports = this.#openPorts(engine, plan);
    this.#sent = this.#leftOut = this.#answered = this.#lost = 0;
    this.#startMs = this.#answeredMs = monotonicMs();
    this.#isRunning = true;
    setImmediate(this.#step);
  }

  stop(): Promise<FloodResult> {
    this.#isRunning = false;
    const seconds = (monotonicMs() - this.#startMs) / 1_000;
    this.close();
    return Promise.resolve({ seconds, sent: this.#sent, answered: this.#answered });
  }

  close(): void {
    this.#isRunning = false;
    for (const port of this.#ports) port.close();
    this.#ports = [];
  }

  #openPorts(engine: UdpEngine, { port, addresses }: FloodPlan): readonly Port[] {
    const server = { address: '127.0.0.1', port };
    const count = Math.max(LEAST_SOCKETS, addresses.length);
    return Array.from({ length: count }, (_, i) => {
      const sourceAddress = addresses[i % addresses.length];
      const opened = engine.openUpstreamPort(
        { port: 0, sourceAddress, server, isIpv6: false },
        { onDatagram: this.#onAnswer, onUnreachable: () => undefined },
      );
      if (opened === undefined) throw new MeasureError(`no socket for ${sourceAddress ?? ''}`);
      return opened;
    });
  }

  readonly #onAnswer = (): void => {
    this.#answered++;
    this.#answeredMs = monotonicMs();
  };

  readonly #step = (): void => {
    if (!this.#isRunning) return;
    this.#engine!.sendTogether(this.#sendDue);
    setImmediate(this.#step);
  };

  #due(rate: number | undefined): number {
    const nowMs = monotonicMs();
    if (rate === undefined) {
      if (nowMs - this.#answeredMs > LOST_MS) {
        this.#lost = this.#sent - this.#answered;
        this.#answeredMs = nowMs;
      }
      return this.#answered + this.#lost + OUTSTANDING;
    }
    const due = Math.floor(((nowMs - this.#startMs) * rate) / 1_000) - this.#leftOut;
    // What this process could not send in time is left out: else it would come as a burst.
    const late = due - this.#sent - (rate * MAX_LATE_MS) / 1_000;
    if (late > 0) this.#leftOut += Math.floor(late);
    return due;
  }

  readonly #sendDue = (): void => {
    const { rate, port, isRandom } = this.#plan!;
    const server = { address: '127.0.0.1', port };
    const due = this.#due(rate);
    const end = Math.min(due, this.#sent + TOGETHER);
    for (; this.#sent < end; this.#sent++) {
      const query = this.#queries[this.#sent % this.#queries.length]!;
      writeUint16(query, 0, this.#sent & 0xffff);
      if (isRandom) writeLabel(query, this.#sent);
      this.#ports[this.#sent % this.#ports.length]!.send(query, server);
    }
  };
}

function queriesOf(file: Uint8Array): readonly Buffer[] {
  const reader = new FrameReader();
  reader.push(Buffer.from(file));
  const queries: Buffer[] = [];
  for (let query = reader.next(); query !== undefined; query = reader.next()) {
    queries.push(Buffer.from(query));
  }
  return queries;
}

function writeLabel(query: Buffer, serial: number): void {
  for (let i = 0; i < LABEL_BYTES; i++) {
    query[LABEL_AT + i] = LETTER_A + ((serial >>> (4 * i)) & 0xf);
  }
}
