import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { questionEnd } from '@kube-dns/testkit';
import {
  encodeQuery,
  HEADER_BYTES,
  RCODE,
  RCODE_MASK,
  readUint16,
  writeUint16,
} from '@kube-dns/wire';
import { boundSocket, forgedReply, isForged } from './messages.js';
import { Pace } from './pace.js';

/** The results of forged replies. */
export interface SpoofResult {
  /** Forged replies by their kind of error. */
  readonly guesses: Readonly<Record<GuessKind, number>>;
  readonly perSecond: number;
  /** Questions in flight, with known ports, while their IDs were guessed. */
  readonly questions: number;
  /** Answers that a client got with what was forged. */
  readonly accepted: number;
  /** Answers that clients got that were no failure. */
  readonly answered: number;
}

/** The methods of a spoofer in its own process. */
export interface SpooferMethods {
  /** Opens the name server that never answers, and returns its port. */
  open(): Promise<number>;
  /** Asks for names below a domain at this port, and guesses at the replies so often each second. */
  start(port: number, domain: string, perSecond: number): Promise<void>;
  /** Asks for the names once more, to see cached forgeries, and waits `lastWordMs` for the last answers. */
  finish(lastWordMs: number): Promise<SpoofResult>;
}

/** One field of each guess is wrong. */
const GUESS_KINDS = ['id', 'port', 'address', 'name', 'type', 'query', 'question'] as const;
type GuessKind = (typeof GUESS_KINDS)[number];

/** A question on its way, as only the server that was asked can know it. */
interface Outstanding {
  readonly query: Buffer;
  readonly peer: RemoteInfo;
}

const HOST = '127.0.0.1';
const OTHER_HOST = '127.0.0.2';
const NAMES = 16;
/** A new name at this pace; each is asked at most once in the time that a client waits for it. */
const ASK_EVERY_MS = 250;
const NICE = 10;
const IDS = 0x1_0000;

/** Forges replies to questions with one wrong field, before their server answers. */
export class Spoofer implements SpooferMethods {
  #server: Socket | undefined;
  #otherPort: Socket | undefined;
  #otherAddress: Socket | undefined;
  #client: Socket | undefined;
  #pace: Pace | undefined;
  #asking: NodeJS.Timeout | undefined;
  #domain = '';
  #asked = 0;
  #id = 0;
  #turn = 0;
  #accepted = 0;
  #answered = 0;
  #questions = 0;
  /** The last of them, by the port that they left from: their IDs are never guessed there. */
  readonly #outstanding: Outstanding[] = [];
  readonly #guesses = { id: 0, port: 0, address: 0, name: 0, type: 0, query: 0, question: 0 };

  async open(): Promise<number> {
    setPriority(NICE);
    this.#server = await boundSocket(0, HOST);
    const { port } = this.#server.address();
    this.#server.on('message', (query, peer) => this.#receive(query, peer));
    this.#otherPort = await boundSocket(0, HOST);
    this.#otherAddress = await boundSocket(port, OTHER_HOST);
    return port;
  }

  async start(port: number, domain: string, perSecond: number): Promise<void> {
    this.#domain = domain;
    this.#client = createSocket('udp4');
    this.#client.on('error', () => undefined);
    this.#client.on('message', (message) => this.#judge(message));
    this.#client.connect(port, HOST);
    await once(this.#client, 'connect');
    for (let i = 0; i < NAMES; i++) this.#ask();
    this.#asking = setInterval(() => this.#ask(), ASK_EVERY_MS);
    this.#pace = new Pace(perSecond, () => this.#guess());
  }

  async finish(lastWordMs: number): Promise<SpoofResult> {
    const { perSecond = 0 } = this.#pace ?? {};
    this.#pace?.close();
    clearInterval(this.#asking);
    // First the questions in flight are answered, then the cached answers are queried.
    for (let i = 0; i < Math.min(this.#asked, NAMES); i++) this.#query(i);
    await new Promise((resolve) => setTimeout(resolve, lastWordMs));
    for (const socket of [this.#client, this.#server, this.#otherPort, this.#otherAddress]) {
      socket?.close();
    }
    return {
      guesses: this.#guesses,
      perSecond,
      questions: this.#questions,
      accepted: this.#accepted,
      answered: this.#answered,
    };
  }

  #ask(): void {
    this.#query(this.#asked++);
  }

  #query(index: number): void {
    const name = `bank-${index}.${this.#domain}`;
    this.#client?.send(encodeQuery({ id: index % IDS, name, type: 'A' }), () => undefined);
  }

  #receive(query: Buffer, peer: RemoteInfo): void {
    this.#questions++;
    this.#outstanding.push({ query, peer });
    if (this.#outstanding.length > NAMES) this.#outstanding.shift();
  }

  #judge(message: Buffer): void {
    if ((message[3]! & RCODE_MASK) !== RCODE.SERVFAIL) this.#answered++;
    if (isForged(message)) this.#accepted++;
  }

  #guess(): void {
    const turn = this.#turn++;
    const target = this.#outstanding[turn % this.#outstanding.length];
    if (target === undefined) return;
    // Most guesses vary the ID, as an off-path attacker must.
    const kind = turn % 2 === 0 ? 'id' : GUESS_KINDS[((turn >> 1) % (GUESS_KINDS.length - 1)) + 1]!;
    const { query, peer } = target;
    const message = forgedReply(query);
    if (kind === 'id') writeUint16(message, 0, this.#wrongId(peer.port));
    else if (kind === 'name') message[HEADER_BYTES + 1]! ^= 1;
    else if (kind === 'type') message[questionEnd(query) - 3]! ^= 1;
    else if (kind === 'query') message[2]! &= 0x7f;
    else if (kind === 'question') writeUint16(message, 4, 0);
    this.#guesses[kind]++;
    this.#socketFor(kind)?.send(message, peer.port, peer.address, () => undefined);
  }

  #socketFor(kind: GuessKind): Socket | undefined {
    if (kind === 'port') return this.#otherPort;
    return kind === 'address' ? this.#otherAddress : this.#server;
  }

  /** Goes through all IDs but those of the questions that left from this port. */
  #wrongId(port: number): number {
    const isRight = (id: number) =>
      this.#outstanding.some(
        ({ query, peer }) => peer.port === port && readUint16(query, 0) === id,
      );
    do this.#id = (this.#id + 1) % IDS;
    while (isRight(this.#id));
    return this.#id;
  }
}
