import { connect } from 'node:net';

const LENGTH_BYTES = 2;

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
  let received: Buffer = Buffer.alloc(0);
  let isOver = false;
  const end = (message: Buffer | undefined) => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    socket.destroy();
    onEnd(message);
  };
  const timer = setTimeout(() => end(undefined), limitMs);
  const frame = Buffer.alloc(LENGTH_BYTES + query.length);
  frame.writeUInt16BE(query.length);
  query.copy(frame, LENGTH_BYTES);
  socket.write(frame);
  socket.on('data', (part: Buffer) => {
    received = Buffer.concat([received, part]);
    if (received.length < LENGTH_BYTES) return;
    const last = LENGTH_BYTES + received.readUInt16BE(0);
    if (received.length >= last) end(received.subarray(LENGTH_BYTES, last));
  });
  // Refused or cut: this client waits as long as for a datagram before it asks again.
  socket.on('error', () => undefined);
}
