import type { Socket } from 'node:dgram';

/** Buffers a burst while the event loop is busy; the system may grant less. */
export function growReceiveBuffer(socket: Socket, bytes: number): void {
  try {
    socket.setRecvBufferSize(bytes);
  } catch {
    /* the default size works too */
  }
}
