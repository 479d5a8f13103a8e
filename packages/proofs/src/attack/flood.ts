import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { randomFillSync } from 'node:crypto';
import { setPriority } from 'node:os';
import { writeUint16 } from '@kube-dns/wire';
import { Pace } from './pace.js';
import { type QueryTemplate, RANDOM_LABEL_BYTES } from './messages.js';

/** What a flood did. */
export interface FloodResult {
  readonly sent: number;
  readonly perSecond: number;
  /** Received messages, with any rcode. */
  readonly answers: number;
}

/** The methods of a flood in its own process. */
export interface FloodMethods {
  /** Sends these queries in turn from now on, `perSecond` of them. */
  start(port: number, perSecond: number, templates: readonly QueryTemplate[]): Promise<void>;
  finish(): FloodResult;
}

/** The number of clients that it imitates. */
const SOCKETS = 16;
const LABEL_CHARACTERS = Buffer.from('abcdefghijklmnopqrstuvwxyz234567');
/** Real attackers are on other machines: they must not take the cores of the pod. */
const NICE = 10;

/** Queries over UDP whose answers are only counted. */
export class Flood implements FloodMethods {
  #sockets: Socket[] = [];
  #pace: Pace | undefined;
  #answers = 0;
  readonly #random = Buffer.alloc(RANDOM_LABEL_BYTES + 2);

  async start(port: number, perSecond: number, templates: readonly QueryTemplate[]): Promise<void> {
    setPriority(NICE);
    this.#answers = 0;
    this.#sockets = Array.from({ length: SOCKETS }, () => createSocket('udp4'));
    for (const socket of this.#sockets) {
      socket.on('message', () => this.#answers++);
      socket.connect(port, '127.0.0.1');
      await once(socket, 'connect');
      socket.on('error', () => undefined);
    }
    let turn = 0;
    this.#pace = new Pace(perSecond, () => {
      this.#send(this.#sockets[turn % SOCKETS]!, templates[turn % templates.length]!);
      turn++;
    });
  }

  finish(): FloodResult {
    const { done = 0, perSecond = 0 } = this.#pace ?? {};
    this.#pace?.close();
    this.#pace = undefined;
    for (const socket of this.#sockets.splice(0)) socket.close();
    return { sent: done, perSecond, answers: this.#answers };
  }

  #send(socket: Socket, { message, labelAt }: QueryTemplate): void {
    const query = Buffer.from(message);
    const random = randomFillSync(this.#random);
    writeUint16(query, 0, random.readUInt16BE(RANDOM_LABEL_BYTES));
    for (let i = 0; labelAt !== undefined && i < RANDOM_LABEL_BYTES; i++) {
      query[labelAt + i] = LABEL_CHARACTERS[random[i]! % LABEL_CHARACTERS.length]!;
    }
    socket.send(query, () => undefined);
  }
}
