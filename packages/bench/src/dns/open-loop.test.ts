import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ownedBy, until } from '@kube-dns/testkit';
import type { UdpEngine } from '@kube-dns/transport';
import { RCODE } from '@kube-dns/wire';
import { LatencyHistogram, type LoadClock, OpenLoop, type OpenLoopPlan } from './open-loop.js';
import { encodeQuestionFile } from '../queries.js';

import fc from 'fast-check';

describe('a histogram of times', () => {
  it('has the nearest rank to 1.6 %, and the longest as it is', () => {
    const times = fc.double({ min: 0.001, max: 100_000, noNaN: true });
    fc.assert(
      fc.property(fc.array(times, { minLength: 1, maxLength: 500 }), (values) => {
        const histogram = new LatencyHistogram();
        for (const value of values) histogram.add(value);
        const { count, p50Ms, p99Ms, maxMs } = histogram.percentiles();
        const sorted = [...values].sort((left, right) => left - right);
        const rank = (part: number) => sorted[Math.ceil(part * sorted.length) - 1]!;
        expect(count).toBe(values.length);
        expect(maxMs).toBe(rank(1));
        for (const [found, right] of [
          [p50Ms, rank(0.5)],
          [p99Ms, rank(0.99)],
        ] as const) {
          expect(found).toBeGreaterThanOrEqual(right - 0.0001);
          expect(found).toBeLessThanOrEqual(right * 1.0165 + 0.0002);
        }
      }),
    );
  });

  it('has nothing without times', () => {
    expect(new LatencyHistogram().percentiles()).toMatchObject({
      count: 0,
      p50Ms: NaN,
      maxMs: NaN,
    });
  });

  it('adds many of one time', () => {
    const histogram = new LatencyHistogram();
    histogram.add(1, 990);
    histogram.add(1_000, 10);
    const { count, p99Ms, p999Ms } = histogram.percentiles();
    expect(count).toBe(1_000);
    expect(p99Ms).toBeCloseTo(1, 1);
    expect(p999Ms).toBe(1_000);
  });

  it('takes in the times of another one', () => {
    const [first, second] = [new LatencyHistogram(), new LatencyHistogram()];
    first.addAll(second);
    expect(first.percentiles().maxMs).toBeNaN();
    first.add(1, 99);
    second.add(7);
    first.addAll(second);
    expect(first.percentiles()).toMatchObject({ count: 100, maxMs: 7 });
    expect(first.percentiles().p99Ms).toBeCloseTo(1, 1);
  });
});

const PAUSE_MS = 100;
const RATE = 1_000;
const SECONDS = 0.5;
/** A turn of the loop, all of it CPU time. */
const TURN_MS = 0.1;
/** From a question to its answer: that of the next turn has it. */
const ANSWER_MS = 0.15;
const QR = 0x80;

const own = ownedBy(afterEach);

/** For so long the loop stands still at a moment: for work of its own, or because the machine has other work. */
interface Pause {
  readonly atMs: number;
  readonly ms: number;
  readonly isOwnWork?: boolean;
}

interface Server {
  /** Of each question, counted from 1, when it is answered after it was asked; undefined: never. */
  readonly answerAfterMs?: (count: number, nowMs: number) => number | undefined;
  readonly rcode?: number;
}

type Owner = Parameters<UdpEngine['openUpstreamPort']>[1];

/** A loop whose time passes by its turns, and a server that answers at moments of that time. */
class Simulation implements LoadClock {
  readonly #server: Server;
  readonly #pauses: Pause[];
  readonly #inFlight: { readonly atMs: number; readonly answer: () => void }[] = [];
  #nowMs = 0;
  #cpuMs = 0;
  #asked = 0;

  constructor(server: Server = {}, pauses: readonly Pause[] = []) {
    this.#server = server;
    this.#pauses = [...pauses];
  }

  readonly nowMs = () => this.#nowMs;
  readonly cpuMs = () => this.#cpuMs;

