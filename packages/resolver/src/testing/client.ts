import { createSocket } from 'node:dgram';
import { connect } from 'node:net';
import { frameMessage, FrameReader } from '@kube-dns/transport';
import { type DecodedMessage, decodeMessage, readUint16 } from '@kube-dns/wire';
import { type Question, queryMessage } from './messages.js';

const TIMEOUT_MS = 60_000;

interface UdpExchange {
  readonly timeoutMs?: number;
  readonly address?: string;
  readonly after?: Uint8Array;
}

/**
 * Sends one datagram to 127.0.0.1 (or `address`), and one `after` it, and returns the first answer; that to `after` only
 * if the first has none: answers to messages that arrived together may leave in another order, so `after` is sent
 * once more, and the first has none when this has its answer, too.
 */
export async function exchangeUdp(
  port: number,
  message: Uint8Array,
  { timeoutMs = TIMEOUT_MS, address = '127.0.0.1', after }: UdpExchange = {},
): Promise<Buffer> {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  let timer: NodeJS.Timeout | undefined;
  let isRepeated = false;
  try {
    return await new Promise<Buffer>((resolve, reject) => {
      socket.on('error', reject);
      socket.on('message', (answer) => {
        const isOfSecond = after !== undefined && readUint16(answer, 0) === readUint16(after, 0);
        if (!isOfSecond || isRepeated) resolve(answer);
        else socket.send(after, port, address);
        isRepeated = true;
      });
      timer = setTimeout(() => reject(new Error('no answer')), timeoutMs);
      socket.send(message, port, address);
      if (after !== undefined) socket.send(after, port, address);
    });
  } finally {
    clearTimeout(timer);
    socket.close();
  }
}

/** Sends one message over TCP and returns the first that arrives. */
export async function exchangeTcp(port: number, message: Uint8Array): Promise<Buffer> {
  const socket = connect(port, '127.0.0.1');
  socket.write(frameMessage(message));
  socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('no answer')));
  const frames = new FrameReader();
  try {
    for await (const chunk of socket) {
      frames.push(chunk as Buffer);
      const answer = frames.next();
      if (answer !== undefined) return answer;
    }
  } finally {
    socket.destroy();
  }
  throw new Error('connection closed without an answer');
}

export interface Answer extends DecodedMessage {
  /** `TYPE DATA` of each answer record, in order. */
  readonly texts: readonly string[];
  readonly ttls: readonly number[];
  readonly bytes: Buffer;
}

/** The flags of an answer's header, rcode included. */
export const flagsOf = ({ bytes }: Answer) => readUint16(bytes, 2);

/** The parts of an answer that tests look at. */
export function readAnswer(bytes: Buffer): Answer {
  const message = decodeMessage(bytes);
  const texts = message.answers.map((record) => `${record.type} ${dataText(record)}`);
  const ttls = message.answers.map((record) => ('ttl' in record ? (record.ttl ?? 0) : 0));
  return { ...message, texts, ttls, bytes };
}

function dataText(record: object): string {
  const data: unknown = 'data' in record ? record.data : undefined;
  if (Array.isArray(data)) return data.map(String).join('|');
  return typeof data === 'string' ? data : JSON.stringify(data);
}

/** Asks over UDP from a fresh socket. */
export async function ask(port: number, question: Question | string): Promise<Answer> {
  const asked = typeof question === 'string' ? { name: question } : question;
  return readAnswer(await exchangeUdp(port, queryMessage(asked)));
}

/** Asks over TCP on a connection of its own. */
export async function askTcp(port: number, question: Question): Promise<Answer> {
  return readAnswer(await exchangeTcp(port, queryMessage(question)));
}

/** The value of one of the statistics names, such as `hits.bind`. */
export async function statistic(port: number, name: string): Promise<number> {
  const { texts } = await ask(port, { name, type: 'TXT', class: 'CH' });
  return Number(texts[0]?.replace('TXT ', ''));
}
