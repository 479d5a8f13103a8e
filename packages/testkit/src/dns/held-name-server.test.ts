import type { Socket } from 'node:dgram';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { becomesTrue } from '../until.js';
import { answerTo, HeldNameServer } from './held-name-server.js';
import { decodeMessage, encodeQuery } from './messages.js';
import { connectUdp } from './clients.js';

/** Longer than a test. */
const LIMIT_MS = 600_000;
const SOON = { stepMs: 2 };

function answer(name: string, type = 'A') {
  return decodeMessage(answerTo(encodeQuery({ id: 7, name, type }))!);
}

describe('the answer of the name server', () => {
  it('is an address with a long TTL for any name', () => {
    expect(answer('Host-1.Example')).toMatchObject({
      id: 7,
      rcode: 'NOERROR',
      questions: [{ name: 'Host-1.Example' }],
      answers: [{ name: 'Host-1.Example', type: 'A', ttl: 86_400, data: '198.51.100.7' }],
    });
  });

  it('is an IPv6 address when one is asked for', () => {
    expect(answer('host-1.example', 'AAAA').answers).toMatchObject([
      { type: 'AAAA', data: '2001:db8::7' },
    ]);
  });

  it('is an address with TTL 0 for some names', () => {
    expect(answer('host-1.uncached').answers).toMatchObject([{ type: 'A', ttl: 0 }]);
  });

  it.each([
    ['host-1.example.svc.cluster.LOCAL', 'LOCAL'],
    ['host-1.example.compute.internal', 'internal'],
  ])('is NXDOMAIN for %s, with the SOA of its zone', (name, zone) => {
    expect(answer(name)).toMatchObject({
      rcode: 'NXDOMAIN',
      answers: [],
      authorities: [{ name: zone, type: 'SOA', ttl: 3_600, data: { minimum: 3_600 } }],
    });
  });

  it('is undefined for bytes that are no query', () => {
    expect(answerTo(Buffer.alloc(11))).toBeUndefined();
    expect(answerTo(Buffer.concat([Buffer.alloc(12), Buffer.of(9, 97)]))).toBeUndefined();
    expect(answerTo(Buffer.alloc(14))).toBeUndefined();
  });
});

describe('the name server', () => {
  let server: HeldNameServer;
  let client: Socket;
  let answers: number;

  beforeEach(async () => {
    answers = 0;
    server = new HeldNameServer();
    client = await connectUdp(await server.start(), () => answers++);
  });
  afterEach(() => {
    client.close();
    server.close();
  });

  const ask = (id: number) => client.send(encodeQuery({ id, name: `h${id}.example` }));
  const received = (count: number) => becomesTrue(() => server.received() === count, SOON);
  const answered = (count: number) => becomesTrue(() => answers === count, SOON);

  it('answers immediately', async () => {
    ask(1);
    expect(await answered(1)).toBe(true);
    expect(server.received()).toBe(1);
  });

  it('holds answers until enough queries arrived, and none after that', async () => {
    server.hold(3, LIMIT_MS);
    ask(1);
    ask(2);
    expect(await received(2)).toBe(true);
    expect(answers).toBe(0);
    ask(3);
    expect(await answered(3)).toBe(true);
    ask(4);
    expect(await answered(4)).toBe(true);
  });

  it('holds answers no longer than its limit', async () => {
    server.hold(1_000, 20);
    ask(1);
    expect(await answered(1)).toBe(true);
  });
});
