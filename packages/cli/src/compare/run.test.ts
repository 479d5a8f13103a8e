import { describe, expect, it } from '@jest/globals';
import type { Clock } from '@kube-dns/base';
import {
  scriptedRun,
  type Script,
  type ScriptedQuery,
} from '../../test/compare/support/scripted-run.js';
import type { ComparedReply } from '../../test/compare/support/scripted-server.js';
import { Pace } from './run.js';

const withTtl = (ttl: number): ComparedReply => ({
  answers: [{ type: 'A', ttl, data: '10.0.0.1' }],
});
const ANSWER = withTtl(30);

const turnOfTheLoop = () => new Promise((resolve) => setImmediate(resolve));

async function compared(count: number, flags: readonly string[], script: Script) {
  const names = Array.from({ length: count }, (_, i) => ({ name: `n${i}.test`, type: 'A' }));
  const result = await scriptedRun(names, flags, script);
  const counted = (side: ScriptedQuery['side'], way: ScriptedQuery['way']) =>
    result.queries.filter((query) => query.side === side && query.way === way).length;
  return { ...result, counted };
}

describe('a run', () => {
  it('asks each side each question once in each way', async () => {
    const { queries, tally } = await compared(20, [], () => ANSWER);
    const keys = queries.map(({ side, name, way }) => `${side} ${name} ${way}`);
    expect([keys.length, new Set(keys).size]).toEqual([120, 120]);
    expect([tally.same, tally.pairs]).toEqual([20, 60]);
  });

  it.each([1, 8])('has at most %d questions in flight to each side', async (concurrency) => {
    const flags = ['--concurrency', String(concurrency), '--rate', '1000000'];
    const { mostInFlight } = await compared(50, flags, async () => {
      for (let turns = 0; turns < 20; turns++) await turnOfTheLoop();
      return ANSWER;
    });
    expect(mostInFlight).toBe(2 * concurrency);
  });

  it('grants no more questions a second than it was told', async () => {
    const { nowMs } = await compared(100, ['--over', 'udp', '--rate', '50'], () => ANSWER);
    expect(nowMs).toBeGreaterThanOrEqual(1_900);
  });

  it('ends after fifty questions in a row without a reply of a side', async () => {
    let left = 10;
    const flags = ['--over', 'udp', '--concurrency', '1'];
    const { run, tally, counted } = await compared(10_000, flags, ({ side }) =>
      side === 'left' || left-- > 0 ? ANSWER : undefined,
    );
    // Ten with a reply, fifty without, and the one that was about to be asked.
    expect([counted('left', 'udp'), counted('right', 'udp')]).toEqual([61, 61]);
    expect([run.deadSide, tally.skipped]).toEqual(['right', 9_939]);
    expect(tally.givenUp).toEqual([{ side: 'right', way: 'udp', reason: 'no reply' }]);
  });

  it('goes on when a question in between has a reply', async () => {
    let asked = 0;
    const { run, counted } = await compared(
      200,
      ['--over', 'udp', '--concurrency', '1'],
      (query) => (query.side === 'left' || ++asked % 50 === 0 ? ANSWER : undefined),
    );
    expect([run.deadSide, counted('right', 'udp')]).toEqual([undefined, 200]);
  });

  it('goes on in the ways in which both sides reply', async () => {
    const { run, tally, counted } = await compared(
      400,
      ['--over', 'udp,tcp', '--concurrency', '1'],
      ({ side, way }) => (side === 'right' && way === 'tcp' ? undefined : ANSWER),
    );
    expect([run.deadSide, tally.isFailed]).toEqual([undefined, true]);
    expect([counted('right', 'udp'), counted('right', 'tcp')]).toEqual([400, 50]);
    expect([tally.pairs, tally.skipped]).toEqual([450, 350]);
    expect([tally.aspects['no-reply'], tally.same]).toEqual([50, 350]);
  });

  it('asks once more, after more than a second, where TTLs differ, to see which of them count down', async () => {
    const { queries, tally } = await compared(2, ['--over', 'udp'], ({ side, name, atMs }) => {
      if (side === 'left') return withTtl(300);
      return withTtl(name === 'n0.test' && atMs > 1_000 ? 249 : 250);
    });
    expect(queries.map(({ side, name }) => `${side} ${name}`).sort()).toEqual(
      ['left', 'right'].flatMap((side) =>
        ['n0', 'n1'].flatMap((name) => [`${side} ${name}.test`, `${side} ${name}.test`]),
      ),
    );
    expect([tally.classes['ttl-ageing'].questions, tally.aspects.ttl]).toEqual([1, 1]);
  });
});

/** Waiting takes as long as it is asked to, and `late` more, as timers do. */
function clock(late: number): Clock {
  let now = 0;
  return {
    now: () => now,
    after: (delayMs, action) => {
      now += delayMs + late;
      action();
      return () => undefined;
    },
  };
}

describe('the pace', () => {
  it.each([0, 1.5])(
    'grants no more turns than configured, with timers late by %d ms',
    async (late) => {
      const time = clock(late);
      const pace = new Pace(500, time);
      for (let turn = 0; turn < 1_000; turn++) await pace.turn();
      expect(time.now()).toBeGreaterThanOrEqual(1_996);
      expect(time.now()).toBeLessThan(2_010);
    },
  );
});
