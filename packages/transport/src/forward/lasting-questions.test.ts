import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DirectServers } from '../../test/direct-servers.js';
import { ForwarderFixture, TIMEOUT_MS, WaitingClient } from '../../test/forwarder-fixture.js';
import { replyTo } from '../../test/messages.js';
import { queryFor } from '../../test/questions.js';
import type { ServerGroup, ServerOrder } from './servers.js';

const STEP_MS = 50;
/** The name that is asked for, in wire form. */
const NAME = '\x01a\0';

let servers: DirectServers;
let fixture: ForwarderFixture;
let port = 1;

beforeEach(() => {
  servers = new DirectServers();
  fixture = new ForwarderFixture({ maxInFlight: 3_000 }, false, servers.engine);
});

afterEach(() => fixture.close());

const another = () => new WaitingClient(++port, `192.0.2.${1 + (port % 200)}`);
const says = (query: Uint8Array) => replyTo(query, { addresses: ['10.0.0.1'] });

function groupOf(count = 1, order: ServerOrder = 'preferred'): ServerGroup {
  const addresses = Array.from({ length: count }, (_, i) => `192.0.2.${1 + i}`);
  return fixture.groupAt(
    addresses.map((address) => ({ address, port: 53 })),
    order,
  ).group;
}

/** Another client asks each time. */
const askEvery = (group: ServerGroup, pauseMs: number, ms: number) =>
  ms % pauseMs === 0 ? [fixture.ask(group, 'a', another())] : [];

/** Passes time in small steps until `isOver`; when each sending of `a` arrived, and with what ID and port. */
function pass(durationMs: number, step: (ms: number) => void, isOver = () => false) {
  const sent: { atMs: number; pair: string }[] = [];
  const sinceMs = fixture.now;
  let noted = 0;
  for (let ms = 0; ms <= durationMs; ms += STEP_MS) {
    step(ms);
    servers.deliver();
    for (; noted < servers.sent.length; noted++) {
      const { name, id, port: from } = servers.sent[noted]!;
      if (name === NAME) sent.push({ atMs: ms, pair: `${id} ${from}` });
    }
    if (isOver()) break;
    fixture.wait(STEP_MS);
  }
  return { tookMs: fixture.now - sinceMs, sent };
}

const mostIn = (times: readonly number[], windowMs: number) =>
  Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + windowMs).length));

