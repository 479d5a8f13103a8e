import type { Socket } from 'node:dgram';

/** Room for a burst while the loop is busy elsewhere; the system may give less. */
export function growReceiveBuffer(socket: Socket, bytes: number): void {
  try {
    socket.setRecvBufferSize(bytes);
  } catch {
    /* the default size works too */
  }
}
