import { Session } from 'node:inspector';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Random } from '../random.js';
import type { FaultKind, Finding, FindingFiles } from './finding.js';
import type { FuzzTarget } from './fuzz-target.js';
import { Corpus, Draft, mutate } from './mutations.js';

/** The most that one input may take on the machine that the product is meant for. */
export const MAX_INPUT_US = 1_000;
/** The most that one input may allocate, beyond its target's allowance. */
export const MAX_INPUT_BYTES = 64 * 1024;

export interface FuzzRunOptions {
  readonly target: FuzzTarget;
  readonly files: FindingFiles;
  readonly inputs: number;
  /** Ends earlier after this many seconds; 0: never. */
  readonly seconds: number;
  /** The most that one input may take, in microseconds. */
  readonly maxUs: number;
  /** Whether time and memory are judged, too, for which the machine must have no other work. */
  readonly isMeasured: boolean;
  readonly random: Random;
  /** Those of this process unless given. */
  readonly meters?: Meters;
  /** Inputs at the beginning that are watched for the code that they reach. */
  readonly guidedInputs: number;
  /** Called with each input before the parser. */
  readonly onInput?: (input: Buffer) => void;
  readonly onProgress?: (inputs: number) => void;
}

/** What an input costs; NaN where it is not measured. */
interface Costs {
  /** The longest that one input took, in microseconds. */
  readonly slowestUs: number;
  /** What an input allocated, on average and at the most, in bytes. */
  readonly meanBytes: number;
  readonly largestBytes: number;
}

const UNMEASURED: Costs = {
  slowestUs: Number.NaN,
  meanBytes: Number.NaN,
  largestBytes: Number.NaN,
};

/** What came of a run. */
export interface FuzzRunResult extends Costs {
  readonly inputs: number;
  readonly accepted: number;
  readonly seconds: number;
  /** Inputs that others were made of, in the end. */
  readonly corpusSize: number;
  readonly findings: readonly Finding[];
}

/** Of a run that did not come to its end. */
export function endedRun(reason: string): FuzzRunResult {
  return {
    inputs: 0,
    accepted: 0,
    seconds: 0,
    ...UNMEASURED,
    corpusSize: 0,
    findings: [{ kind: 'hangs', detail: reason, file: '' }],
  };
}

const GUIDED_BATCH = 16;
const MAX_BATCH = 128;
/** What a parser puts off is done between batches. */
const BATCHES_PER_TURN = 4;
const WARM_UP_ROUNDS = 20;
const MAX_WARM_UP_MS = 300;
const PROGRESS_MS = 30_000;
/** What of a growing heap is the run's own: code that is compiled, what was learned about it. */
const GROWTH_BYTES = 256 * 1024;
/** A map that grows does so every time; code that is compiled again does not. */
const GROWTH_ROUNDS = 4;

/** Gives a parser inputs and watches what it does with them. */
export class FuzzRun {
  readonly #options: FuzzRunOptions;
  readonly #target: FuzzTarget;
  readonly #corpus: Corpus;
  readonly #random: Random;
  readonly #judge: Judge;
  readonly #faults: FaultList;
  readonly #meters: Meters;
  readonly #meter: ReturnType<Meters['heap']>;
  readonly #draft: Draft;
  readonly #arena: Buffer;
  readonly #batch: Buffer[] = [];
  readonly #startedMs: number;
  #inputs = 0;
  #accepted = 0;
  #allocatedBytes = 0;
  #meanBytes = 0;
  #shownMs: number;

  constructor(options: FuzzRunOptions) {
    const { target, files, random, meters = PROCESS_METERS } = options;
    this.#meters = meters;
    this.#meter = meters.heap();
    this.#startedMs = this.#shownMs = meters.nowMs();
    this.#options = options;
    this.#target = target;
    this.#random = random;
    this.#corpus = new Corpus([...target.seeds, ...files.read().values()], target.tokens);
    this.#judge = new Judge(target, meters);
    this.#faults = new FaultList(files);
    this.#draft = new Draft(target.maxBytes);
    this.#arena = Buffer.alloc(target.maxBytes * MAX_BATCH);
  }

