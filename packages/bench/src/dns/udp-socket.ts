import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';

/** A socket that talks to one server on this machine and hears of nobody else. */
export async function connectUdp(
  port: number,
  onMessage: (message: Buffer) => void,
): Promise<Socket> {
  const socket = createSocket({ type: 'udp4', recvBufferSize: 4 * 1024 * 1024 });
  socket.on('message', onMessage);
  socket.connect(port, '127.0.0.1');
  await once(socket, 'connect');
  // "Connection refused" of a server that is not there yet: silence says the same.
  socket.on('error', () => undefined);
  return socket;
}

/** Sends without asking what became of it. */
export function sendQuietly(socket: Socket, message: Buffer): void {
  socket.send(message, () => undefined);
}
