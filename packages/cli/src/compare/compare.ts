import { print, type CommandContext, type Output } from '../command.js';
import { refusal } from '../errors.js';
import { gatherQuestions, type Gathered } from './gather.js';
import { checkPageFile, pageText, writePage } from './html.js';
import { compareUsage, parseCompareOptions, type CompareOptions } from './options.js';
import { resultData, type Result, tableText } from './result.js';
import { addressText, checkReach, Run } from './run.js';
import { Tally } from './tally.js';

/**
 * The command `kube-dns compare`: asks two name servers the same questions and reports where they differ.
 * Resolves with 1 when there is a difference that counts as a failure, else with 0; throws a CliError of
 * status 2 when there is nothing to compare.
 */
export async function compare(args: readonly string[], context: CommandContext): Promise<number> {
  const options = parseCompareOptions(args);
  if (options === 'help') {
    context.stdout.write(compareUsage());
    return 0;
  }
  // An error must show now, not after an hour of queries.
  if (options.html !== undefined) checkPageFile(options.html);
  const gathered = await gatherQuestions(options, context.stdin);
  if (gathered.questions.size === 0) {
    throw refusal(['there is no question to ask', ...gathered.notes].join('; '));
  }
  const result = await run(options, gathered, context.stderr);
  const data = resultData(result);
  if (options.html !== undefined) writePage(options.html, pageText(data));
  await print(context, options.json ? `${JSON.stringify(data, null, 2)}\n` : tableText(data));
  return result.tally.isFailed ? 1 : 0;
}

async function run(
  options: CompareOptions,
  { questions, api, notes, logs }: Gathered,
  stderr: Output,
): Promise<Result> {
  const { servers, over: ways, rate } = options;
  await checkReach(servers, questions, ways[0] ?? 'udp', options.timeout * 1_000);
  const tally = new Tally(options.rules);
  const running = new Run(options, tally);
  const startedAt = new Date();
  const startMs = performance.now();
  const progress = new Progress(stderr, questions.size, () => ({
    done: tally.questions,
    different: tally.different,
  }));
  try {
    await running.askAll(questions);
  } finally {
    progress.close();
  }
  const { deadSide } = running;
  if (deadSide !== undefined) {
    const reason = tally.givenUp.find(({ side }) => side === deadSide)?.reason ?? '';
    throw refusal(`${deadSide} ${addressText(servers[deadSide])} stopped answering: ${reason}`);
  }
  return {
    startedAt,
    api,
    servers: { left: addressText(servers.left), right: addressText(servers.right) },
    ways,
    rate,
    seconds: (performance.now() - startMs) / 1000,
    notes,
    logs,
    tally,
  };
}

const FIRST_AFTER_MS = 500;
const EVERY_MS = 200;
const BAR_CELLS = 30;
const ERASE_LINE = '\r\u001b[K';

interface ProgressStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

interface ProgressState {
  readonly done: number;
  readonly different: number;
}

/** A progress bar, on a terminal only; close() removes it. */
export class Progress {
  readonly #stream: ProgressStream;
  readonly #total: number;
  readonly #read: () => ProgressState;
  readonly #startedAt = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #isDrawn = false;

  constructor(stream: ProgressStream, total: number, read: () => ProgressState) {
    this.#stream = stream;
    this.#total = total;
    this.#read = read;
    if (stream.isTTY !== true) return;
    this.#timer = setInterval(() => this.#draw(), EVERY_MS);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    if (this.#isDrawn) this.#stream.write(ERASE_LINE);
    this.#isDrawn = false;
  }

  #draw(): void {
    const elapsedMs = performance.now() - this.#startedAt;
    if (elapsedMs < FIRST_AFTER_MS) return;
    this.#isDrawn = true;
    this.#stream.write(ERASE_LINE + progressLine(this.#read(), this.#total, elapsedMs));
  }
}

/** The bar with its figures, as one line. */
export function progressLine(
  { done, different }: ProgressState,
  total: number,
  elapsedMs: number,
): string {
  const part = total === 0 ? 1 : done / total;
  const full = Math.round(part * BAR_CELLS);
  const bar = '█'.repeat(full) + '░'.repeat(BAR_CELLS - full);
  const left = done === 0 ? '' : `, ${durationText((elapsedMs / done) * (total - done))} left`;
  const percent = `${Math.floor(part * 100)} %`.padStart(5);
  return `${bar}${percent}  ${done} of ${total} questions, ${different} differ${left}`;
}

function durationText(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  return seconds < 100 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}
