import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Script, until } from '@kube-dns/testkit';
import { readUint16 } from '@kube-dns/wire';
import {
  ForwarderFixture,
  questionsAt,
  TIMEOUT_MS,
  WaitingClient,
} from '../../test/forwarder-fixture.js';
import { queryFor } from '../../test/questions.js';
import { says, silent } from '../../test/scripts.js';
import type { ServerGroup } from './server-group.js';

const STEP_MS = 50;

let fixture: ForwarderFixture;
let port = 1;

beforeEach(() => {
  fixture = new ForwarderFixture({ maxInFlight: 3_000 });
});

afterEach(() => fixture.close());

const another = () => new WaitingClient(++port, `192.0.2.${1 + (port % 200)}`);

/** Another client asks each time. */
const askEvery = (group: ServerGroup, pauseMs: number, ms: number) =>
  ms % pauseMs === 0 ? [fixture.ask(group, 'a', another())] : [];

/** Passes time in small steps; when each sending of `a` arrived, and with what ID and port. */
async function pass(
  durationMs: number,
  group: ServerGroup,
  step: (ms: number) => Promise<boolean> | boolean,
) {
  const [server] = fixture.fakes;
  const sent: { atMs: number; pair: string }[] = [];
  const sinceMs = fixture.now;
  for (let ms = 0; ms <= durationMs; ms += STEP_MS) {
    const isOver = await step(ms);
    const count = group.servers[0]!.counts.queries;
    await until(() => questionsAt(server!).length >= count);
    for (const { question, query, peer } of questionsAt(server!).slice(sent.length)) {
      if (question.name !== 'a') sent.push({ atMs: Number.NaN, pair: '' });
      else sent.push({ atMs: ms, pair: `${readUint16(query, 0)} ${peer.port}` });
    }
    if (isOver) break;
    fixture.wait(STEP_MS);
  }
  const own = sent.filter(({ pair }) => pair !== '');
  return { tookMs: fixture.now - sinceMs, sent: own };
}

const mostIn = (times: readonly number[], windowMs: number) =>
  Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + windowMs).length));

describe('a name whose server was silent for six seconds', () => {
  const SILENT_MS = 6_000;
  const hasAnswer = ({ result }: WaitingClient) => result === 'A 10.0.0.1';
  let isAnswered = false;
  let isBack = false;

  beforeEach(() => {
    isAnswered = isBack = false;
  });

  /** Waits for the replies that are on their way; whether a client has its answer. */
  const arrival = async (group: ServerGroup, clients: readonly WaitingClient[]) => {
    await new Promise((resolve) => setTimeout(resolve, 10));
    if (isBack) await until(() => !group.servers[0]!.health.isDown);
    if (isAnswered) await until(() => clients.some(hasAnswer));
    return isAnswered;
  };

  /** Silent to the name until this time. */
  const silentUntil =
    (backAtMs: number, answersOthers: boolean): Script =>
    (request) => {
      const isOther = request.question.name !== 'a';
      if (fixture.now < backAtMs && !(isOther && answersOthers)) return null;
      isAnswered ||= !isOther;
      isBack ||= fixture.now >= backAtMs;
      return says('10.0.0.1')(request);
    };

  it.each([
    { pauseMs: 300, others: 'are answered' },
    { pauseMs: 1_000, others: 'are answered' },
    { pauseMs: 1_200, others: 'are answered' },
    { pauseMs: 300, others: 'are not, too' },
    { pauseMs: 1_000, others: 'are not, too' },
    { pauseMs: 1_200, others: 'are not, too' },
  ])(
    'is back within a second, a client asking each $pauseMs ms, while other names $others',
    async ({ pauseMs, others }) => {
      const backAtMs = fixture.now + SILENT_MS;
      const script = silentUntil(backAtMs, others === 'are answered');
      const { group } = await fixture.groupOf([script]);
      const isDown: boolean[] = [];
      const clients: WaitingClient[] = [];
      const { tookMs } = await pass(20_000, group, (ms) => {
        clients.push(...askEvery(group, pauseMs, ms));
        // Other questions make the server be down.
        if (ms % 500 === 0) fixture.ask(group, `n${ms}`, another());
        isDown.push(group.servers[0]!.health.isDown);
        return ms >= SILENT_MS && arrival(group, clients);
      });
      expect(tookMs - SILENT_MS).toBeLessThanOrEqual(1_500);
      expect(isDown.includes(true)).toBe(others === 'are not, too');
    },
  );

  it.each(['preferred', 'strict', 'all'] as const)(
    'is back when one of two servers is, in the order %s',
    async (order) => {
      const backAtMs = fixture.now + SILENT_MS;
      const { group } = await fixture.groupOf([silentUntil(backAtMs, false), silent], order);
      const clients: WaitingClient[] = [];
      const { tookMs } = await pass(20_000, group, (ms) => {
        clients.push(...askEvery(group, 1_000, ms));
        return ms >= SILENT_MS && arrival(group, clients);
      });
      expect(tookMs - SILENT_MS).toBeLessThanOrEqual(1_500);
    },
  );

  it('is asked at most five times again in each time-out, whatever clients do', async () => {
    const { group } = await fixture.groupOf([silent]);
    const eager = fixture.ask(group, { name: 'a', id: 5 });
    const { sent } = await pass(30_000, group, (ms) => {
      askEvery(group, 100, ms);
      fixture.ask(group, { name: 'a', id: 5 }, eager);
      return false;
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

  it('uses no ID and port for longer than ten seconds, and four at a time', async () => {
    const { group } = await fixture.groupOf([silent]);
    const out = new Uint8Array(512);
    const { sent } = await pass(30_000, group, (ms) => {
      for (let i = 0; i < 6 && ms % 300 === 0; i++) {
        const options = { bytes: Buffer.from([0xfd, 0xe9, 0, 1, i]), hasClientSubnet: false };
        const query = queryFor({ name: 'a', ednsBytes: 1232 });
        fixture.forwarder.forward(query, out, another(), group, undefined, options);
      }
      return false;
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

  it('gives each client SERVFAIL at its own time', async () => {
    const { group } = await fixture.groupOf([silent]);
    const clients = new Map<WaitingClient, number>();
    await pass(20_000, group, (ms) => {
      for (const client of askEvery(group, 300, ms)) clients.set(client, ms);
      for (const [client, sinceMs] of clients) {
        expect(client.result).toBe(ms - sinceMs < TIMEOUT_MS ? '' : 'SERVFAIL');
      }
      return false;
    });
  });
});

describe('an ID and a port', () => {
  const replyAfter = async (ms: number) => {
    const seen: string[] = [];
    let release: (() => void) | undefined;
    const { group } = await fixture.groupOf([
      async (request) => {
        if (request.question.name !== 'a') return null;
        await new Promise<void>((resolve) => (release = resolve));
        return says('10.0.0.1')(request);
      },
    ]);
    const inspector = () => {
      seen.push('inspected');
      return undefined;
    };
    fixture.ask(group, 'a', another(), inspector);
    await until(() => release !== undefined);
    const first = release!;
    fixture.wait(TIMEOUT_MS);
    fixture.wait(ms - TIMEOUT_MS);
    first();
    return seen;
  };

  it('are accepted for ten seconds', async () => {
    const seen = await replyAfter(9_900);
    await until('the reply', () => seen.length > 0);
    expect(seen).toEqual(['inspected']);
  });

  it('are not accepted after that', async () => {
    const seen = await replyAfter(10_000);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(seen).toEqual([]);
    expect(fixture.forwarder).toMatchObject({ inFlight: 0, remembered: 0 });
  });
});
