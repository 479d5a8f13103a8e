import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { becomesTrue } from '@kube-dns/testkit';
import { droppedAt, parseDrops } from './socket-drops.js';

const TABLE = `   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
 6989: 0100007F:1BB8 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 9641 2 000000007d2dc0fd 476
 6990: 0100007F:1BB9 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 9642 2 000000007d2dc0fe 1
 6991: 00000000:1BB8 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 9643 2 000000007d2dc0ff 24
`;

describe('the drops of a port', () => {
  it('are those of its sockets', () => {
    expect(parseDrops(TABLE, 0x1bb8)).toBe(500);
    expect(parseDrops(TABLE, 0x1bb9)).toBe(1);
    expect(parseDrops(TABLE, 0x1bb7)).toBe(0);
  });

  it('are counted when no program reads', async () => {
    const socket = createSocket({ type: 'udp4' }).bind(0, '127.0.0.1');
    await once(socket, 'listening');
    // The system's smallest buffer has no space for this.
    socket.setRecvBufferSize(1);
    const { port } = socket.address();
    const before = droppedAt(port);
    const sender = createSocket('udp4');
    for (let i = 0; i < 100; i++) sender.send(Buffer.alloc(1_000), port, '127.0.0.1');
    await becomesTrue(() => droppedAt(port) > before);
    const dropped = droppedAt(port) - before;
    sender.close();
    socket.close();
    expect(before).toBe(0);
    expect(dropped).toBeGreaterThan(0);
  });
});
