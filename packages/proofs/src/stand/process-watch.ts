import { readdirSync } from 'node:fs';
import { type Closable, MeasureError, peakRssBytes, resetPeak, rssBytes } from '@kube-dns/testkit';

const STEP_MS = 50;

/** How many descriptors a process has open; throws a MeasureError when it is gone. */
export function openDescriptors(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch (cause) {
    throw new MeasureError(`cannot look at process ${pid}: it ended, or this is no Linux`, {
      cause,
    });
  }
}

/** The most memory and descriptors that a process has from now on, until it is closed. */
export class ProcessWatch implements Closable {
  readonly #pid: number;
  readonly #isPeakReset: boolean;
  readonly #timer: NodeJS.Timeout;
  #rssBytes = 0;
  #descriptors = 0;

  constructor(pid: number) {
    this.#pid = pid;
    this.#isPeakReset = resetPeak(pid);
    this.#look();
    this.#timer = setInterval(() => this.#look(), STEP_MS);
  }

  get peakRssBytes(): number {
    // Where the kernel starts its peak anew nothing between two looks is missed.
    return this.#isPeakReset ? peakRssBytes(this.#pid) : this.#rssBytes;
  }

  get peakDescriptors(): number {
    return this.#descriptors;
  }

  close(): Promise<void> {
    clearInterval(this.#timer);
    return Promise.resolve();
  }

  #look(): void {
    try {
      this.#rssBytes = Math.max(this.#rssBytes, rssBytes(this.#pid));
      this.#descriptors = Math.max(this.#descriptors, openDescriptors(this.#pid));
    } catch {
      // Whoever asks next for a figure of it hears that the process is gone.
    }
  }
}
