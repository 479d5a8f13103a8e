import { errorText, within } from '@kube-dns/base';
import {
  byKey,
  type Log,
  type MetricFamily,
  type MetricPrefix,
  SnapshotFile,
  type SnapshotHeader,
  type StatusFacts,
} from '@kube-dns/daemon';
import type { ChangeListener, PublisherProcess, Subscriptions } from '@kube-dns/push';
import {
  expandKey,
  HEADER_BYTES,
  IDENTITY_BYTES,
  MAX_NAME_BYTES,
  QUESTION_OFFSET,
} from '@kube-dns/wire';
import type { ServedBlock } from './served-block.js';
import { ZoneSet } from './zones.js';

const KIND = 'node-cache';
/** Of all lines, before compression: some 20,000 answers. Of more than that those that were used last are written. */
const MAX_BYTES = 4 * 1024 * 1024;
/** Of a line beside its message: two times, and marks. As text a message has four characters for three bytes. */
const LINE_BYTES = 30;
const MESSAGE_PART = 3 / 4;
const WRITE_MS = 30_000;
/** No answer that was stored earlier is of use: it is pinned for an hour at most, and then served expired for a minute. */
const MAX_AGE_MS = 3_660_000;
/** The start waits so long for the file, and the end for the last writing of it: the disk may hang. */
const READ_LIMIT_MS = 500;
const WRITE_LIMIT_MS = 3_000;

interface Header extends SnapshotHeader {
  /** Those of the cluster, when it was written. */
  readonly zones: readonly string[];
  /** The identity of the versions of the cluster's records, in hexadecimal; '' where it is not known. */
  readonly cluster: string;
}

/** What became of the lines of the file: `outdated` ones are too old, of a time to come, or there was a newer answer. */
type LineResult = 'restored' | 'outdated' | 'outside' | 'unsound';

export interface ClusterSnapshotOptions {
  readonly path: string;
  readonly blocks: { readonly all: readonly ServedBlock[] };
  readonly subscriptions: Pick<Subscriptions, 'servers' | 'passOnTo'>;
  readonly log: Log;
  /** Milliseconds since 1970; the machine's unless given. */
  readonly now?: () => number;
}

/**
 * A file with the cached answers of the cluster's zones. After a restart they are expired ones: clients get them where they
 * get expired answers, while the servers are silent, until the minute after their end is over. When a server announces its changes
 * all of them are dropped: what changed since the file was written is not known, and it may be the file of another cluster.
 *
 *     a line:  [stored, expired, message]     milliseconds since 1970; the answer as a response in base64
 */
