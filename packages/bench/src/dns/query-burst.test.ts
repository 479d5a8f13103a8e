import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { QueryBurst } from './query-burst.js';

const QR = 0x80;
const REFUSED = 5;
const COUNT = 200;

let server: Socket;
/** What the server says to the n-th query; undefined is nothing. */
let rcodeOf: (index: number) => number | undefined;

beforeEach(async () => {
  let index = 0;
  server = createSocket({ type: 'udp4', recvBufferSize: 1 << 20 }).bind(0, '127.0.0.1');
  server.on('message', (query, { port, address }) => {
    const rcode = rcodeOf(index++);
    if (rcode === undefined) return;
    const reply = Buffer.from(query);
    reply[2]! |= QR;
    reply[3] = rcode;
    // Twice: what comes once more counts once.
    server.send(reply, port, address);
    server.send(reply, port, address);
  });
  await once(server, 'listening');
});
afterEach(() => {
  server.close();
});

const run = (patienceMs: number) =>
  new QueryBurst().run(server.address().port, COUNT, 'x.example', patienceMs);

describe('a burst of queries', () => {
  it('ends when all are answered', async () => {
    rcodeOf = () => 0;
    expect(await run(15_000)).toEqual({
      sent: COUNT,
      right: COUNT,
      wrong: 0,
      unanswered: 0,
      droppedHere: 0,
    });
  });

  it('tells refusals and silence apart', async () => {
    rcodeOf = (index) => [0, REFUSED, undefined, 0][index % 4];
    expect(await run(500)).toMatchObject({ right: 100, wrong: 50, unanswered: 50 });
  });
});
