import { createSocket } from 'node:dgram';

/** Asks a server of this machine from a new port; undefined when no answer came in time. */
export function askOnce(port: number, query: Buffer, limitMs: number): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    const end = (answer: Buffer | undefined) => {
      clearTimeout(timer);
      socket.close();
      resolve(answer);
    };
    const timer = setTimeout(() => end(undefined), limitMs);
    socket.once('message', end);
    socket.on('error', () => undefined);
    socket.send(query, port, '127.0.0.1');
  });
}