export class ClusterSnapshot implements ChangeListener {
  /** The file was read, or cannot be. */
  isRead = false;
  readonly #options: ClusterSnapshotOptions;
  readonly #file: SnapshotFile;
  readonly #now: () => number;
  readonly #lines: Record<LineResult, number> = {
    restored: 0,
    outdated: 0,
    outside: 0,
    unsound: 0,
  };
  readonly #writes = { ok: 0, failed: 0 };
  readonly #name = new Uint8Array(MAX_NAME_BYTES);
  /** When the file was written last, here or before the start; 0 is not known. */
  #writtenMs = 0;
  /** That of the file, and then of the servers. */
  #cluster = '';
  /** A server announces changes, or did. */
  #wasLive = false;
  #restoring: Promise<void> | undefined;
  /** Runs once it is read. */
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #writing: Promise<void> | undefined;
  /** Answers that were stored until the last writing. */
  #storedBefore = 0;

  constructor(options: ClusterSnapshotOptions) {
    const { path, subscriptions, log, now = Date.now } = options;
    this.#options = options;
    this.#now = now;
    this.#file = new SnapshotFile({
      path,
      kind: KIND,
      maxAgeMs: MAX_AGE_MS,
      maxContentBytes: MAX_BYTES,
      now,
      log,
    });
    subscriptions.passOnTo(this);
  }

  get isStarted(): boolean {
    return this.#restoring !== undefined;
  }

  /** Called once: reads the file into the caches, and writes it every 30 s from then on. Resolves after 500 ms at most. */
  async start(): Promise<void> {
    this.#restoring = this.#restore().finally(() => {
      this.isRead = true;
      if (!this.#isClosed) this.#timer = setInterval(() => void this.write(), WRITE_MS).unref();
    });
    await within(READ_LIMIT_MS, this.#restoring);
  }

  /** Writes the file, if there is something new. One writing at a time; never rejects. */
  write(): Promise<void> {
    this.#writing ??= this.#write().finally(() => (this.#writing = undefined));
    return this.#writing;
  }

  /** Writes what is new, and ends; after 3 s without that. A file that was not read to its end stays. May be called twice. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#timer);
    if (!this.isRead) return;
    const written = (this.#writing ?? Promise.resolve()).then(() => this.write());
    await within(WRITE_LIMIT_MS, written);
  }

  // What servers announce.

  /** What was read is of no use from now on. */
  onLive({ version }: Pick<PublisherProcess, 'version'>): void {
    const { log } = this.#options;
    const cluster = identityOf(version);
    if (!this.#wasLive && cluster !== '' && this.#cluster !== '' && cluster !== this.#cluster) {
      log.warn(
        `snapshot ${this.#file.path} is of another cluster: what was read from it is dropped`,
      );
    }
    this.#wasLive = true;
    this.#cluster = cluster;
    this.#dropRestored();
  }

  onChanged(): void {
    // The caches drop what changes.
  }

  onFlushed(): void {
    // As above.
  }

  onEnded(): void {
    // Its last answers are written.
  }

  // What is shown.

  /** The answers in the caches that came from the file. */
  get entries(): number {
    return this.#blocks.reduce((sum, { resolver }) => sum + resolver.describe().cache.restored, 0);
  }

  facts(): StatusFacts {
    const ageMs = this.#writtenMs === 0 ? null : this.#now() - this.#writtenMs;
    return {
      file: this.#file.path,
      entries: this.entries,
      ageSeconds: ageMs === null ? null : Math.round(ageMs / 1_000),
      read: countsText(this.#lines),
      written: countsText(this.#writes),
      failure: this.#file.failure === '' ? null : this.#file.failure,
    };
  }

  /** A sentence where the file cannot be read or written. */
  problems(): string[] {
    const { path, failure } = this.#file;
    if (failure === '') return [];
    return [
      `the snapshot ${path} is of no use (${failure}): after a restart there are no expired answers`,
    ];
  }

  families({ counter, gauge }: MetricPrefix): MetricFamily[] {
    return [
      gauge('snapshot_entries', 'Cached answers that came from the snapshot.', () => this.entries),
      gauge(
        'snapshot_last_write_timestamp_seconds',
        'When the snapshot was written last, in seconds since the epoch; 0 without one.',
        () => Math.round(this.#writtenMs / 1_000),
      ),
      counter(
        'snapshot_lines_total',
        'Answers that were read from the snapshot, by what became of them.',
        byKey('result', () => this.#lines),
      ),
      counter(
        'snapshot_writes_total',
        'How often the snapshot was written, by result.',
        byKey('result', () => this.#writes),
      ),
    ];
  }

  // Reading.

  async #restore(): Promise<void> {
    const snapshot = await this.#file.read<Header>();
    const isLate = this.#wasLive;
    if (snapshot === undefined || isLate) return;
    const { writtenMs, cluster } = snapshot.header;
    this.#writtenMs = writtenMs;
    this.#cluster = typeof cluster === 'string' ? cluster : '';
    const byZone = this.#byZone();
    try {
      for await (const line of snapshot.lines) {
        // From now on a change of its name would not be noticed.
        if (this.#wasLive) return;
        this.#lines[this.#restoreLine(line, byZone)]++;
      }
    } catch (error) {
      this.#file.refuse(errorText(error));
      this.#dropRestored();
      return;
    }
    const { restored } = this.#lines;
    this.#options.log.info(
      `snapshot ${this.#file.path}: ${restored} answers of the cluster are known, as expired ones`,
    );
  }

  #restoreLine(line: string, byZone: ZoneSet<ServedBlock[]>): LineResult {
    const read = readLine(line);
    if (read === undefined) return 'unsound';
    const { storedMs, expiredMs, message } = read;
    const length = expandKey(message, QUESTION_OFFSET, message.length, this.#name);
    if (length <= 0) return 'unsound';
    const blocks = (byZone.find(this.#name, length) ?? []).filter(isSaved);
    if (blocks.length === 0) return 'outside';
    const nowMs = this.#now();
    if (storedMs > nowMs || nowMs - storedMs > MAX_AGE_MS) return 'outdated';
    const results = blocks.map((block) =>
      block.restore(message, (nowMs - storedMs) / 1_000, (nowMs - expiredMs) / 1_000),
    );
    if (results.includes('restored')) return 'restored';
    return results.includes('outdated') ? 'outdated' : 'unsound';
  }

  /** All blocks, those of the cluster or not: the longest zone that a name is in decides. */
  #byZone(): ZoneSet<ServedBlock[]> {
    const byName = new Map<string, ServedBlock[]>();
    for (const block of this.#options.blocks.all) {
      for (const { zone } of block.block.zones) {
        const blocks = byName.get(zone) ?? [];
        byName.set(zone, blocks);
        blocks.push(block);
      }
    }
    const byZone = new ZoneSet<ServedBlock[]>();
    for (const [zone, blocks] of byName) byZone.set(zone, blocks);
    return byZone;
  }

  #dropRestored(): void {
    for (const { resolver } of this.#blocks) resolver.dropRestored();
  }

  // Writing.

  get #blocks(): readonly ServedBlock[] {
    return this.#options.blocks.all.filter(isSaved);
  }

  async #write(): Promise<void> {
    const stored = this.#stored;
    const isPinned = this.#options.subscriptions.servers.some(({ live }) => live !== undefined);
    // What is pinned expires later all the time.
    if (stored === this.#storedBefore && !isPinned) return;
    const served = this.#blocks.flatMap(({ block }) => block.zones.map(({ zone }) => zone));
    const zones = [...new Set(served)];
    const writtenMs = this.#now();
    const header: Header = { kind: KIND, writtenMs, zones, cluster: this.#cluster };
    if (await this.#file.write(header, this.#answers())) {
      this.#writes.ok++;
      this.#writtenMs = writtenMs;
      this.#storedBefore = stored;
    } else this.#writes.failed++;
  }

  /** How many answers were stored so far; that of other blocks is another number. */
  get #stored(): number {
    return this.#blocks.reduce(
      (sum, { resolver }) => sum + resolver.describe().cache.totalInsertions,
      0,
    );
  }

  /** The blocks in the order of the Corefile, each as far as there is room. */
  *#answers(): Generator<string> {
    let left = MAX_BYTES;
    for (const { resolver } of this.#blocks) {
      for (const answer of resolver.snapshotAnswers(left * MESSAGE_PART, LINE_BYTES)) {
        const nowMs = this.#now();
        const line = JSON.stringify([
          Math.round(nowMs - answer.ageSeconds * 1_000),
          Math.round(nowMs - answer.expiredSeconds * 1_000),
          Buffer.from(answer.message).toString('base64'),
        ]);
        left -= line.length + 1;
        yield line;
      }
    }
  }
}

/** Whether the answers of a block are in the file: they are the cluster's, and it caches them. */
function isSaved({ isOfCluster, replies }: ServedBlock): boolean {
  return isOfCluster && replies !== undefined;
}

/** The line of an answer, which may be anything; undefined for what is none. */
function readLine(
  line: string,
): { readonly storedMs: number; readonly expiredMs: number; readonly message: Buffer } | undefined {
  let row: unknown;
  try {
    row = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (!Array.isArray(row)) return undefined;
  const [storedMs, expiredMs, text] = row as unknown[];
  if (typeof storedMs !== 'number' || typeof expiredMs !== 'number' || typeof text !== 'string') {
    return undefined;
  }
  if (!(storedMs <= expiredMs)) return undefined;
  const message = Buffer.from(text, 'base64');
  return message.length > HEADER_BYTES ? { storedMs, expiredMs, message } : undefined;
}

function identityOf(version: Uint8Array | undefined): string {
  return version === undefined
    ? ''
    : Buffer.from(version.subarray(0, IDENTITY_BYTES)).toString('hex');
}

/** `restored 12, outdated 3`. */
function countsText(counts: Readonly<Record<string, number>>): string {
  const counted = Object.entries(counts).filter(([, count]) => count > 0);
  return counted.map(([what, count]) => `${what} ${count}`).join(', ');
}
