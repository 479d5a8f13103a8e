import { Session } from 'node:inspector';

/** Only code of the containers and of their libraries counts, and not the fuzzer's own. */
const OWN = '/packages/proofs/';
const COUNTED = '/packages/';

/**
 * Tells which inputs reach code that none before them has reached, by the block coverage of V8. Taking
 * it costs a millisecond or two, and counting makes all code slower: it is for the beginning of a run.
 */
export class CoverageGuide {
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
