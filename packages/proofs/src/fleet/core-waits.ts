import { readFileSync } from 'node:fs';
import { type Closable, monotonicMs } from '@kube-dns/testkit';

interface Sample {
  readonly atMs: number;
  readonly waitedMs: number;
}

const EVERY_MS = 20;
const NS_PER_MS = 1e6;

/** How long programs waited for a core: what a busy machine costs them, not what they do. */
export class CoreWaits implements Closable {
  readonly #pids: () => ReadonlyMap<string, number>;
  readonly #samples = new Map<string, Sample[]>();
  readonly #timer: NodeJS.Timeout;

  /** `pids`: the process of each name now. */
  constructor(pids: () => ReadonlyMap<string, number>) {
    this.#pids = pids;
    this.#timer = setInterval(() => this.#sample(), EVERY_MS);
  }

  /** How long the two programs that waited most did so between two moments of `monotonicMs`: a change passes several in turn. */
  longestMs(fromMs: number, toMs: number): number {
    const waits = [...this.#samples.values()].map((samples) => {
      const before = samples.findLast(({ atMs }) => atMs <= fromMs) ?? samples[0]!;
      const after = samples.find(({ atMs }) => atMs >= toMs) ?? samples.at(-1)!;
      return after.waitedMs - before.waitedMs;
    });
    const [first = 0, second = 0] = waits.sort((a, b) => b - a);
    return first + second;
  }

  /** May be called twice. */
  close(): void {
    clearInterval(this.#timer);
  }

  #sample(): void {
    for (const [name, pid] of this.#pids()) {
      try {
        // Of the first thread, which is the event loop: time on a core, time in wait for one, in nanoseconds.
        const [, waitedNs = '0'] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ');
        const samples = this.#samples.get(name) ?? [];
        this.#samples.set(name, samples);
        samples.push({ atMs: monotonicMs(), waitedMs: Number(waitedNs) / NS_PER_MS });
      } catch {
        // It has ended.
      }
    }
  }
}
