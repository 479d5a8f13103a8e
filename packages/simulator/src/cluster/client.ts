import type * as dgram from 'node:dgram';
import type * as net from 'node:net';
import {
  decodeMessage,
  encodeQuery,
  Frames,
  frameMessage,
  type Message,
  questionEnd,
} from '@kube-dns/testkit';
import { SimulatedProcess } from '../machine/process.js';
import type { Machine } from '../machine/machine.js';

export interface AskedName {
  readonly name: string;
  readonly type: string;
  /** What fits into an answer over UDP (EDNS); default: 512, without EDNS. */
  readonly ednsBytes?: number | undefined;
  /** Not over UDP at all. */
  readonly overTcp?: boolean;
  /** It wants signatures, which no server here has (RFC 4035 section 3.2.1). */
  readonly isDnssecOk?: boolean;
}

export interface AskedServer {
  readonly address: string;
  readonly port: number;
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
  /** Answers over UDP that are longer than the client said. */
  readonly tooLong: number;
}

/** As glibc's resolver: 5 s for an answer. */
const LIMIT_MS = 5_000;
const IDS = 0x1_0000;
const HEADER_BYTES = 12;
/** An answer over UDP without EDNS, or with less (RFC 6891 section 6.2.3). */
const PLAIN_BYTES = 512;

/** A client on a machine, with a socket for each question, as a resolver has. */
export class Client {
  readonly machine: Machine;
  #ask:
    ((server: AskedServer, question: AskedName, done: (reply: Reply) => void) => void) | undefined;

  constructor(machine: Machine) {
    this.machine = machine;
    new SimulatedProcess(machine, {
      name: 'client',
      program: (load) => this.#run(load),
    }).start();
  }

  ask(server: AskedServer, question: AskedName, done: (reply: Reply) => void): void {
    this.#ask!(server, question, done);
  }

  #run(load: (module: string) => unknown): void {
    const { createSocket } = load('dgram') as typeof dgram;
    const { connect } = load('net') as typeof net;
    const { setTimeout } = load('timers') as typeof globalThis;
    const { scheduler, random } = this.machine;
    this.#ask = (
      { address, port },
      { name, type, ednsBytes, overTcp, isDnssecOk = false },
      done,
    ) => {
      const id = random.below(IDS);
      const asked = mixedCase(name, random.uint32());
      const query = encodeQuery({
        type,
        name: asked,
        id,
        ...(ednsBytes && { ednsBytes, isDnssecOk }),
      });
      const question = query.subarray(HEADER_BYTES, questionEnd(query));
      const askedUs = scheduler.nowUs;
      const counts = { extra: 0, foreign: 0, tooLong: 0 };
      let answered: { message: Message; answeredUs: number } | undefined;
      const onAnswer = (bytes: Buffer) => {
        // The question's bytes are those that were sent, in their own case.
        const isQuestion = bytes
          .subarray(HEADER_BYTES, HEADER_BYTES + question.length)
          .equals(question);
        if (bytes.readUInt16BE(0) !== id || !isQuestion) counts.foreign++;
        else if (answered !== undefined) counts.extra++;
        else answered = { message: decodeMessage(bytes), answeredUs: scheduler.nowUs };
      };
      const closers: (() => unknown)[] = [];
      const askOverTcp = () => {
        const socket = connect({ host: address, port });
        const frames = new Frames();
        socket.on('data', (bytes: Buffer) => frames.push(bytes).forEach(onAnswer));
        socket.on('error', () => undefined);
        socket.write(frameMessage(query));
        closers.push(() => socket.destroy());
      };
      const askOverUdp = () => {
        const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
        socket.on('message', (bytes) => {
          if (bytes.length > Math.max(ednsBytes ?? 0, PLAIN_BYTES)) counts.tooLong++;
          const hadAnswer = answered !== undefined;
          onAnswer(bytes);
          if (hadAnswer || answered?.message.isTruncated !== true) return;
          // As a resolver does; a second answer over UDP is one too many.
          if (closers.length === 1) askOverTcp();
          else counts.extra++;
          answered = undefined;
        });
        socket.on('error', () => undefined);
        // Connected, as glibc's: what another server sends late to this port is not for it.
        socket.connect(port, address, () => socket.send(query));
        closers.push(() => socket.close());
      };
      if (overTcp === true) askOverTcp();
      else askOverUdp();
      setTimeout(() => {
        for (const close of closers) close();
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
