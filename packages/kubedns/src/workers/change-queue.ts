import type { Batch, Change, Facts, NumberedSlice } from './worker-messages.js';
import type { ZoneFeed } from './zone-feed.js';

/** A batch keeps a worker from its socket for a few milliseconds at most. */
const MAX_CHANGES = 256;
const MAX_ENDPOINTS = 8_192;

/**
 * What one worker has not been told yet: first everything there is, and whatever changes meanwhile in
 * its place. It is taken in batches, at the pace of the worker; what waits are references to what the
 * leader has in memory anyway.
 */
export class ChangeQueue {
  readonly #feed: ZoneFeed;
  readonly #snapshot: Generator<Change, void>;
  readonly #onChange: () => void;
  #changes: Change[];
  #isSnapshotDone = false;
  readonly #follower = (change: Change): void => {
    this.#changes.push(change);
    this.#onChange();
  };

  /** `facts` are those of now; `onChange` hears of each change that comes. */
  constructor(feed: ZoneFeed, facts: Facts, onChange: () => void) {
    this.#feed = feed;
    this.#changes = [['facts', facts]];
    this.#onChange = onChange;
    this.#snapshot = feed.snapshot();
    feed.follow(this.#follower);
  }

  /** Whether nothing waits to be told. */
  get isEmpty(): boolean {
    return this.#isSnapshotDone && this.#changes.length === 0;
  }

  /** The next changes; `serial` is that of the zone now. */
  take(serial: number): Batch {
    const changes = this.#takeChanges();
    // A piece of the snapshot is newer than what waits, so that goes first.
    if (this.#changes.length === 0) this.#takeSnapshot(changes);
    return { changes, serial };
  }

  close(): void {
    this.#feed.unfollow(this.#follower);
    this.#isSnapshotDone = true;
    this.#changes = [];
  }

  #takeChanges(): Change[] {
    const count = countWithin(this.#changes);
    const taken = this.#changes.slice(0, count);
    this.#changes = this.#changes.slice(count);
    return taken;
  }

  #takeSnapshot(changes: Change[]): void {
    let endpoints = changes.reduce((total, change) => total + weightOf(change), 0);
    while (!this.#isSnapshotDone && changes.length < MAX_CHANGES && endpoints < MAX_ENDPOINTS) {
      const { value, done } = this.#snapshot.next();
      if (done === true) this.#isSnapshotDone = true;
      else {
        changes.push(value);
        endpoints += weightOf(value);
      }
    }
  }
}

/** How many changes make a batch: one at least. */
function countWithin(changes: readonly Change[]): number {
  let endpoints = 0;
  for (const [count, change] of changes.entries()) {
    endpoints += weightOf(change);
    if (count > 0 && endpoints > MAX_ENDPOINTS) return count;
    if (count === MAX_CHANGES) return count;
  }
  return changes.length;
}

/** Bytes of addresses, in endpoints of IPv4. */
function weightOf(change: Change): number {
  if (change[0] === 'slice') return change[2] === undefined ? 0 : endpointsOf([change[2]]);
  return change[0] === 'whole' ? endpointsOf(change[3]) : 0;
}

function endpointsOf(slices: readonly NumberedSlice[]): number {
  let bytes = 0;
  for (const [, { groups }] of slices) for (const group of groups) bytes += group.bytes.length;
  return bytes / 4;
}
