import type * as dgram from 'node:dgram';
import { decodeMessage, encodeQuery, type Message } from '@kube-dns/testkit';
import { SimulatedProcess } from '../machine/process.js';
import type { Machine } from '../machine/machine.js';

export interface AskedName {
  readonly name: string;
  readonly type: string;
}

/** What became of a question: an answer, or nothing until the time was over. */
export interface Reply {
  readonly message: Message | undefined;
  readonly askedUs: number;
  readonly answeredUs: number;
  /** Answers to it beyond the first. */
  readonly extra: number;
  /** What came with another ID or question: late answers to what was asked from the port before, or worse. */
  readonly foreign: number;
}

/** As glibc's resolver: 5 s for an answer. */
const LIMIT_MS = 5_000;
const IDS = 0x1_0000;

/** A client on a machine, with a socket for each question, as a resolver has. */
export class Client {
  readonly machine: Machine;
  #ask: ((server: string, question: AskedName, done: (reply: Reply) => void) => void) | undefined;
  /** Questions without an answer yet. */
  waiting = 0;

  constructor(machine: Machine) {
    this.machine = machine;
    new SimulatedProcess(machine, {
      name: 'client',
      program: (load) => this.#run(load),
    }).start();
  }

  ask(server: string, question: AskedName, done: (reply: Reply) => void): void {
    this.#ask!(server, question, done);
  }

  #run(load: (module: string) => unknown): void {
    const { createSocket } = load('dgram') as typeof dgram;
    const { setTimeout } = load('timers') as typeof globalThis;
    const { scheduler, random } = this.machine;
    this.#ask = (server, question, done) => {
      const id = random.below(IDS);
      const query = encodeQuery({
        ...question,
        name: mixedCase(question.name, random.uint32()),
        id,
      });
      const socket = createSocket('udp4');
      const askedUs = scheduler.nowUs;
      const counts = { extra: 0, foreign: 0 };
      let answered: { message: Message; answeredUs: number } | undefined;
      this.waiting++;
      socket.on('message', (bytes) => {
        // The question's bytes are those that were sent, in their own case.
        const isQuestion = bytes.subarray(12, query.length).equals(query.subarray(12));
        if (bytes.readUInt16BE(0) !== id || !isQuestion) counts.foreign++;
        else if (answered !== undefined) counts.extra++;
        else answered = { message: decodeMessage(bytes), answeredUs: scheduler.nowUs };
      });
      socket.on('error', () => undefined);
      socket.send(query, 53, server);
      setTimeout(() => {
        socket.close();
        this.waiting--;
        const { message, answeredUs = scheduler.nowUs } = answered ?? {};
        done({ message, askedUs, answeredUs, ...counts });
      }, LIMIT_MS);
    };
  }
}

/** The name with some of its letters in upper case. */
function mixedCase(name: string, bits: number): string {
  return Array.from(name)
    .map((letter, at) => ((bits >>> (at % 32)) & 1 ? letter.toUpperCase() : letter))
    .join('');
}
