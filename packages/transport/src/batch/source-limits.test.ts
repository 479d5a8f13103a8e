import { describe, expect, it } from '@jest/globals';
import { OverloadedPort, seededRandom, type Waiting } from '../../test/overloaded-socket.js';
import { ListenerCounters } from '../counters.js';
import { SourceLimits } from './source-limits.js';

/** A step of the model, in ms, and messages that are received in one call. */
const STEP_MS = 1;
const BATCH = 8;
/** One batch in so many is of the first socket also while there is more at the other one. */
const TURNS = 9;
/** Questions a second of a client that asks little. */
const LITTLE = 10;

/** Who asks, and how often in a second. */
interface Asker {
  readonly source: readonly [first: number, second: number];
  readonly rate: number;
}

interface World {
  /** Answers a second. */
  readonly capacity: number;
  /** Datagrams that the socket has room for. */
  readonly room?: number;
  readonly isIpv6?: boolean;
  readonly maxInstructions?: number;
  /** Datagrams a second, each from another source. */
  readonly forgedRate?: number;
  /** As with `--reuse-port`: limited sources have no socket of their own. */
  readonly hasOneSocket?: boolean | undefined;
}

/** A socket, its limits and who asks it, in virtual time. */
class Model {
  readonly port: OverloadedPort;
  readonly counters = new ListenerCounters();
  readonly lines: string[] = [];
  readonly limits: SourceLimits;
  /** Answers a second. */
  capacity: number;
  readonly #random = seededRandom(0x1234_5678);
  readonly #timers: { readonly atMs: number; readonly callback: () => void }[] = [];
  nowMs = 0;
  #serving = 0;
  #turn = 0;
  readonly #forgedRate: number;

