import { type Closable, encodeQuery, monotonicMs } from '@kube-dns/testkit';
import { readAnswer } from '../soak/answer-text.js';
import { askOverTcp } from '../soak/ask-over-tcp.js';
import { ClientSockets, type Waiting } from '../soak/client-sockets.js';
import type { OracleQuestion } from './questions.js';

/** An answer, and when its question was sent; undefined where there was none in time. */
export interface Told {
  readonly question: OracleQuestion;
  readonly askedMs: number;
  readonly text: string | undefined;
}

export interface OracleClientsOptions {
  readonly port: number;
  readonly perSecond: number;
  readonly next: () => OracleQuestion;
  /** One in this many is sent over TCP, and as many want signatures. */
  readonly isOneIn: (count: number) => boolean;
  readonly onTold: (told: Told) => void;
}

const TICK_MS = 5;
const TIMEOUT_MS = 5_000;
const SOCKETS = 8;
const EDNS_BYTES = 1_232;
const RARE = 50;

/** Clients that ask one question after the other, at a fixed rate. */
export class OracleClients implements Closable {
  readonly #options: OracleClientsOptions;
  readonly #sockets: ClientSockets<OracleQuestion>;
  readonly #timer: NodeJS.Timeout;
  readonly #startMs = monotonicMs();
  asked = 0;

  private constructor(options: OracleClientsOptions, sockets: ClientSockets<OracleQuestion>) {
    this.#options = options;
    this.#sockets = sockets;
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  static async start(options: OracleClientsOptions): Promise<OracleClients> {
    const { port, onTold } = options;
    const tell = ({ asking: question, sentMs: askedMs }: Waiting<OracleQuestion>, text?: string) =>
      onTold({ question, askedMs, text });
    const sockets = await ClientSockets.open<OracleQuestion>({
      port,
      count: SOCKETS,
      timeoutMs: TIMEOUT_MS,
      onAnswer: (waiting, message) => tell(waiting, readAnswer(message)),
      onTimeout: (waiting) => tell(waiting),
    });
    return new OracleClients(options, sockets);
  }

  close(): Promise<void> {
    clearInterval(this.#timer);
    this.#sockets.close();
    return Promise.resolve();
  }

  #tick(): void {
    const nowMs = monotonicMs();
    const due = Math.floor(((nowMs - this.#startMs) * this.#options.perSecond) / 1_000);
    for (; this.asked < due; this.asked++) this.#ask();
    this.#sockets.sweep(nowMs);
  }

  #ask(): void {
    const { port, next, isOneIn, onTold } = this.#options;
    const question = next();
    const askedMs = monotonicMs();
    const isDnssecOk = isOneIn(RARE);
    const query = encodeQuery({ ...question, ednsBytes: EDNS_BYTES, isDnssecOk });
    if (!isOneIn(RARE)) {
      const waiting = { asking: question, firstSentMs: askedMs, sentMs: askedMs, tries: 0 };
      this.#sockets.send(query, waiting);
      return;
    }
    void askOverTcp(port, query, TIMEOUT_MS).then((message) =>
      onTold({ question, askedMs, text: message && readAnswer(message) }),
    );
  }
}
