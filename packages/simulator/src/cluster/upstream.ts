import type * as dgram from 'node:dgram';
import type * as net from 'node:net';
import { createHash } from 'node:crypto';
import {
  encodeReply,
  Frames,
  frameMessage,
  questionOf,
  type ReplyRecord,
  soaRecord,
} from '@kube-dns/testkit';
import type { Machine } from '../machine/machine.js';
import { SimulatedProcess } from '../machine/process.js';
import type { View } from '../model/outside-model.js';
import { OUTSIDE_SECONDS } from '../model/ttl-model.js';

/** The address that the name servers of a view have for a name: each name has its own. */
export function outsideAddress(name: string, type: 'A' | 'AAAA', view: View): string {
  const [b, c, d] = createHash('sha256').update(`${view} ${name.toLowerCase()}`).digest();
  if (type === 'A') return `198.${18 + (b! & 1)}.${c!}.${d!}`;
  return `2001:db8::${(256 + b!).toString(16)}:${(256 + c!).toString(16)}`;
}

/** Names that begin so lead elsewhere each time that this is over; each at times of its own. */
const MOVING = 'www-';
const MOVES_US = 100_000_000;

/** The addresses that the name servers of a view have of a name, from one time to another. */
export function outsideAddresses(
  name: string,
  type: 'A' | 'AAAA',
  view: View,
  fromUs: number,
  toUs: number,
): string[] {
  const first = moveOf(name, Math.max(0, fromUs));
  const last = moveOf(name, toUs);
  return Array.from({ length: last - first + 1 }, (_, at) => addressAfter(name, type, view, first + at)); // prettier-ignore
}

/** How often a name has moved. */
function moveOf(name: string, nowUs: number): number {
  const ownName = name.toLowerCase();
  if (!ownName.startsWith(MOVING)) return 0;
  const ownUs = createHash('sha256').update(ownName).digest().readUInt32BE(0) % MOVES_US;
  return Math.floor((nowUs + ownUs) / MOVES_US);
}

function addressAfter(name: string, type: 'A' | 'AAAA', view: View, moves: number): string {
  return outsideAddress(moves === 0 ? name : `${moves}.${name}`, type, view);
}

const DENIAL_SECONDS = 30;
const SLOW_MS = 3_000;

interface Sent {
  readonly bytes: Buffer;
  readonly afterMs?: number;
}

type Answerer = (query: Buffer, rightReply: (query: Buffer) => Buffer) => readonly Sent[];

/** What a name server does with a question that came over UDP. */
const BEHAVIOURS = {
  right: (query, rightReply) => [{ bytes: rightReply(query) }],
  silent: () => [],
  slow: (query, rightReply) => [{ bytes: rightReply(query), afterMs: SLOW_MS }],
  REFUSED: (query) => [{ bytes: encodeReply(query, { rcode: 'REFUSED' }) }],
  SERVFAIL: (query) => [{ bytes: encodeReply(query, { rcode: 'SERVFAIL' }) }],
  truncating: (query) => [{ bytes: encodeReply(query, { isTruncated: true }) }],
  'wrong ID': (query) => [{ bytes: forgedReply(withOtherId(query)) }],
  'wrong question': (query) => [{ bytes: forgedReply(withOtherName(query)) }],
  // As when somebody else guesses.
  forged: (query, rightReply) => [
    { bytes: forgedReply(withOtherId(query)) },
    { bytes: forgedReply(withOtherName(query)) },
    { bytes: rightReply(query), afterMs: 2 },
  ],
} satisfies Record<string, Answerer>;

export type Behaviour = keyof typeof BEHAVIOURS;
export const BEHAVIOUR_NAMES = Object.keys(BEHAVIOURS).slice(1) as readonly Behaviour[];

/**
 * A name server for all names: A and AAAA have `outsideAddress`, reverse names do not exist, all else has no data.
 * Over UDP it does as its behaviour says; over TCP it is right, or silent.
 */
export class NameServer {
  readonly #machine: Machine;
  readonly #view: View;
  behaviour: Behaviour = 'right';

  constructor(machine: Machine, view: View) {
    this.#machine = machine;
    this.#view = view;
  }

  start(): void {
    new SimulatedProcess(this.#machine, {
      name: 'name-server',
      program: (load) => this.#run(load),
    }).start();
  }

  #run(load: (module: string) => unknown): void {
    const { createSocket } = load('dgram') as typeof dgram;
    const { createServer } = load('net') as typeof net;
    const { setTimeout } = load('timers') as typeof globalThis;
    const rightReply = (query: Buffer) => replyOf(query, this.#view, this.#machine.scheduler.nowUs);
    const socket = createSocket('udp6');
    socket.on('message', (query, { address, port }) => {
      const answer: Answerer = BEHAVIOURS[this.behaviour];
      for (const { bytes, afterMs } of answer(query, rightReply)) {
        const send = () => socket.send(bytes, port, address);
        if (afterMs === undefined) send();
        else setTimeout(send, afterMs);
      }
    });
    socket.bind(53);
    createServer((connection) => {
      const frames = new Frames();
      connection.on('error', () => undefined);
      connection.on('data', (bytes: Buffer) => {
        if (this.behaviour === 'silent') return;
        for (const query of frames.push(bytes)) connection.write(frameMessage(rightReply(query))); // prettier-ignore
      });
    }).listen(53);
  }
}

function replyOf(query: Buffer, view: View, nowUs: number): Buffer {
  const { name, type } = questionOf(query);
  if (name.toLowerCase().endsWith('.arpa')) {
    return encodeReply(query, { rcode: 'NXDOMAIN', authorities: [soaRecord(DENIAL_SECONDS, 'arpa')] }); // prettier-ignore
  }
  const isAddress = type === 'A' || type === 'AAAA';
  return encodeReply(query, {
    answers: isAddress ? [addressRecord(type, addressAfter(name, type, view, moveOf(name, nowUs)))] : [], // prettier-ignore
  });
}

/** An answer that no client must see. */
function forgedReply(query: Buffer): Buffer {
  return encodeReply(query, { answers: [addressRecord('A', '192.0.2.66')] });
}

function addressRecord(type: 'A' | 'AAAA', data: string): ReplyRecord {
  return { type, ttl: OUTSIDE_SECONDS, data };
}

function withOtherId(query: Buffer): Buffer {
  const other = Buffer.from(query);
  other.writeUInt16BE(query.readUInt16BE(0) ^ 0x1234, 0);
  return other;
}

/** With another first letter. */
function withOtherName(query: Buffer): Buffer {
  const other = Buffer.from(query);
  const at = 12 + 1;
  other[at] = other[at] === 0x78 ? 0x79 : 0x78;
  return other;
}