describe('a name whose server was silent for six seconds', () => {
  const SILENT_MS = 6_000;
  const haveAnswer = (clients: readonly WaitingClient[]) =>
    clients.some(({ result }) => result === 'A 10.0.0.1');

  it.each([
    { pauseMs: 300, others: 'are answered' },
    { pauseMs: 1_000, others: 'are answered' },
    { pauseMs: 1_200, others: 'are answered' },
    { pauseMs: 300, others: 'are not, too' },
    { pauseMs: 1_000, others: 'are not, too' },
    { pauseMs: 1_200, others: 'are not, too' },
  ])(
    'is back within a second, a client asking each $pauseMs ms, while other names $others',
    ({ pauseMs, others }) => {
      const backAtMs = fixture.now + SILENT_MS;
      servers.script = ({ name, query }) => {
        const isAnswered = name !== NAME && others === 'are answered';
        return fixture.now < backAtMs && !isAnswered ? null : says(query);
      };
      const group = groupOf();
      const isDown: boolean[] = [];
      const clients: WaitingClient[] = [];
      const { tookMs } = pass(
        20_000,
        (ms) => {
          clients.push(...askEvery(group, pauseMs, ms));
          // Other questions make the server be down.
          if (ms % 500 === 0) fixture.ask(group, `n${ms}`, another());
          isDown.push(group.servers[0]!.health.isDown);
        },
        () => haveAnswer(clients),
      );
      expect(tookMs - SILENT_MS).toBeLessThanOrEqual(1_000);
      expect(isDown.includes(true)).toBe(others === 'are not, too');
    },
  );

  it.each(['preferred', 'strict', 'all'] as const)(
    'is back when one of two servers is, in the order %s',
    (order) => {
      const backAtMs = fixture.now + SILENT_MS;
      const group = groupOf(2, order);
      servers.script = ({ server, query }) =>
        server.address === '192.0.2.1' && fixture.now >= backAtMs ? says(query) : null;
      const clients: WaitingClient[] = [];
      const { tookMs } = pass(
        20_000,
        (ms) => clients.push(...askEvery(group, 1_000, ms)),
        () => haveAnswer(clients),
      );
      expect(tookMs - SILENT_MS).toBeLessThanOrEqual(1_000);
    },
  );

  it('is asked at most five times again in each time-out, whatever clients do', () => {
    const group = groupOf();
    const eager = fixture.ask(group, { name: 'a', id: 5 });
    const { sent } = pass(30_000, (ms) => {
      askEvery(group, 100, ms);
      fixture.ask(group, { name: 'a', id: 5 }, eager);
    });
    const times = sent.map(({ atMs }) => atMs);
    const pauses = times.slice(1).map((at, i) => at - times[i]!);
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(500);
    const isFirst = (atMs: number) => atMs < TIMEOUT_MS;
    expect(times.filter(isFirst)).toHaveLength(1 + 5);
    const later = times.filter((atMs) => !isFirst(atMs));
    expect(mostIn(later, TIMEOUT_MS)).toBeLessThanOrEqual(5);
    // Nor is it forgotten.
    expect(Math.max(...later.slice(1).map((at, i) => at - later[i]!))).toBeLessThanOrEqual(1_000);
  });

  it('uses no ID and port for longer than ten seconds, and four at a time', () => {
    const group = groupOf();
    const out = new Uint8Array(512);
    const { sent } = pass(30_000, (ms) => {
      for (let i = 0; i < 6 && ms % 300 === 0; i++) {
        const options = { bytes: Buffer.from([0xfd, 0xe9, 0, 1, i]), hasClientSubnet: false };
        const query = queryFor({ name: 'a', ednsBytes: 1232 });
        fixture.forwarder.forward(query, out, another(), group, undefined, options);
      }
    });
    const lives = new Map<string, { from: number; to: number }>();
    for (const { atMs, pair } of sent) {
      lives.set(pair, { from: lives.get(pair)?.from ?? atMs, to: atMs });
    }
    const all = [...lives.values()];
    expect(all.length).toBeGreaterThan(4);
    for (const { from, to } of all) expect(to - from).toBeLessThanOrEqual(10_000);
    const atOnce = sent.map(
      ({ atMs }) => all.filter(({ from, to }) => from <= atMs && atMs < to).length,
    );
    expect(Math.max(...atOnce)).toBe(4);
  });

  it('gives each client SERVFAIL at its own time', () => {
    const group = groupOf();
    const clients = new Map<WaitingClient, number>();
    pass(20_000, (ms) => {
      for (const client of askEvery(group, 300, ms)) clients.set(client, ms);
      for (const [client, sinceMs] of clients) {
        expect(client.result).toBe(ms - sinceMs < TIMEOUT_MS ? '' : 'SERVFAIL');
      }
    });
    expect(fixture.forwarder.inFlight).toBeGreaterThan(0);
    fixture.wait(TIMEOUT_MS);
    expect(fixture.forwarder.inFlight).toBe(0);
  });
});

describe('an ID and a port', () => {
  const replyAfter = (ms: number) => {
    const seen: string[] = [];
    fixture.ask(groupOf(), 'a', another(), () => void seen.push('inspected'));
    fixture.wait(TIMEOUT_MS);
    fixture.wait(ms - TIMEOUT_MS);
    const [first] = servers.sent;
    servers.reply(first!, says(first!.query));
    return seen;
  };

  it('are accepted for ten seconds', () => {
    expect(replyAfter(9_900)).toEqual(['inspected']);
  });

  it('are not accepted after that', () => {
    expect(replyAfter(10_000)).toEqual([]);
    expect(fixture.forwarder).toMatchObject({ inFlight: 0, remembered: 0 });
  });
});
