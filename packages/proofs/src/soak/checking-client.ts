import { encodeQuery, monotonicMs } from '@kube-dns/testkit';
import { readAnswer } from './answer-text.js';
import { askOverTcp } from './ask-over-tcp.js';
import { type AnswerFigures, AnswerLog } from './answer-log.js';
import { type AcceptanceWindow, Judge } from './judge.js';
import { type Asking, QuestionMix } from './question-mix.js';
import { Schedule, type SchedulePlan } from './schedule.js';
import { ClientSockets, type Waiting } from './client-sockets.js';

/** What resolvers offer since the flag day of 2020. */
const EDNS_BYTES = 1_232;

/** The servers, the load, and how answers are judged. */
export interface CheckingClientOptions {
  readonly plan: SchedulePlan;
  readonly window: AcceptanceWindow;
  readonly queriesPerSecond: number;
  /** Ports on 127.0.0.1; those of one server may be the same. */
  readonly ports: { readonly dnsmasq: number; readonly kubedns: number };
  /** How long a client waits for an answer. */
  readonly timeoutMs: number;
  /** How often it asks again after that. */
  readonly retries: number;
  /** Sockets to each server; each second a new one replaces one of them. */
  readonly sockets: number;
}

/** The methods of a load in its own process. */
export interface CheckingClientMethods {
  start(options: CheckingClientOptions): Promise<void>;
  /** The figures of the questions since the last call. */
  take(): AnswerFigures;
  /** Sends no more queries, waits for those in flight, and returns the figures since the last call. */
  finish(): Promise<AnswerFigures>;
}

const TICK_MS = 2;
const SWEEP_MS = 50;

/** A load of a fixed rate in which every answer is judged. */
export class CheckingClient implements CheckingClientMethods {
  readonly #log = new AnswerLog();
  #options!: CheckingClientOptions;
  #judge!: Judge;
  #sockets!: { readonly dnsmasq: ClientSockets; readonly kubedns: ClientSockets };
  #timers: NodeJS.Timeout[] = [];
  #inFlight = 0;

  async start(options: CheckingClientOptions): Promise<void> {
    const schedule = new Schedule(options.plan);
    const mix = new QuestionMix(schedule);
    this.#options = options;
    this.#judge = new Judge(schedule, options.window);
    const open = (port: number) => {
      const onAnswer = (waiting: Waiting, message: Buffer) => this.#receive(waiting, message);
      const onTimeout = (waiting: Waiting) => this.#giveUp(waiting);
      const { sockets: count, timeoutMs } = options;
      return ClientSockets.open({ port, count, timeoutMs, onAnswer, onTimeout });
    };
    const { dnsmasq, kubedns } = options.ports;
    this.#sockets = { dnsmasq: await open(dnsmasq), kubedns: await open(kubedns) };
    const startMs = monotonicMs();
    let sent = 0;
    let lastMs = startMs;
    this.#timers = [
      setInterval(() => {
        const nowMs = monotonicMs();
        this.#log.ranLate(Math.max(0, nowMs - lastMs - TICK_MS));
        lastMs = nowMs;
        const due = Math.floor(((nowMs - startMs) * options.queriesPerSecond) / 1_000);
        for (; sent < due; sent++) {
          this.#inFlight++;
          this.#log.asked();
          this.#ask(mix.next(nowMs), nowMs, 0);
        }
      }, TICK_MS),
      setInterval(() => {
        // After what has arrived meanwhile, where this process had no core.
        setImmediate(() => this.#sweep());
      }, SWEEP_MS),
    ];
  }

  take(): AnswerFigures {
    return this.#log.take();
  }

  async finish(): Promise<AnswerFigures> {
    clearInterval(this.#timers[0]);
    while (this.#inFlight > 0) await new Promise((resolve) => setTimeout(resolve, SWEEP_MS));
    clearInterval(this.#timers[1]);
    for (const sockets of Object.values(this.#sockets)) sockets.close();
    return this.take();
  }

  #sweep(): void {
    for (const sockets of Object.values(this.#sockets)) sockets.sweep(monotonicMs());
  }

  #ask(asking: Asking, firstSentMs: number, tries: number): void {
    const sentMs = monotonicMs();
    const waiting = { asking, firstSentMs, sentMs, tries };
    const query = encodeQuery({
      ...asking.question,
      ...(asking.hasEdns && { ednsBytes: EDNS_BYTES, hasCookie: true }),
    });
    if (!asking.isOverTcp) {
      this.#sockets[asking.isStraight ? 'kubedns' : 'dnsmasq'].send(query, waiting);
      return;
    }
    const port = this.#options.ports[asking.isStraight ? 'kubedns' : 'dnsmasq'];
    void askOverTcp(port, query, this.#options.timeoutMs).then((message) => {
      if (message === undefined) this.#giveUp(waiting);
      else this.#receive(waiting, message);
    });
  }

  #receive({ asking, sentMs, firstSentMs }: Waiting, message: Buffer): void {
    this.#inFlight--;
    const nowMs = monotonicMs();
    const text = readAnswer(message);
    const { question, isStraight } = asking;
    const right = this.#judge.rightAnswers(question, !isStraight, sentMs, nowMs);
    if (right.includes(text)) {
      this.#log.answered(nowMs - firstSentMs, asking.isOverTcp);
      return;
    }
    const server = isStraight ? 'kubedns' : 'dnsmasq';
    const how = `${question.name} ${question.type} of ${server}${asking.isOverTcp ? ', TCP' : ''}`;
    this.#log.wrong(text, `${how}: ${text}; right is ${right.join(' or ')}`);
  }

  #giveUp({ asking, firstSentMs, tries }: Waiting): void {
    if (tries === 0) this.#log.firstTryLost();
    if (tries < this.#options.retries) {
      this.#ask(asking, firstSentMs, tries + 1);
      return;
    }
    this.#inFlight--;
    this.#log.lost(`${asking.question.name} ${asking.question.type}`);
  }
}