  constructor({ capacity, room = 500, forgedRate = 0, hasOneSocket, ...kernel }: World) {
    this.#forgedRate = forgedRate;
    this.capacity = capacity;
    const hasTwoSockets = hasOneSocket !== true;
    this.port = new OverloadedPort({ room, hasTwoSockets, random: this.#random, ...kernel });
    this.limits = new SourceLimits({
      port: this.port,
      counters: this.counters,
      onOverload: (text) => void this.lines.push(text),
      now: () => this.nowMs,
      startTimer: (callback, ms) => {
        const timer = { atMs: this.nowMs + ms, callback };
        this.#timers.push(timer);
        return { close: () => void this.#timers.splice(this.#timers.indexOf(timer), 1) };
      },
    });
  }

  get timers(): number {
    return this.#timers.length;
  }

  /** Returns of each source what it asked, its answers, and how long the slowest answer in 100 of those who ask little took. */
  run(seconds: number, askers: readonly Asker[]) {
    const asked = new Map<number, number>();
    const answered = new Map<number, number>();
    const waits: number[] = [];
    const modest = new Set(
      askers.flatMap(({ source, rate }) => (rate <= LITTLE ? [source[0]] : [])),
    );
    const byRate = [...new Set(askers.map(({ rate }) => rate))].map(
      (rate) => [rate, askers.filter((asker) => asker.rate === rate)] as const,
    );
    let answers = 0;
    const endMs = this.nowMs + seconds * 1_000;
    while (this.nowMs < endMs) {
      const arriving: Asker['source'][] = [];
      // What several ask at random times is what one asks with the sum of their rates.
      for (const [rate, some] of byRate) {
        for (let n = this.#poisson((some.length * rate * STEP_MS) / 1_000); n > 0; n--) {
          const { source } = some[this.#random() % some.length]!;
          asked.set(source[0], (asked.get(source[0]) ?? 0) + 1);
          arriving.push(source);
        }
      }
      for (let n = this.#poisson((this.#forgedRate * STEP_MS) / 1_000); n > 0; n--) {
        arriving.push([this.#random(), 0]);
      }
      this.#arrive(arriving);
      this.nowMs += STEP_MS;
      for (const { source, atMs } of this.#serve()) {
        answers++;
        answered.set(source[0], (answered.get(source[0]) ?? 0) + 1);
        if (modest.has(source[0])) waits.push(this.nowMs - atMs);
      }
      this.#fire();
    }
    waits.sort((one, other) => one - other);
    const part = (source: number) => (answered.get(source) ?? 0) / (asked.get(source) ?? 0);
    const partOf = (some: readonly Asker[]) => {
      const sum = (of: Map<number, number>) =>
        some.reduce((total, { source }) => total + (of.get(source[0]) ?? 0), 0);
      return sum(answered) / sum(asked);
    };
    return {
      part,
      partOf,
      perSecond: answers / seconds,
      waitMs: waits[Math.floor(0.99 * waits.length)] ?? 0,
    };
  }

  /** In no order. */
  #arrive(sources: Asker['source'][]): void {
    for (let left = sources.length; left > 0; left--) {
      const at = this.#random() % left;
      this.port.arrive({ source: sources[at]!, atMs: this.nowMs });
      sources[at] = sources[left - 1]!;
    }
  }

  /** What is answered in a step. */
  #serve(): readonly { readonly source: Asker['source']; readonly atMs: number }[] {
    const { buffer, others } = this.port;
    const answered: Waiting[] = [];
    this.#serving = Math.min(this.#serving, 0) + (this.capacity * STEP_MS) / 1_000;
    while (this.#serving > 0) {
      const isTurnOfOthers = others !== undefined && this.#turn++ % TURNS !== 0;
      if (isTurnOfOthers && this.#take(others.waiting, answered, true)) continue;
      if (!this.#take(buffer.waiting, answered, false)) break;
    }
    return answered;
  }

  /** Receives a batch. False when it was the last one. */
  #take(waiting: Waiting[], answered: Waiting[], isOther: boolean): boolean {
    const { limits } = this;
    // The event loop calls for a socket that has something.
    if (waiting.length === 0) return false;
    const batch = waiting.splice(0, BATCH);
    if (batch.length > 1) limits.noteUse(batch.length);
    for (const each of batch) {
      const { source } = each;
      const isAdmitted = !limits.isCounting || limits.admit(source[0], source[1], 1, isOther);
      // To receive one costs a tenth of an answer in this model.
      this.#serving -= isAdmitted ? 1 : 0.1;
      if (isAdmitted) answered.push(each);
    }
    const isLast = batch.length < BATCH;
    if (isLast) limits.noteEmpty(isOther);
    return !isLast;
  }

  #fire(): void {
    for (const timer of [...this.#timers]) {
      if (timer.atMs > this.nowMs || !this.#timers.includes(timer)) continue;
      this.#timers.splice(this.#timers.indexOf(timer), 1);
      timer.callback();
    }
  }

  /** Knuth's method; above some 30 as the sum of several. */
  #poisson(mean: number): number {
    let count = 0;
    for (; mean > 30; mean -= 30) count += this.#poisson(30);
    const limit = Math.exp(-mean);
    for (let product = 1; ; count++) {
      product *= (this.#random() + 1) / 0x1_0000_0001;
      if (product <= limit) return count;
    }
  }
}

const HONEST = 0x7f01_0000;
const FLOOD = 0x0a00_0000;
const sources = (start: number, count: number, rate: number): Asker[] =>
  Array.from({ length: count }, (_, i) => ({ source: [start + i, 0], rate }));
const honest = sources(HONEST, 20, 10);
const SECONDS = 5;

/** Without what is lost until the limits are known. */
function expectFair(
  model: Model,
  capacity: number,
  flood: readonly Asker[],
  { least = 0.99, onsetSeconds = 0.6 } = {},
): void {
  const onset = model.run(1, [...honest, ...flood]);
  const { partOf, perSecond, waitMs } = model.run(SECONDS, [...honest, ...flood]);
  expect(partOf(honest)).toBeGreaterThanOrEqual(least);
  expect(waitMs).toBeLessThanOrEqual(100);
  expect(perSecond).toBeGreaterThanOrEqual(0.9 * capacity);
  // Of a minute, 0.6 s are one in a hundred.
  expect(1 - onset.partOf(honest)).toBeLessThan(onsetSeconds);
}

describe.each([
  ['a port', false],
  ['a port that several processes share', true],
])('%s that gets ten times what can be answered', (_, hasOneSocket) => {
  it.each([
    ['one client', 2_000, sources(FLOOD, 1, 20_000)],
    ['one client, with a little more than all', 2_000, sources(FLOOD, 1, 2_500)],
    ['ten clients', 2_000, sources(FLOOD, 10, 2_000)],
    ['a thousand clients', 15_000, sources(FLOOD, 1_000, 150)],
    ['two, one of which asks more', 2_000, [...sources(FLOOD, 1, 18_000), ...sources(9, 1, 1_500)]],
  ])('answers honest clients: %s', (__, capacity, flood) => {
    // With one socket all lose what the limited ones get too much.
    const bars = hasOneSocket ? { least: 0.95, onsetSeconds: 0.8 } : {};
    expectFair(new Model({ capacity, hasOneSocket }), capacity, flood, bars);
  });

  it('gives each of the heavy ones the same, and the others all that they ask', () => {
    const model = new Model({ capacity: 3_000, hasOneSocket });
    const flood = [
      ...sources(1, 1, 20_000),
      ...sources(2, 1, 10_000),
      ...sources(3, 1, 5_000),
      ...sources(4, 1, 500),
    ];
    model.run(2, [...honest, ...flood]);
    const { part } = model.run(SECONDS, [...honest, ...flood]);
    expect(part(4)).toBeGreaterThan(0.97);
    const rates = [20_000 * part(1), 10_000 * part(2), 5_000 * part(3)];
    expect(Math.max(...rates) / Math.min(...rates)).toBeLessThan(1.2);
    expect(rates.reduce((sum, rate) => sum + rate, 0)).toBeGreaterThan(0.85 * (3_000 - 700));
  });

  it('counts the /64 of IPv6 addresses as one client', () => {
    const model = new Model({ capacity: 2_000, isIpv6: true, hasOneSocket });
    const one: Asker = { source: [0x2001_0db8, 0x0001_0002], rate: 20_000 };
    expectFair(model, 2_000, [one]);
    expect(model.limits.overload?.clients[0]?.client).toBe('2001:db8:1:2::/64');
  });

  it('limits fewer where the kernel has no memory for more', () => {
    const model = new Model({ capacity: 2_000, maxInstructions: 40, hasOneSocket });
    const flood = [...sources(FLOOD, 3, 5_000), ...sources(1, 200, 30)];
    model.run(2, [...honest, ...flood]);
    expect(model.port.refused).toBeGreaterThan(0);
    expect(model.run(SECONDS, [...honest, ...flood]).part(FLOOD)).toBeLessThan(0.4);
  });

  it('does not answer what has waited for longer than clients wait, when it begins', () => {
    // 10 s of work.
    const model = new Model({ capacity: 1_000, room: 10_000, hasOneSocket });
    const flood = sources(FLOOD, 1, 10_000);
    model.run(5, [...honest, ...flood]);
    expect(model.counters.droppedOld).toBeGreaterThan(5_000);
    expect(model.port.hasWholeRoom).toBe(false);
    expect(model.run(SECONDS, [...honest, ...flood]).waitMs).toBeLessThanOrEqual(100);
    model.run(2, honest);
    expect(model.port.hasWholeRoom).toBe(true);
  });
});

it('what waits in a large socket when an overload begins shows who asks', () => {
  const model = new Model({ capacity: 15_000, room: 10_900 });
  // Before it, as much as can nearly be answered.
  model.run(2, [...honest, ...sources(1, 10, 1_300)]);
  expectFair(model, 15_000, sources(FLOOD, 1_000, 150), { onsetSeconds: 0.35 });
});

it('the first messages in use are counted as in an overload, and nothing is limited', () => {
  const model = new Model({ capacity: 4_000 });
  expect(model.limits.isCounting).toBe(false);
  model.run(3, sources(FLOOD, 1, 3_000));
  expect(model.limits.isCounting).toBe(true);
  model.run(2, sources(FLOOD, 1, 3_000));
  expect(model.limits.isCounting).toBe(false);
  expect(model.limits.overload).toBeUndefined();
  expect([model.port.attached, model.timers]).toEqual([0, 1]);
});

describe('in an overload that lasts', () => {
  const flood = sources(FLOOD, 50, 400);
  const settled = () => {
    const model = new Model({ capacity: 2_000 });
    model.run(5, [...honest, ...flood]);
    return model;
  };

  it('limits that harm no other source are not decided on each time', () => {
    const model = settled();
    const before = model.port.attached;
    model.run(10, [...honest, ...flood]);
    expect(model.port.attached - before).toBeLessThanOrEqual(2);
  });

  it('others that begin to ask too much are limited as soon as in a new one', () => {
    const model = settled();
    const more = [...flood, ...sources(FLOOD + 1_000, 20, 500)];
    model.run(0.5, [...honest, ...more]);
    expect(model.run(2, [...honest, ...more]).partOf(honest)).toBeGreaterThanOrEqual(0.99);
  });
});

describe('the end of an overload', () => {
  it('is seen within a second: nothing is limited or counted any more', () => {
    const model = new Model({ capacity: 2_000 });
    model.run(5, [...honest, ...sources(FLOOD, 5, 4_000)]);
    expect(model.port.hasFilter).toBe(true);
    model.run(1, [...honest, ...sources(FLOOD, 5, 10)]);
    expect(model.port.hasFilter).toBe(false);
    expect(model.limits.overload).toBeUndefined();
    expect(model.limits.isCounting).toBe(false);
    const { part } = model.run(2, sources(FLOOD, 1, 10));
    expect(part(FLOOD)).toBe(1);
  });

  it.each([20, 300, 1_000])('costs others nothing: after a flood of %d clients', (count) => {
    const model = new Model({ capacity: 14_000 });
    const many = sources(HONEST, 100, 2);
    model.run(3, [...many, ...sources(FLOOD, count, 60_000 / count)]);
    model.run(1, many);
    const { partOf } = model.run(10, many);
    expect(partOf(many)).toBe(1);
    expect(model.limits.overload).toBeUndefined();
  });

  it('needs no timer when nobody asks', () => {
    const model = new Model({ capacity: 2_000 });
    model.run(1, sources(FLOOD, 1, 4_000));
    expect(model.timers).toBe(1);
    model.run(3, []);
    expect(model.timers).toBe(0);
  });
});

it('is the third time as soon over for others as the first time', () => {
  const model = new Model({ capacity: 14_000 });
  const flood = sources(FLOOD, 100, 1_400);
  for (let overload = 0; overload < 3; overload++) {
    model.run(2, sources(HONEST, 20, 100));
    const { partOf } = model.run(6, [...honest, ...flood]);
    expect(partOf(honest)).toBeGreaterThan(0.9);
    expect(model.limits.overload?.answering).toBeLessThan(15_000);
    model.run(3, []);
    expect(model.limits.overload).toBeUndefined();
  }
  const said = model.lines.flatMap((line) => {
    const rates = /(\d+) a second arrive, (\d+) can be answered/.exec(line);
    return rates === null ? [] : [[Number(rates[1]), Number(rates[2])] as const];
  });
  expect(said.length).toBeGreaterThan(0);
  for (const [arriving, answered] of said) {
    expect(arriving).toBeGreaterThan(0.85 * 140_200);
    expect(arriving).toBeLessThan(1.15 * 140_200);
    expect(answered).toBeLessThan(15_000);
  }
});

it('limits on while hardly a turn is left for what limited sources send', () => {
  const model = new Model({ capacity: 14_000, room: 10_000 });
  const flood = sources(FLOOD, 100, 1_400);
  model.run(1, sources(HONEST, 20, 200));
  // Each question is one that takes long to answer, and few of each source are seen before there are limits.
  model.capacity = 500;
  // Less than the part of each.
  const modest = sources(HONEST, 20, 3);
  model.run(1, [...modest, ...flood]);
  for (let second = 0; second < 5; second++) {
    const { partOf } = model.run(1, [...modest, ...flood]);
    expect(partOf(modest)).toBeGreaterThan(0.9);
  }
});

it.each([1, 2, 4])('a client has all again 0.4 s after %d s without CPU time', (seconds) => {
  const model = new Model({ capacity: 20_000, room: 10_000 });
  const one = sources(FLOOD, 1, 15_000);
  model.run(1, one);
  model.capacity = 1_000;
  model.run(seconds, one);
  expect(model.limits.overload).toBeDefined();
  model.capacity = 20_000;
  model.run(0.4, one);
  expect(model.run(1, one).part(FLOOD)).toBeGreaterThan(0.98);
});

describe('no overload', () => {
  it('is what can be answered, and a burst that the socket has no room for', () => {
    const model = new Model({ capacity: 2_000, room: 50 });
    const { part } = model.run(2, sources(FLOOD, 1, 1_500));
    expect(part(FLOOD)).toBeGreaterThan(0.99);
    for (let i = 0; i < 200; i++) model.port.arrive({ source: [FLOOD, 0], atMs: model.nowMs });
    model.run(2, sources(FLOOD, 1, 100));
    expect(model.port.attached).toBe(0);
    expect(model.lines).toEqual([]);
    expect(model.limits.overload).toBeUndefined();
    expect(model.counters).toMatchObject({ overloads: 0, droppedLimited: 0, droppedOld: 0 });
    expect(model.counters.droppedFull).toBeGreaterThanOrEqual(150);
  });

  it('is looked for no more where the kernel does not tell', () => {
    const timers: (() => void)[] = [];
    const buffer = { readMemory: () => false, setBytes: () => undefined };
    const limits = new SourceLimits({
      port: {
        isIpv6: false,
        buffer,
        others: undefined,
        attach: () => false,
        detach: () => undefined,
      },
      counters: new ListenerCounters(),
      onOverload: () => undefined,
      startTimer: (callback) => {
        timers.push(callback);
        return { close: () => undefined };
      },
    });
    limits.noteUse(2);
    expect(timers).toEqual([]);
    expect(limits.overload).toBeUndefined();
  });
});

describe('many forged sources', () => {
  it('are not limited, and said so; one that asks much beside them is', () => {
    const model = new Model({ capacity: 2_000, forgedRate: 10_000 });
    model.run(5, honest);
    // Some by chance, and not as ones that send much.
    expect(model.limits.overload?.limited).toBeLessThan(6);
    for (const { perSecond } of model.limits.overload!.clients)
      expect(perSecond).toBeLessThan(1_000);
    expect(model.lines).toEqual([
      expect.stringMatching(
        /^more queries than can be answered: \d+ a second arrive, \d+ can be answered; no client/,
      ),
    ]);
    model.run(5, [...honest, ...sources(FLOOD, 1, 10_000)]);
    expect(model.limits.overload?.clients[0]?.client).toBe('10.0.0.0');
  });
});

describe('the log', () => {
  it('has a line when an overload begins and when it ends, with who asks most; once a minute at most', () => {
    const model = new Model({ capacity: 2_000 });
    for (let i = 0; i < 10; i++) {
      model.run(2, [...honest, ...sources(FLOOD, 1, 20_000)]);
      model.run(2, honest);
    }
    expect(model.lines).toEqual([
      expect.stringMatching(
        /^more queries than can be answered: \d{4,5} a second arrive, [12]\d{3} can be answered; each of these gets 1\d{3} of them: 10\.0\.0\.0 \(\d{4,5} a second\)$/,
      ),
      expect.stringMatching(/^all queries are answered again, after \d s: \d{5} were lost$/),
    ]);
    model.run(60, []);
    model.run(2, [...honest, ...sources(FLOOD, 1, 20_000)]);
    expect(model.lines).toHaveLength(3);
  });

  it('names five, and counts the others', () => {
    const model = new Model({ capacity: 2_000 });
    model.run(3, sources(FLOOD, 8, 2_500));
    expect(model.limits.overload).toMatchObject({ limited: 8 });
    expect(model.lines[0]).toMatch(/ 3 more$|lose alike$/);
  });
});

describe('counters', () => {
  it('add up to what was lost', () => {
    const model = new Model({ capacity: 2_000 });
    const flood = [...honest, ...sources(FLOOD, 3, 6_000)];
    const { partOf } = model.run(5, flood);
    model.run(2, []);
    const { droppedFull, droppedLimited, droppedOld } = model.counters;
    const lost = droppedFull + droppedLimited + droppedOld;
    const asked = lost / (1 - partOf(flood));
    expect(asked).toBeGreaterThan(0.9 * 5 * 18_200);
    expect(asked).toBeLessThan(1.1 * 5 * 18_200);
    expect(droppedLimited).toBeGreaterThan(0.5 * lost);
  });

  it('answers all messages of its rehearsal, and shows no overload meanwhile', () => {
    const { limits, counters, port } = new Model({ capacity: 1_000 });
    for (let n = 0; n < 20_000; n++) {
      if (n % BATCH === 0) limits.noteUse(BATCH);
      expect(limits.admit(0x0a00_0001 + (n % 7), 0, 1, false)).toBe(true);
      expect(limits.overload).toBeUndefined();
    }
    expect(limits).toMatchObject({ isCounting: false, isLimiting: false });
    expect(counters).toMatchObject({
      overloads: 0,
      droppedFull: 0,
      droppedLimited: 0,
      droppedOld: 0,
    });
    expect(port.hasFilter).toBe(false);
  });
});
