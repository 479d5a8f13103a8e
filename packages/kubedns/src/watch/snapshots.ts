import { createHash, timingSafeEqual } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { errorText, systemReason } from '@kube-dns/base';
import {
  decodeSnapshot,
  encodeSnapshot,
  type Log,
  readTextFile,
  SnapshotFile,
  type SnapshotHeader,
  type SnapshotRules,
  type StatusFacts,
} from '@kube-dns/daemon';
import {
  type ClusterHeader,
  type ClusterSnapshot,
  isNewer,
  readClusterHeader,
  SNAPSHOT_KIND,
  type SnapshotShape,
} from './cluster-snapshot.js';
import type { ClusterVersion } from './cluster-version.js';
import { type ClusterWatch, snapshotSeconds } from './cluster-watch.js';
import { Task } from './pace.js';
import {
  askReplicas,
  nonceOfRequest,
  type Replicas,
  type ReplicaSnapshot,
  withMac,
} from './replicas.js';

/** Times of a start and of writing, in ms. */
export interface SnapshotPace {
  /** How long the API server may be silent at the start before a snapshot is looked for, and taken where nothing listens there, */
  readonly searchMs: number;
  /** and before it is taken where something does. */
  readonly silenceMs: number;
  /** How long it may take to give its lists at the start. */
  readonly listMs: number;
  /** How long other replicas are waited for, */
  readonly replicasMs: number;
  /** of that to find out where they are, and where there is a file, which they may have nothing newer than. */
  readonly findMs: number;
  readonly findBesideFileMs: number;
  /** Between tries to find a snapshot, at most: another replica may be about to have one. */
  readonly retryMs: number;
  /** Until the first write, once the cluster is known: a pod may end soon. */
  readonly firstWriteMs: number;
  /** Between writes, where something has changed. */
  readonly writeMs: number;
  /** After so long it is written without a change, too: what it says stays young. */
  readonly refreshMs: number;
}

const PACE: SnapshotPace = {
  searchMs: 500,
  silenceMs: 2_000,
  // 50,000 slices take three seconds.
  listMs: 10_000,
  replicasMs: 2_000,
  findMs: 1_500,
  findBesideFileMs: 300,
  retryMs: 10_000,
  firstWriteMs: 2_000,
  writeMs: 30_000,
  refreshMs: 600_000,
};
const LOOK_MS = 50;
/** Doubled from try to try. */
const FIRST_RETRY_MS = 1_000;
/** Of the CPU time of a core that writing takes at most: in a large cluster it is done less often. */
const WRITE_PART = 0.01;

export interface SnapshotsOptions {
  /** '' is no file. */
  readonly path: string;
  /** What is older is of no use. */
  readonly maxAgeMs: number;
  readonly shape: SnapshotShape;
  readonly watch: ClusterWatch;
  readonly version: Pick<ClusterVersion, 'bytes'>;
  readonly log: Log;
  /** Who else may have a snapshot; nobody unless given. */
  readonly replicas?: Replicas | undefined;
  /** The file with the secret that all replicas share; '' is none, and nobody gets a snapshot. */
  readonly tokenPath: string;
  readonly pace?: Partial<SnapshotPace>;
}

/**
 * Snapshots of what was listed. They are written to a file while the API server is there. At a start without it the records
 * are taken from that file, or from another replica, whichever is newer.
 */
export class Snapshots {
  /** Of the last write, in ms since 1970; 0 before it. */
  writtenMs = 0;
  /** Of the file. */
  bytes = 0;
  readonly writes = { ok: 0, failed: 0 };
  readonly #options: SnapshotsOptions;
  readonly #pace: SnapshotPace;
  readonly #rules: SnapshotRules;
  readonly #file: SnapshotFile | undefined;
  readonly #life = new Task();
  /** Changes that are in the file. */
  #writtenChanges = -1;
  #writtenAtMs = -Infinity;
  /** Until the last write has ended: one at a time. */
  #writing: Promise<void> = Promise.resolve();
  /** Why there was none from replicas, and what was said of the token. */
  #lastProblem = '';
  #tokenFailure = '';

  constructor(options: SnapshotsOptions) {
    const { path, maxAgeMs, log, pace } = options;
    this.#options = options;
    this.#pace = { ...PACE, ...pace };
    this.#rules = { kind: SNAPSHOT_KIND, maxAgeMs };
    this.#file = path === '' ? undefined : new SnapshotFile({ ...this.#rules, path, log });
  }

  /** Whether others may get a snapshot, with a token. */
  get areGiven(): boolean {
    return this.#options.tokenPath !== '';
  }

