import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { becomesTrue, encodeReply, type Rcode, ScriptedNameServer } from '@kube-dns/testkit';
import { droppedAt, parseDrops, QueryBurst } from './query-burst.js';

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

const COUNT = 200;
/** More turns of the loop than it takes to receive the answers of all. */
const LOOKS = 50;

let server: ScriptedNameServer;
/** The rcode of the answer to the n-th query; undefined: no answer. */
let rcodeOf: (index: number) => Rcode | undefined;

beforeEach(async () => {
  server = await ScriptedNameServer.start(({ query, count }) => {
    const rcode = rcodeOf(count);
    if (rcode === undefined) return null;
    const reply = encodeReply(query, { rcode });
    // Sent twice: a repeated answer counts once.
    return [reply, reply];
  });
});
afterEach(() => server.close());

const run = (timeoutMs: number, nowMs?: () => number) =>
  new QueryBurst(nowMs).run(server.port, COUNT, 'x.example', timeoutMs);

describe('a burst of queries', () => {
  it('ends when all are answered', async () => {
    rcodeOf = () => 'NOERROR';
    expect(await run(600_000)).toEqual({
      sent: COUNT,
      right: COUNT,
      wrong: 0,
      unanswered: 0,
      droppedHere: 0,
    });
  });

  it('tells refusals and silence apart', async () => {
    rcodeOf = (index) => (['NOERROR', 'REFUSED', undefined, 'NOERROR'] as const)[index % 4];
    // Time passes, a millisecond with each look, once the server has had all queries.
    let looks = 0;
    const nowMs = () => (server.requests.length < COUNT ? looks : looks++);
    expect(await run(LOOKS, nowMs)).toMatchObject({ right: 100, wrong: 50, unanswered: 50 });
  });
});
