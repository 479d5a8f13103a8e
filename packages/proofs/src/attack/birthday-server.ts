import type { RemoteInfo, Socket } from 'node:dgram';
import { setPriority } from 'node:os';
import { connectUdp, questionEnd, sendQuietly } from '@kube-dns/testkit';
import { encodeQuery, readUint16, RCODE, TYPE, writeUint16 } from '@kube-dns/wire';
import { boundSocket, forgedReply, isForged } from './messages.js';
import { Pace } from './pace.js';

/** The results of forged replies to one name. */
export interface BirthdayResult {
  readonly forged: number;
  readonly perSecond: number;
  /** Different pairs of ID and port that the server got. */
  readonly pairs: number;
  /** Answers that a client got with what was forged. */
  readonly accepted: number;
}

/** The methods of the process that is silent for one name, and forges replies in its own name. */
export interface BirthdayMethods {
  /** Opens the name server and returns its port. */
  open(): Promise<number>;
  /** Forges so many replies for the name each second, and asks the server at this port for it. */
  start(port: number, name: string, perSecond: number): Promise<void>;
  /** Answers all questions honestly, asks for the name once more, and waits `lastWordMs`. */
  finish(lastWordMs: number): Promise<BirthdayResult>;
}

const HOST = '127.0.0.1';
const NICE = 10;
const IDS = 0x1_0000;
const FIRST_PORT = 1_024;
const PORTS = 0x1_0000 - FIRST_PORT;
const REPLY_FLAGS = 0x8180;
const TYPE_FROM_END = 4;
const ASK_EVERY_MS = 100;

/**
 * A name server that leaves one name unanswered and answers all else, so that it counts as up, while replies for the
 * name are forged to random ports with random IDs: as from outside, what it received does not guide them. Only a right
 * guess is not made.
 */
export class BirthdayServer implements BirthdayMethods {
  #server: Socket | undefined;
  #client: Socket | undefined;
  #pace: Pace | undefined;
  #asking: NodeJS.Timeout | undefined;
  #query: Uint8Array = new Uint8Array();
  #accepted = 0;
  /** All questions for the name, by port and ID. */
  readonly #questions = new Map<number, { readonly query: Buffer; readonly peer: RemoteInfo }>();

  async open(): Promise<number> {
    setPriority(NICE);
    this.#server = await boundSocket(0, HOST);
    this.#server.on('message', (query, peer) => this.#receive(query, peer));
    return this.#server.address().port;
  }

  async start(port: number, name: string, perSecond: number): Promise<void> {
    this.#query = encodeQuery({ id: 1, name, type: 'A' });
    this.#client = await connectUdp(port, (answer) => {
      if (isForged(answer)) this.#accepted++;
    });
    this.#asking = setInterval(() => this.#ask(), ASK_EVERY_MS);
    // One buffer for all: whichever ID a datagram leaves with is a random one.
    const reply = forgedReply(this.#query);
    this.#pace = new Pace(perSecond, () => {
      const random = Math.random() * PORTS;
      const peer = Math.floor(random);
      const id = Math.floor((random - peer) * IDS);
      // One in some 10,000 runs guesses right, as four pairs allow: nothing else may be accepted.
      if (this.#questions.has((FIRST_PORT + peer) * IDS + id)) return;
      writeUint16(reply, 0, id);
      this.#server?.send(reply, FIRST_PORT + peer, HOST);
    });
  }

  async finish(lastWordMs: number): Promise<BirthdayResult> {
    const { done = 0, perSecond = 0 } = this.#pace ?? {};
    this.#pace?.close();
    clearInterval(this.#asking);
    for (const { query, peer } of this.#questions.values()) this.#answer(query, peer);
    this.#ask();
    await new Promise((resolve) => setTimeout(resolve, lastWordMs));
    this.#client?.close();
    this.#server?.close();
    const pairs = this.#questions.size;
    return { forged: done, perSecond, pairs, accepted: this.#accepted };
  }

  #ask(): void {
    if (this.#client !== undefined) sendQuietly(this.#client, this.#query);
  }

  #receive(query: Buffer, peer: RemoteInfo): void {
    const end = questionEnd(query);
    if (end < 0) return;
    const question = query.subarray(0, end);
    const pair = peer.port * IDS + readUint16(query, 0);
    if (readUint16(query, end - TYPE_FROM_END) !== TYPE.A) this.#answer(question, peer);
    else this.#questions.set(pair, { query: question, peer });
  }

  #answer(question: Buffer, { port, address }: RemoteInfo): void {
    this.#server?.send(noSuchName(question), port, address);
  }
}

/** The reply that there is no such name. */
function noSuchName(question: Buffer): Buffer {
  const message = Buffer.from(question);
  writeUint16(message, 2, REPLY_FLAGS | RCODE.NXDOMAIN);
  message.fill(0, 6, 12);
  return message;
}
