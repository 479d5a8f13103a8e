import { Random } from '../random.js';
import { FindingFiles } from './finding.js';
import { FuzzRun, type FuzzRunResult } from './fuzz-run.js';
import { PARSERS } from './parsers.js';
import { Watchdog } from './watchdog.js';

export interface FuzzOrder {
  readonly parser: string;
  readonly inputs: number;
  readonly seconds: number;
  readonly seed: number;
  /** The most that one input may take, in microseconds. */
  readonly maxUs: number;
  /** Whether time and memory are judged, too. */
  readonly isMeasured: boolean;
  /** The folder of the findings. */
  readonly corpus: string;
}

/** What a process that fuzzes does for the one that started it. */
export interface FuzzProcessMethods {
  fuzz(order: FuzzOrder): Promise<FuzzRunResult>;
}

/** A part of the inputs is enough to find what there is to reach, and the others are faster. */
const GUIDED_PART = 0.01;
const MAX_GUIDED = 50_000;

/** One parser's inputs, in a process that may end with them. */
export class FuzzProcess implements FuzzProcessMethods {
  async fuzz(order: FuzzOrder): Promise<FuzzRunResult> {
    const { parser, inputs, seconds, seed, corpus, maxUs, isMeasured } = order;
    const { create } = PARSERS.find(({ name }) => name === parser)!;
    const target = await create();
    const watchdog = new Watchdog({ corpus, parser });
    const run = new FuzzRun({
      target,
      inputs,
      seconds,
      maxUs,
      isMeasured,
      files: new FindingFiles(corpus, parser),
      random: new Random(seed, parser),
      guidedInputs: Math.min(inputs * GUIDED_PART, MAX_GUIDED),
      onInput: (input) => watchdog.note(input),
      onProgress: (count) => process.stderr.write(`prove: ${parser}: ${count} inputs so far\n`),
    });
    try {
      return await run.run();
    } finally {
      await watchdog.close();
      await target.close?.();
    }
  }
}