  /** What went wrong with the file last; '' where nothing did. */
  get failure(): string {
    const { path = '', failure = '' } = this.#file ?? {};
    return failure === '' ? '' : `snapshot ${path}: ${failure}`;
  }

  /** For the status page. */
  facts(): StatusFacts {
    const { path, watch } = this.#options;
    const { snapshot } = watch;
    const writtenSeconds = Math.round((Date.now() - this.writtenMs) / 1_000);
    return {
      answersFrom: snapshot?.from ?? 'the API server',
      ageSeconds: snapshot === undefined ? null : snapshotSeconds(snapshot),
      file: path === '' ? null : path,
      lastWriteSeconds: this.writtenMs === 0 ? null : writtenSeconds,
      fileBytes: this.bytes,
      failedWrites: this.writes.failed,
    };
  }

  /** Called once, when the watch has started. */
  start(): void {
    void this.#findOne();
    if (this.#file !== undefined) void this.#writeOn(this.#file);
  }

  /** Writes what has changed since the last write. Never rejects. */
  async save(): Promise<void> {
    if (this.#file !== undefined) await this.#write(this.#file);
  }

  /** Ends writing and searching; may be called twice. */
  async close(): Promise<void> {
    this.#life.abort();
    await this.#writing;
  }

  /**
   * What a request with this header `Authorization`, to this address of ours, gets: a snapshot of now in pieces, 401 without the
   * token, or 503 while the cluster is not known as a whole. The file of the token is read each time, so that it can be replaced.
   */
  answerTo(authorization: string, address: string): AsyncGenerator<Buffer> | 401 | 503 {
    const token = this.#readToken();
    if (token === undefined) return 401;
    const nonce = nonceOfRequest(token, authorization, address);
    if (nonce === undefined && !isSameText(authorization, `Bearer ${token}`)) return 401;
    const header = this.#header();
    if (header === undefined) return 503;
    const bytes = encodeSnapshot(header, this.#options.watch.snapshotLines(header.resources));
    return nonce === undefined ? bytes : withMac(bytes, token, nonce);
  }

  #header(): ClusterHeader | undefined {
    const { watch, version, shape } = this.#options;
    const resources = watch.snapshotStates;
    if (resources === undefined) return undefined;
    return {
      kind: SNAPSHOT_KIND,
      writtenMs: Math.round(Date.now() - watch.noContactMs),
      ...shape,
      clusterVersion: Buffer.from(version.bytes ?? []).toString('hex'),
      resources,
    };
  }

  /** Looks for a snapshot while the API server gives no list, until there is one or the other. */
  async #findOne(): Promise<void> {
    const { watch } = this.#options;
    const { searchMs, silenceMs, listMs, retryMs } = this.#pace;
    const isOver = () => watch.isSynced || this.#life.isAborted;
    const startedMs = performance.now();
    let candidates: Promise<ClusterSnapshot[]> | undefined;
    const limitMs = () => (watch.isRefused ? searchMs : silenceMs);
    while (watch.noContactMs < limitMs() && performance.now() - startedMs < listMs) {
      if (isOver()) return;
      // What there is, is known by the time that it is needed.
      if (watch.noContactMs >= searchMs) candidates ??= this.#candidates();
      await this.#life.pause(LOOK_MS);
    }
    let pauseMs = FIRST_RETRY_MS;
    while (!isOver()) {
      candidates ??= this.#candidates();
      for (const found of await candidates) {
        if (isOver()) return;
        try {
          await watch.takeSnapshot(found);
        } catch (error) {
          this.#refuse(found, errorText(error));
          continue;
        }
        this.#keep(found);
      }
      candidates = undefined;
      if (!isOver()) await this.#life.pause(Math.min(pauseMs, retryMs));
      pauseMs *= 2;
    }
  }

  /** What a replica gave is in the file from now on: it is there at the next start, also when no replica is. */
  #keep({ from }: ClusterSnapshot): void {
    const file = this.#file;
    if (file === undefined || from === file.path || !this.#options.watch.isFromSnapshot) return;
    this.#writing = this.#writing.then(() => this.#writeNow(file));
  }

  /** Snapshots of the file and of replicas, the newest first. */
  async #candidates(): Promise<ClusterSnapshot[]> {
    const file = await this.#ofFile();
    const { findMs, findBesideFileMs } = this.#pace;
    const replicas = await this.#ofReplicas(file.length === 0 ? findMs : findBesideFileMs);
    const sorted: ClusterSnapshot[] = [];
    for (const each of [...file, ...replicas]) {
      const at = sorted.findIndex((other) => isNewer(each.header, other.header));
      sorted.splice(at < 0 ? sorted.length : at, 0, each);
    }
    return sorted;
  }