  readonly nextTurn = (callback: () => void) => {
    setImmediate(() => {
      this.#pass(TURN_MS, true);
      if (this.#nowMs >= (this.#pauses[0]?.atMs ?? Infinity)) {
        const { ms, isOwnWork = false } = this.#pauses.shift()!;
        this.#pass(ms, isOwnWork);
      }
      const arrived = this.#inFlight.filter(({ atMs }) => atMs <= this.#nowMs);
      for (const one of arrived) this.#inFlight.splice(this.#inFlight.indexOf(one), 1);
      for (const { answer } of arrived) answer();
      callback();
    });
  };

  readonly pause = (ms: number) => {
    this.#pass(ms, false);
    return Promise.resolve();
  };

  readonly engine: UdpEngine = {
    name: 'dgram',
    batch: 0,
    createSocket: () => {
      throw new Error('a load has no listener');
    },
    createTcpServer: () => {
      throw new Error('a load has no listener');
    },
    openUpstreamPort: (_, owner) => {
      return { send: (query) => this.#ask(Buffer.from(query), owner), close: () => undefined };
    },
    sendTogether: (work) => work(),
  };

  run(plan: Partial<OpenLoopPlan> = {}) {
    return new OpenLoop(this, this.engine).run(planFor(1, plan));
  }

  #pass(ms: number, isOnCpu: boolean): void {
    this.#nowMs += ms;
    if (isOnCpu) this.#cpuMs += ms;
  }

  #ask(query: Buffer, owner: Owner): void {
    const { answerAfterMs = () => ANSWER_MS, rcode = 0 } = this.#server;
    const afterMs = answerAfterMs(++this.#asked, this.#nowMs);
    if (afterMs === undefined) return;
    query[2]! |= QR;
    query[3]! |= rcode;
    const answer = () => owner.onDatagram(query, { address: '127.0.0.1', port: 1 });
    this.#inFlight.push({ atMs: this.#nowMs + afterMs, answer });
  }
}

function planFor(port: number, more: Partial<OpenLoopPlan> = {}): OpenLoopPlan {
  const names = ['a.example', 'host-2.a-longer-one.example'];
  const questions = encodeQuestionFile(names.map((name) => ({ name, type: 'A' })));
  const rcodes = [RCODE.NOERROR];
  const plan = { port, rate: RATE, seconds: SECONDS, sockets: 4, questions, rcodes };
  return Object.assign(plan, more);
}