  async run(): Promise<FuzzRunResult> {
    const { inputs, guidedInputs, isMeasured } = this.#options;
    this.#warmUp();
    await this.#guide(Math.min(guidedInputs, inputs));
    if (!isMeasured) {
      await this.#feed(inputs - this.#inputs);
      return this.#conclude();
    }
    const half = Math.ceil((inputs - this.#inputs) / 2);
    await this.#feed(half);
    const before = this.#meters.liveBytes();
    const after = await this.#feed(inputs - this.#inputs);
    const result = this.#conclude();
    await this.#checkGrowth(this.#meters.liveBytes() - before, after);
    return { ...result, findings: this.#faults.findings };
  }

  /** What was written for the parser and what was found once, until the code is compiled. */
  #warmUp(): void {
    const { entries } = this.#corpus;
    if (!this.#options.isMeasured) {
      for (const entry of entries) this.#runOne(entry);
      return;
    }
    const until = this.#meters.nowMs() + MAX_WARM_UP_MS;
    for (let round = 0; round < WARM_UP_ROUNDS && this.#meters.nowMs() < until; round++) {
      for (const entry of entries) this.#runOne(entry);
    }
    for (const entry of entries) {
      this.#judge.slowness.look(entry, Number.POSITIVE_INFINITY);
      this.#judge.hunger.look(entry, Number.POSITIVE_INFINITY);
    }
  }

  async #guide(inputs: number): Promise<void> {
    if (inputs === 0) return;
    const guide = new CoverageGuide();
    while (this.#inputs < inputs && !this.#isOver()) {
      this.#runBatch(Math.min(GUIDED_BATCH, inputs - this.#inputs), false);
      if (guide.hasNew()) for (const input of this.#batch) this.#corpus.add(input, this.#random);
      await nextTurn();
    }
    guide.close();
  }

  /** Runs this many more inputs, unless time is over; returns their number. */
  async #feed(inputs: number, isLimited = true): Promise<number> {
    let fed = 0;
    for (let batches = 0; fed < inputs && !(isLimited && this.#isOver()); batches++) {
      // So that most batches are within what one input may allocate.
      const fitting = Math.floor(MAX_INPUT_BYTES / 2 / Math.max(1, this.#meanBytes));
      const size = Math.max(1, Math.min(MAX_BATCH, fitting, inputs - fed));
      this.#runBatch(size, this.#options.isMeasured);
      fed += size;
      if (batches % BATCHES_PER_TURN === 0) await nextTurn();
      this.#showProgress();
    }
    return fed;
  }

  #isOver(): boolean {
    const { seconds } = this.#options;
    return seconds > 0 && this.#meters.nowMs() - this.#startedMs > seconds * 1_000;
  }

  #runBatch(size: number, isJudged: boolean): void {
    this.#fill(size);
    const { slowness, hunger } = this.#judge;
    const batch = this.#batch;
    let longestMs = 0;
    let longest = 0;
    this.#meter.set();
    for (let i = 0; i < batch.length; i++) {
      const startedMs = this.#meters.nowMs();
      if (this.#runOne(batch[i]!)) this.#accepted++;
      const tookMs = this.#meters.nowMs() - startedMs;
      if (tookMs <= longestMs) continue;
      longestMs = tookMs;
      longest = i;
    }
    const bytes = this.#meter.read();
    this.#inputs += batch.length;
    if (!isJudged) return;
    this.#allocatedBytes += bytes;
    this.#meanBytes += (bytes / batch.length - this.#meanBytes) / 100;
    slowness.look(batch[longest]!, longestMs * 1_000);
    if (bytes > MAX_INPUT_BYTES) {
      for (const input of batch) hunger.look(input, Number.POSITIVE_INFINITY);
    }
  }

  /** Makes the inputs of a batch, so that only the parser runs while it is measured. */
  #fill(size: number): void {
    const { mutations, maxBytes } = this.#target;
    this.#batch.length = 0;
    for (let i = 0; i < size; i++) {
      mutate(this.#draft, mutations, this.#random, this.#corpus);
      const { bytes, length } = this.#draft;
      const input = this.#arena.subarray(i * maxBytes, i * maxBytes + length);
      bytes.copy(input, 0, 0, length);
      this.#batch.push(input);
    }
  }

  #runOne(input: Buffer): boolean {
    this.#options.onInput?.(input);
    try {
      return this.#target.run(input);
    } catch (error) {
      this.#faults.addThrown(error, input);
      return false;
    }
  }

  /** Whether memory in use grows with the inputs, which differ every time. */
  async #checkGrowth(grown: number, inputs: number): Promise<void> {
    let least = grown;
    for (let round = 0; least > GROWTH_BYTES && round < GROWTH_ROUNDS; round++) {
      const before = this.#meters.liveBytes();
      await this.#feed(inputs, false);
      least = Math.min(least, this.#meters.liveBytes() - before);
    }
    if (least > GROWTH_BYTES) {
      this.#faults.add('grows', `${least} bytes more with each ${inputs} inputs`);
    }
  }

  #conclude(): FuzzRunResult {
    const seconds = (this.#meters.nowMs() - this.#startedMs) / 1_000;
    const costs = this.#options.isMeasured ? this.#judgeCosts() : UNMEASURED;
    return {
      inputs: this.#inputs,
      accepted: this.#accepted,
      seconds,
      ...costs,
      corpusSize: this.#corpus.entries.length,
      findings: this.#faults.findings,
    };
  }

  #judgeCosts(): Costs {
    const { slowness, hunger } = this.#judge;
    for (const entry of this.#corpus.entries) hunger.look(entry, Number.POSITIVE_INFINITY);
    const slow = slowness.judge();
    const hungry = hunger.judge();
    for (const { input, value } of slow) {
      if (value > this.#options.maxUs) this.#faults.add('slow', `${Math.round(value)} us`, input);
    }
    for (const { input, value } of hungry) {
      if (value > MAX_INPUT_BYTES) this.#faults.add('allocates', `${value} bytes`, input);
    }
    return {
      slowestUs: slow[0]?.value ?? 0,
      meanBytes: this.#allocatedBytes / Math.max(1, this.#inputs),
      largestBytes: hungry[0]?.value ?? 0,
    };
  }

  #showProgress(): void {
    const nowMs = this.#meters.nowMs();
    if (nowMs - this.#shownMs < PROGRESS_MS) return;
    this.#shownMs = nowMs;
    this.#options.onProgress?.(this.#inputs);
  }
}

/** How often an input is run again before what it takes counts: others use the machine, too. */
const REPEATS = 5;
const LAST_REPEATS = 20;
const MAX_SUSPECTS = 16;

/** What one input cost, after as many repetitions as it takes to believe it. */
interface Cost {
  readonly input: Buffer;
  readonly value: number;
}

/** Finds the inputs that take the most of something, by measuring the promising ones again. */
class Search {
  readonly #measure: (input: Buffer) => number;
  #suspects: Cost[] = [];
  #most = 0;

  constructor(measure: (input: Buffer) => number) {
    this.#measure = measure;
  }

  /** Looks at an input that seems to have taken so much. */
  look(input: Buffer, seeming: number): void {
    if (seeming <= this.#most) return;
    const value = Math.min(seeming, this.#least(input, REPEATS));
    if (value <= this.#most) return;
    this.#most = value;
    this.#suspects.push({ input: Buffer.from(input), value });
    if (this.#suspects.length > MAX_SUSPECTS) this.#suspects.shift();
  }

  /** Measures the suspects once more, now that the code is warm; the dearest comes first. */
  judge(): Cost[] {
    const costs = this.#suspects.map(({ input }) => {
      return { input, value: this.#least(input, LAST_REPEATS) };
    });
    return costs.sort((left, right) => right.value - left.value);
  }

  #least(input: Buffer, repeats: number): number {
    let least = Number.POSITIVE_INFINITY;
    for (let i = 0; i < repeats; i++) least = Math.min(least, this.#measure(input));
    return least;
  }
}

/** Stores the inputs that took the longest and allocated the most. */
class Judge {
  readonly slowness: Search;
  readonly hunger: Search;

  constructor(target: FuzzTarget, { nowMs, heap }: Meters) {
    const meter = heap();
    const runQuietly = (input: Buffer) => {
      try {
        target.run(input);
      } catch {
        // An error is a separate finding.
      }
    };
    this.slowness = new Search((input) => {
      const startedMs = nowMs();
      runQuietly(input);
      return (nowMs() - startedMs) * 1_000;
    });
    this.hunger = new Search((input) => {
      const allowance = target.allowance?.(input) ?? 0;
      meter.set();
      runQuietly(input);
      return Math.max(0, meter.read() - allowance);
    });
  }
}

/** The same fault has many inputs; one is enough. */
const MAX_FINDINGS = 20;

/** The faults of one run, each once. */
class FaultList {
  readonly #files: FindingFiles;
  readonly #findings = new Map<string, Finding>();

  constructor(files: FindingFiles) {
    this.#files = files;
  }

  get findings(): readonly Finding[] {
    return [...this.#findings.values()];
  }

  /** Something was thrown; what comes from the same place with the same words is the same fault. */
  addThrown(error: unknown, input: Buffer): void {
    const { message, stack } = describe(error);
    const line = /at .*packages\/(?!proofs)\S+|at .*\.js:\d+:\d+/.exec(stack)?.[0] ?? '';
    // Without the path of the checkout: files are named after this.
    const place = line.replace(/\S*(?=packages\/)/, '');
    const words = message.replace(/"(?:[^"\\]|\\.)*"|\d+/g, '…').slice(0, 80);
    this.#store('throws', `${words} ${place}`, () => `${message} ${place}`, input);
  }

  /** Of the kinds that are amounts, the largest counts, which comes first. */
  add(kind: FaultKind, detail: string, input?: Buffer): void {
    this.#store(kind, kind, () => detail, input);
  }

  #store(kind: FaultKind, key: string, detail: () => string, input: Buffer | undefined): void {
    if (this.#findings.has(key) || this.#findings.size >= MAX_FINDINGS) return;
    const text = detail();
    const file = input === undefined ? '' : this.#files.write(kind, text, input);
    this.#findings.set(key, { kind, detail: text, file });
  }
}

function describe(error: unknown): { message: string; stack: string } {
  if (typeof error !== 'object' || error === null || !('message' in error)) {
    return { message: String(error), stack: '' };
  }
  const stack = 'stack' in error ? String(error.stack) : '';
  const name = 'name' in error ? `${String(error.name)}: ` : '';
  return { message: `${name}${String(error.message)}`, stack };
}

/** Only code of the containers and of their libraries counts, and not the fuzzer's own. */
const OWN = '/packages/proofs/';
const COUNTED = '/packages/';

/**
 * Tells which inputs reach code that none before them has reached, by the block coverage of V8. Taking
 * it costs a millisecond or two, and counting makes all code slower: it is for the beginning of a run.
 */
class CoverageGuide {
  readonly #session = new Session();

  constructor() {
    this.#session.connect();
    this.#session.post('Profiler.enable');
    // Without counts V8 reports each block once, when it has become reached.
    this.#session.post('Profiler.startPreciseCoverage', { callCount: false, detailed: true });
    this.hasNew();
  }

  /** Whether anything was reached for the first time since the last call. */
  hasNew(): boolean {
    let isNew = false;
    // An inspector session of the same thread finishes a call before it returns.
    this.#session.post('Profiler.takePreciseCoverage', (_error, taken) => {
      isNew = taken.result.some(({ url }) => url.includes(COUNTED) && !url.includes(OWN));
    });
    return isNew;
  }

  close(): void {
    this.#session.post('Profiler.stopPreciseCoverage');
    this.#session.disconnect();
  }
}

/** What reading the meter itself leaves on the heap, at the most. */
const READING_BYTES = 1_024;

/**
 * Tells how many bytes were allocated since it was set: on the heap, and outside of it for arrays of
 * bytes. A collection in between hides some; with a large young generation there is one in many thousands.
 */
class HeapMeter {
  #heapBytes = 0;
  #externalBytes = 0;

  set(): void {
    const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
    this.#heapBytes = heap;
    this.#externalBytes = external;
  }

  read(): number {
    const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
    const onHeap = Math.max(0, heap - this.#heapBytes - READING_BYTES);
    return onHeap + Math.max(0, external - this.#externalBytes);
  }
}

// The flag is heeded by the contexts that are made after it is set.
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** The bytes in use after a collection. */
function liveBytes(): number {
  // Twice: what the first one finalizes is free after the second.
  collect();
  collect();
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  return heap + external;
}

/** By what time and memory of a parser are measured. */
interface Meters {
  readonly nowMs: () => number;
  readonly heap: () => Pick<HeapMeter, 'set' | 'read'>;
  /** The bytes in use after a collection. */
  readonly liveBytes: () => number;
}

/** Those of this process. */
const PROCESS_METERS: Meters = {
  nowMs: () => performance.now(),
  heap: () => new HeapMeter(),
  liveBytes,
};