  async #ofFile(): Promise<ClusterSnapshot[]> {
    const file = this.#file;
    const read = await file?.read<SnapshotHeader>();
    if (file === undefined || read === undefined) return [];
    try {
      const header = readClusterHeader(read.header, this.#options.shape);
      return [{ header, lines: read.lines, from: file.path }];
    } catch (error) {
      file.refuse(errorText(error));
      return [];
    }
  }

  /** The newest one of those that replicas gave. */
  async #ofReplicas(findMs: number): Promise<ClusterSnapshot[]> {
    const { replicas, shape } = this.#options;
    const token = replicas && this.#readToken();
    if (token === undefined) return [];
    const limit = AbortSignal.any([this.#life.signal, AbortSignal.timeout(this.#pace.replicasMs)]);
    let newest: ClusterSnapshot | undefined;
    const take = ({ address, bytes }: ReplicaSnapshot) => {
      const { header: read, lines } = decodeSnapshot(bytes, this.#rules);
      const header = readClusterHeader(read, shape);
      if (newest === undefined || isNewer(header, newest.header))
        newest = { header, lines, from: `replica ${address}` };
    };
    const problems = await askReplicas({ ...replicas!, findMs }, token, take, limit);
    if (newest !== undefined) return [newest];
    if (!this.#life.isAborted) this.#noteProblem(problems.join('; '));
    return [];
  }

  #refuse({ from }: ClusterSnapshot, reason: string): void {
    if (from === this.#file?.path) this.#file.refuse(reason);
    else this.#noteProblem(`${from}: ${reason}`);
  }

  #noteProblem(problem: string): void {
    if (problem !== '' && problem !== this.#lastProblem)
      this.#options.log.warn(`no snapshot from other replicas: ${problem}`);
    this.#lastProblem = problem;
  }

  async #writeOn(file: SnapshotFile): Promise<void> {
    const { firstWriteMs, writeMs, refreshMs } = this.#pace;
    let pauseMs = firstWriteMs;
    while (await this.#life.pause(Math.min(pauseMs, refreshMs))) {
      if (!this.#options.watch.isSynced) continue;
      // With what else the process does meanwhile: at worst a write is later.
      const before = process.cpuUsage();
      await this.#write(file);
      const { user, system } = process.cpuUsage(before);
      pauseMs = Math.max(writeMs, (user + system) / 1_000 / WRITE_PART);
    }
  }

  /** Without contact nothing is new, and what is known gets no younger. */
  get #isChanged(): boolean {
    const { watch, maxAgeMs } = this.#options;
    if (watch.changes !== this.#writtenChanges) return !watch.isFromSnapshot;
    const refreshMs = Math.min(this.#pace.refreshMs, maxAgeMs / 2);
    return watch.noContactMs === 0 && performance.now() - this.#writtenAtMs >= refreshMs;
  }

  #write(file: SnapshotFile): Promise<void> {
    const write = async () => {
      if (this.#isChanged) await this.#writeNow(file);
    };
    return (this.#writing = this.#writing.then(write));
  }

  async #writeNow(file: SnapshotFile): Promise<void> {
    const { watch } = this.#options;
    const { changes } = watch;
    const header = this.#header();
    if (header === undefined) return;
    const isWritten = await file.write(header, watch.snapshotLines(header.resources));
    this.writes[isWritten ? 'ok' : 'failed']++;
    if (!isWritten) return;
    this.#writtenChanges = changes;
    this.#writtenAtMs = performance.now();
    this.writtenMs = Date.now();
    this.bytes = await stat(file.path).then(
      ({ size }) => size,
      () => 0,
    );
  }

  /** Undefined where there is no token; that is logged once. */
  #readToken(): string | undefined {
    const { tokenPath, log } = this.#options;
    if (tokenPath === '') return undefined;
    let failure = 'it is empty';
    let isThere = true;
    try {
      const token = readTextFile(tokenPath).trim();
      if (token !== '') {
        this.#tokenFailure = '';
        return token;
      }
    } catch (error) {
      failure = systemReason(error);
      isThere = (error as NodeJS.ErrnoException).code !== 'ENOENT';
    }
    if (failure !== this.#tokenFailure) {
      // With a `=` the log would hide the path.
      const text = `--snapshot-token ${tokenPath}: ${failure}; replicas give each other no snapshots`;
      // The manifests have the option, and the Secret where somebody has made it.
      if (isThere) log.error(text);
      else log.info(text);
    }
    this.#tokenFailure = failure;
    return undefined;
  }
}

/** In a time that does not tell how much of it is the same. */
function isSameText(one: string, other: string): boolean {
  const [first, second] = [one, other].map((text) => createHash('sha256').update(text).digest());
  return timingSafeEqual(first!, second!);
}
