import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';

/** Enough for a burst of answers, so that the client itself loses none. */
const RECEIVE_BYTES = 4 * 1024 * 1024;

/**
 * A socket connected to one server; it receives from no other. The default address is 127.0.0.1; `from` is the address
 * that it sends from, where the system does not choose it.
 */
export async function connectUdp(
  port: number,
  onMessage: (message: Buffer) => void,
  address = '127.0.0.1',
  from?: string,
): Promise<Socket> {
  const type = isIPv6(address) ? 'udp6' : 'udp4';
  const socket = createSocket({ type, recvBufferSize: RECEIVE_BYTES });
  socket.on('message', onMessage);
  if (from !== undefined) {
    socket.bind(0, from);
    await once(socket, 'listening');
  }
  socket.connect(port, address);
  await once(socket, 'connect');
  // "Connection refused" by a server that has not started: the same as silence.
  socket.on('error', () => undefined);
  return socket;
}

/** Sends and ignores errors. */
export function sendQuietly(socket: Socket, message: Uint8Array): void {
  socket.send(message, () => undefined);
}