describe('a load that does not wait', () => {
  it('times every question that falls into a pause of the server', async () => {
    const endMs = 150 + PAUSE_MS;
    const isHeld = (nowMs: number) => nowMs >= 150 && nowMs < endMs;
    const answerAfterMs = (_: number, nowMs: number) => (isHeld(nowMs) ? endMs - nowMs : ANSWER_MS);
    const result = await new Simulation({ answerAfterMs }).run();
    expect(result).toMatchObject({ planned: 500, answered: 500, wrong: 0, unanswered: 0 });
    // The times of a fifth of them are spread from 0 to the pause: half of that fifth is above half of it.
    const { p50Ms, p90Ms, p99Ms, maxMs } = result.answers;
    expect(p50Ms).toBeLessThan(1);
    expect(p90Ms / PAUSE_MS).toBeCloseTo(0.5, 1);
    expect(p99Ms / PAUSE_MS).toBeCloseTo(0.95, 1);
    expect(maxMs / PAUSE_MS).toBeCloseTo(1, 1);
    expect(result.ownDelays.maxMs).toBeLessThan(1);
  });

  it('times from when they should have left those that its own pause delays, and says that', async () => {
    const pause = { atMs: 150, ms: PAUSE_MS, isOwnWork: true };
    const { answered, answers, ownDelays } = await new Simulation({}, [pause]).run();
    expect(answered).toBe(500);
    for (const times of [answers, ownDelays]) {
      expect(times.p90Ms / PAUSE_MS).toBeCloseTo(0.5, 1);
      expect(times.maxMs / PAUSE_MS).toBeCloseTo(1, 1);
    }
  });

  it('counts what is not answered as the longest time, and answers with another rcode', async () => {
    const answerAfterMs = (count: number) => (count % 10 === 0 ? undefined : ANSWER_MS);
    const simulation = new Simulation({ answerAfterMs, rcode: RCODE.SERVFAIL });
    const { sent, answered, unanswered, wrong, answers } = await simulation.run({ seconds: 0.1 });
    expect({ sent, unanswered }).toEqual({ sent: 100, unanswered: 10 });
    expect(wrong).toBe(answered);
    expect(answers.p99Ms).toBe(1_000);
  });

  it('counts an answer after the longest time as none', async () => {
    const simulation = new Simulation({ answerAfterMs: () => 1_050 });
    const { sent, answered, unanswered, answers } = await simulation.run({ seconds: 0.01 });
    expect({ sent, answered, unanswered }).toEqual({ sent: 10, answered: 0, unanswered: 10 });
    expect([answers.p50Ms, answers.maxMs]).toEqual([1_000, 1_000]);
  });

  it('asks a server from as many sockets as are wanted', async () => {
    const socket = createSocket('udp4').bind(0, '127.0.0.1');
    await once(socket, 'listening');
    own({ close: () => socket.close() });
    const clients = new Set<number>();
    socket.on('message', (_, { port }) => clients.add(port));
    const plan = planFor(socket.address().port, { seconds: 0.2, sockets: 40 });
    // All are sent by the clock of the simulation, however fast this machine is.
    await new OpenLoop(new Simulation()).run(plan);
    await until('questions from 40 sockets', () => clients.size === 40);
  });

  it('says what part of the rate the machine could not send', async () => {
    const plan = { rate: 20_000_000, seconds: 0.002 };
    const { planned, sent, sentInTimePercent } = await new Simulation().run(plan);
    expect([planned, sent]).toEqual([40_000, 40_000]);
    // One, and then 256 in each turn that ends in time.
    expect(sentInTimePercent).toBeCloseTo((100 * (1 + 256 * 19)) / 40_000, 0);
  });

  it('repeats a window in which the machine kept it from its core, and counts only the other', async () => {
    const simulation = new Simulation({}, [{ atMs: 50, ms: 20 }]);
    const plan = { seconds: 0.2, windowSeconds: 0.1 };
    const { planned, answered, repeatedPercent, answers } = await simulation.run(plan);
    expect({ planned, answered }).toEqual({ planned: 200, answered: 200 });
    expect(repeatedPercent).toBeCloseTo(100 / 3);
    expect(answers.count).toBe(200);
    expect(answers.maxMs).toBeLessThan(1);
  });

  it('counts a window that is late for its own work, or of a load that is not to be cut', async () => {
    const work = { atMs: 20, ms: 5, isOwnWork: true };
    const busy = await new Simulation({}, [work]).run({ seconds: 0.1, windowSeconds: 0.05 });
    expect(busy.ownDelays.maxMs).toBeGreaterThan(4);
    expect(busy.repeatedPercent).toBe(0);
    const kept = await new Simulation({}, [{ atMs: 20, ms: 5 }]).run({ seconds: 0.1 });
    expect(kept.ownDelays.maxMs).toBeGreaterThan(4);
    expect(kept.repeatedPercent).toBe(0);
  });

  it('ends where the machine never leaves it its core', async () => {
    const pauses = Array.from({ length: 100 }, (_, i) => ({ atMs: 10 * i, ms: 5 }));
    const result = await new Simulation({}, pauses).run({ seconds: 0.1, windowSeconds: 0.05 });
    expect(result.planned).toBe(100);
    // Six windows for two.
    expect(result.repeatedPercent).toBeCloseTo((100 * 4) / 6);
  });
});
