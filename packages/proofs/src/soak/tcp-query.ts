import { connect } from 'node:net';
import { frameMessage, FrameReader } from '@kube-dns/transport';

/**
 * Asks on a connection of its own and tells the answer, or undefined when there was none in time. The
 * answer's ID is the query's, since nobody else has this connection.
 */
export function askOverTcp(
  port: number,
  query: Buffer,
  limitMs: number,
  onEnd: (message: Buffer | undefined) => void,
): void {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const frames = new FrameReader();
  let isOver = false;
  const end = (message: Buffer | undefined) => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    socket.destroy();
    onEnd(message);
  };
  const timer = setTimeout(() => end(undefined), limitMs);
  socket.write(frameMessage(query));
  socket.on('data', (part: Buffer) => {
    frames.push(part);
    const answer = frames.next();
    if (answer !== undefined) end(answer);
  });
  // Refused or cut: this client waits as long as for a datagram before it asks again.
  socket.on('error', () => undefined);
}
