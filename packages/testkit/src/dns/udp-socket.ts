import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';

/** Room for a burst of answers, so that none is lost in the client itself. */
const RECEIVE_BYTES = 4 * 1024 * 1024;

/** A socket that talks to one server, on 127.0.0.1 unless given, and receives from no other. */
export async function connectUdp(
  port: number,
  onMessage: (message: Buffer) => void,
  address = '127.0.0.1',
): Promise<Socket> {
  const type = isIPv6(address) ? 'udp6' : 'udp4';
  const socket = createSocket({ type, recvBufferSize: RECEIVE_BYTES });
  socket.on('message', onMessage);
  socket.connect(port, address);
  await once(socket, 'connect');
  // "Connection refused" of a server that is not there yet: silence says the same.
  socket.on('error', () => undefined);
  return socket;
}

/** Sends without asking what became of it. */
export function sendQuietly(socket: Socket, message: Uint8Array): void {
  socket.send(message, () => undefined);
}
