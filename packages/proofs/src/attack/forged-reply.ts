import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { questionEnd } from '@kube-dns/testkit';
import { HEADER_BYTES, TYPE, writeUint16, writeUint32 } from '@kube-dns/wire';
import { FORGED_ADDRESS } from './names.js';

const REPLY_FLAGS = 0x8580;
const TTL_SECONDS = 86_400;

/** A socket from which replies are forged. */
export async function boundSocket(port: number, host: string): Promise<Socket> {
  const socket = createSocket({
    type: 'udp4',
    // All hosts are addresses: without this each datagram waits for the next tick.
    lookup: (address, _, callback) => callback(null, address, 4),
  });
  socket.on('error', () => undefined);
  const listening = once(socket, 'listening');
  socket.bind(port, host);
  await listening;
  return socket;
}

/** The reply to a query that would be accepted. */
export function forgedReply(query: Uint8Array): Buffer {
  const fixed = Buffer.alloc(12);
  writeUint16(fixed, 0, 0xc000 | HEADER_BYTES);
  writeUint16(fixed, 2, TYPE.A);
  writeUint16(fixed, 4, 1);
  writeUint32(fixed, 6, TTL_SECONDS);
  writeUint16(fixed, 10, FORGED_ADDRESS.length);
  const question = query.subarray(0, questionEnd(query));
  const message = Buffer.concat([question, fixed, Buffer.from(FORGED_ADDRESS)]);
  writeUint16(message, 2, REPLY_FLAGS);
  message.fill(0, 6, HEADER_BYTES);
  writeUint16(message, 6, 1);
  return message;
}

/** Whether an answer has what was forged. */
export function isForged(answer: Buffer): boolean {
  return answer.includes(Buffer.from(FORGED_ADDRESS));
}
