import { setImmediate as nextTurn } from 'node:timers/promises';
import { Corpus } from './corpus.js';
import { CoverageGuide } from './coverage-guide.js';
import { Draft } from './draft.js';
import type { Finding, FindingFiles } from './finding.js';
import { FaultList } from './fault-list.js';
import type { FuzzTarget } from './fuzz-target.js';
import { type Meters, PROCESS_METERS } from './heap-meter.js';
import { Judge, MAX_INPUT_BYTES } from './judge.js';
import { mutate } from './mutation.js';
import type { Random } from './random.js';

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

/** What came of a run. */
export interface FuzzRunResult {
  readonly inputs: number;
  readonly accepted: number;
  readonly seconds: number;
  /** The longest that one input took, in microseconds; NaN where it is not measured, as what was allocated. */
  readonly slowestUs: number;
  /** What an input allocated, on average and at the most, in bytes. */
  readonly meanBytes: number;
  readonly largestBytes: number;
  /** Inputs that others were made of, in the end. */
  readonly corpusSize: number;
  readonly findings: readonly Finding[];
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
  #toldMs: number;

  constructor(options: FuzzRunOptions) {
    const { target, files, random, meters = PROCESS_METERS } = options;
    this.#meters = meters;
    this.#meter = meters.heap();
    this.#startedMs = this.#toldMs = meters.nowMs();
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
      return this.#concludeUnmeasured();
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
      this.#tell();
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
      inputs: this.#inputs,
      accepted: this.#accepted,
      seconds,
      slowestUs: slow[0]?.value ?? 0,
      meanBytes: this.#allocatedBytes / Math.max(1, this.#inputs),
      largestBytes: hungry[0]?.value ?? 0,
      corpusSize: this.#corpus.entries.length,
      findings: this.#faults.findings,
    };
  }

  #concludeUnmeasured(): FuzzRunResult {
    return {
      inputs: this.#inputs,
      accepted: this.#accepted,
      seconds: (this.#meters.nowMs() - this.#startedMs) / 1_000,
      slowestUs: Number.NaN,
      meanBytes: Number.NaN,
      largestBytes: Number.NaN,
      corpusSize: this.#corpus.entries.length,
      findings: this.#faults.findings,
    };
  }

  #tell(): void {
    const nowMs = this.#meters.nowMs();
    if (nowMs - this.#toldMs < PROGRESS_MS) return;
    this.#toldMs = nowMs;
    this.#options.onProgress?.(this.#inputs);
  }
}
