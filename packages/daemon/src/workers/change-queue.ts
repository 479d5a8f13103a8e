/** Told of each change, in order; it keeps what it needs. */
export type Follower<Change> = (change: Change) => void;

/** What workers have a copy of, as the leader has it. */
export interface ChangeSource<Change> {
  follow(follower: Follower<Change>): void;
  unfollow(follower: Follower<Change>): void;
  /**
   * All that is known, for who followed before: each piece is the state at the moment when it is taken,
   * and changes of what was not taken yet may have been told already.
   */
  snapshot(): Iterator<Change, void>;
  /** What a change is in time or memory, in units of the source's own. */
  weightOf(change: Change): number;
  /** So much is told at a time, but for a single change that is more. */
  readonly batchWeight: number;
  /**
   * When changes of so much wait, they are forgotten and a new snapshot is told, which then has to begin
   * with what empties the copy; without it any number may wait.
   */
  readonly maxWaitingWeight?: number;
}

/** A batch keeps a worker from its socket for a few milliseconds at most. */
const MAX_CHANGES = 256;

/**
 * What one worker has not been told yet: first everything there is, and whatever changes meanwhile in
 * its place. It is taken in batches, at the pace of the worker.
 */
export class ChangeQueue<Change> {
  readonly #source: ChangeSource<Change>;
  readonly #onChange: () => void;
  #snapshot: Iterator<Change, void>;
  #isSnapshotDone = false;
  #changes: Change[] = [];
  #waitingWeight = 0;
  readonly #follower = (change: Change): void => this.#append(change);

  /** `onChange` hears of each change that comes. */
  constructor(source: ChangeSource<Change>, onChange: () => void) {
    this.#source = source;
    this.#onChange = onChange;
    this.#snapshot = source.snapshot();
    source.follow(this.#follower);
  }

  /** Whether nothing waits to be told. */
  get isEmpty(): boolean {
    return this.#isSnapshotDone && this.#changes.length === 0;
  }

  /** The next changes. */
  take(): readonly Change[] {
    const changes = this.#takeChanges();
    // A piece of the snapshot is newer than what waits, so that goes first.
    if (this.#changes.length === 0) this.#takeSnapshot(changes);
    return changes;
  }

  close(): void {
    this.#source.unfollow(this.#follower);
    this.#isSnapshotDone = true;
    this.#changes = [];
  }

  #append(change: Change): void {
    const { maxWaitingWeight = Infinity } = this.#source;
    this.#changes.push(change);
    this.#waitingWeight += this.#source.weightOf(change);
    if (this.#waitingWeight > maxWaitingWeight) this.#startAgain();
    this.#onChange();
  }

  #startAgain(): void {
    this.#changes = [];
    this.#waitingWeight = 0;
    this.#snapshot = this.#source.snapshot();
    this.#isSnapshotDone = false;
  }

  #takeChanges(): Change[] {
    const count = this.#countWithin();
    const taken = this.#changes.slice(0, count);
    this.#changes = this.#changes.slice(count);
    this.#waitingWeight -= this.#weigh(taken);
    return taken;
  }

  #takeSnapshot(changes: Change[]): void {
    const { batchWeight } = this.#source;
    let weight = this.#weigh(changes);
    while (!this.#isSnapshotDone && changes.length < MAX_CHANGES && weight < batchWeight) {
      const { value, done } = this.#snapshot.next();
      if (done === true) this.#isSnapshotDone = true;
      else {
        changes.push(value);
        weight += this.#source.weightOf(value);
      }
    }
  }

  /** How many changes make a batch: one at least. */
  #countWithin(): number {
    let weight = 0;
    for (const [count, change] of this.#changes.entries()) {
      weight += this.#source.weightOf(change);
      if (count > 0 && weight > this.#source.batchWeight) return count;
      if (count === MAX_CHANGES) return count;
    }
    return this.#changes.length;
  }

  #weigh(changes: readonly Change[]): number {
    return changes.reduce((total, change) => total + this.#source.weightOf(change), 0);
  }
}
