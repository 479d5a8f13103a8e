const FIRST_AFTER_MS = 500;
const EVERY_MS = 200;
const BAR_CELLS = 30;
const ERASE_LINE = '\r\u001b[K';

/** The stream of the bar: stderr. */
export interface ProgressStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** The state of a run. */
export interface ProgressState {
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
