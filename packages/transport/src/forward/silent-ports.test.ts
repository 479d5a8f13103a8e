import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type DirectQuery, DirectServers } from '../../test/direct-servers.js';
import { ForwarderFixture, TIMEOUT_MS, WaitingClient } from '../../test/forwarder-fixture.js';
import { replyTo } from '../../test/messages.js';
import type { ServerGroup } from './servers.js';

const SEED = 7;
const STEP_MS = 5;
const SERVER = { address: '192.0.2.1', port: 53 };

/** Numbers of [0, 1), the same each time: a linear congruential generator (Numerical Recipes). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** As conntrack does: each port leads to one of two servers, whatever it is used for. */
describe('one of two servers behind an address is silent', () => {
  let servers: DirectServers;
  let fixture: ForwarderFixture;
  let group: ServerGroup;
  /** Which of the two are silent now. */
  let isSilent: [boolean, boolean];
  const ways = new Map<number, number>();
  let clients = 0;

  beforeEach(() => {
    isSilent = [true, false];
    ways.clear();
    const random = seeded(SEED);
    servers = new DirectServers(({ port, query }) => {
      if (!ways.has(port)) ways.set(port, random() < 0.5 ? 0 : 1);
      return isSilent[ways.get(port)!] === true ? null : says(query);
    });
    fixture = new ForwarderFixture({ maxInFlight: 3_000 }, false, servers.engine);
    ({ group } = fixture.groupAt([SERVER]));
  });

  afterEach(() => fixture.close());

  const says = (query: Uint8Array) => replyTo(query, { addresses: ['10.0.0.1'] });

  function pass(ms: number): void {
    for (let passedMs = 0; passedMs < ms; passedMs += STEP_MS) {
      fixture.wait(STEP_MS);
      servers.deliver();
    }
    fixture.sockets.sweep();
  }

  interface Asked {
    readonly client: WaitingClient;
    readonly sinceMs: number;
    tookMs: number;
  }

  /** Asks for so many names, one each `pauseMs`, and waits until all have an answer; with their times. */
  function askMany(count: number, pauseMs: number): Asked[] {
    const asked: Asked[] = [];
    const note = () => {
      for (const each of asked) {
        if (each.tookMs < 0 && each.client.result !== '') each.tookMs = fixture.now - each.sinceMs;
      }
    };
    for (let i = 0; i < count; i++) {
      const client = new WaitingClient(++clients, `192.0.2.${1 + (clients % 200)}`);
      fixture.ask(group, { name: `n${clients}`, ednsBytes: 1_232 }, client);
      asked.push({ client, sinceMs: fixture.now, tookMs: -1 });
      servers.deliver();
      for (let ms = 0; ms < pauseMs; ms += STEP_MS) {
        note();
        pass(STEP_MS);
      }
    }
    for (let ms = 0; ms < TIMEOUT_MS + 500; ms += STEP_MS) {
      note();
      pass(STEP_MS);
    }
    return asked;
  }

  function quantile(asked: readonly Asked[], share: number): number {
    const times = asked.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
    return times[Math.min(times.length - 1, Math.floor(times.length * share))]!;
  }

  const failuresOf = (asked: readonly Asked[]) =>
    asked.filter(({ client }) => client.result !== 'A 10.0.0.1').length;

  it.each([20, 50, 200, 1_000])('answers each of 200 names, one each %i ms', (pauseMs) => {
    const asked = askMany(200, pauseMs);
    expect(failuresOf(asked)).toBe(0);
    expect(quantile(asked, 0.99)).toBeLessThanOrEqual(1_500);
    const later = asked.filter(({ sinceMs }) => sinceMs - asked[0]!.sinceMs > 3_000);
    if (later.length > 0) expect(quantile(later, 0.5)).toBeLessThanOrEqual(10);
  });

  it('asks a server that is silent at all its ports as often as before, but for one time without EDNS', () => {
    isSilent = [true, true];
    const [asked] = askMany(1, 0);
    expect(asked!.client.result).toBe('SERVFAIL');
    const times = servers.sent.filter(({ name }) => name.startsWith(`\x04n${clients}`));
    expect(times).toHaveLength(4);
  });

  it('answers at once when both are back', () => {
    isSilent = [false, false];
    askMany(20, 50);
    isSilent = [true, true];
    askMany(20, 50);
    expect(group.isDown(false)).toBe(true);
    isSilent = [false, false];
    // A server that is down is probed each second.
    pass(1_200);
    servers.deliver();
    const asked = askMany(100, 20);
    expect(failuresOf(asked)).toBe(0);
    expect(quantile(asked, 1)).toBeLessThanOrEqual(10);
  });

  it('asks from new ports again soon after the silent one is gone', () => {
    askMany(100, 50);
    isSilent = [false, false];
    askMany(300, 50);
    const since = servers.sent.length;
    askMany(40, 50);
    const ports = servers.sent.slice(since).map(({ port }) => port);
    expect(new Set(ports).size).toBe(40);
  });

  it('meanwhile asks from ports that no one knows for long', () => {
    askMany(600, 50);
    const firstAt = new Map<number, number>();
    for (const [i, { port }] of servers.sent.entries()) {
      if (!firstAt.has(port)) firstAt.set(port, i);
      // 10 s, and what is late.
      expect(i - firstAt.get(port)!).toBeLessThan(300);
    }
    const later = servers.sent.slice(-200).map(({ port }) => port);
    expect(new Set(later).size).toBeGreaterThan(5);
  });

  it('does not take a name that is slow for a port that is silent', () => {
    isSilent = [false, false];
    const { script } = servers;
    const slow: DirectQuery[] = [];
    servers.script = (query) => {
      if (!query.name.startsWith('\x04slow')) return script(query);
      slow.push(query);
      return null;
    };
    for (let i = 0; i < 10; i++) {
      const client = new WaitingClient(++clients);
      fixture.ask(group, 'slow', client);
      servers.deliver();
      pass(1_200);
      // Each of its copies gets its reply, in order.
      for (const each of slow.splice(0)) servers.reply(each, says(each.query));
      expect(client.result).toBe('A 10.0.0.1');
    }
    const since = servers.sent.length;
    askMany(20, 50);
    expect(servers.sent.length - since).toBe(20);
  });
});
