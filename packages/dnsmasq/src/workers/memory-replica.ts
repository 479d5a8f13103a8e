import type { Log } from '@kube-dns/daemon';
import { AnswerCache } from '../cache/answer-cache.js';
import { cacheOptions } from '../cache/answer-cache-options.js';
import { LocalData } from '../local/local-data.js';
import type { DnsmasqOptions } from '../options/option-values.js';
import { Epochs } from './epochs.js';
import { clockOf } from './thread-clock.js';
import type { Change, WorkerStart } from './worker-messages.js';

/** What there is to say about files the leader says. */
const SILENT: Log = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  verbose: () => undefined,
  isEnabled: () => false,
};

/** Of no epoch: nothing was told yet. */
const UNKNOWN = -1;

type ReplicaStart = Pick<WorkerStart, 'epochs' | 'clockOffsetMs'> & {
  readonly options: DnsmasqOptions;
};

/** A worker's copy of what the leader answers from memory. */
export class MemoryReplica {
  readonly cache: AnswerCache;
  readonly local: LocalData;
  readonly #epochs: Epochs;
  readonly #onAddresses: (addresses: readonly string[]) => void;
  #cacheEpoch = UNKNOWN;
  #hostsEpoch = UNKNOWN;

  /** `onAddresses` hears which addresses are served. */
  constructor(start: ReplicaStart, onAddresses: (addresses: readonly string[]) => void) {
    const { options, clockOffsetMs } = start;
    this.#epochs = new Epochs(start.epochs);
    this.#onAddresses = onAddresses;
    this.cache = new AnswerCache({ ...cacheOptions(options), nowSeconds: clockOf(clockOffsetMs) });
    this.local = new LocalData({ options, log: SILENT, watchesFolders: false });
  }

  /** Whether nothing is in it that the leader has forgotten; then it may be answered from. */
  get isCurrent(): boolean {
    return this.#cacheEpoch === this.#epochs.cache && this.#hostsEpoch === this.#epochs.hosts;
  }

  take(changes: readonly Change[]): void {
    for (const change of changes) this.#apply(change);
  }

  close(): void {
    this.cache.close();
    this.local.close();
  }

  #apply(change: Change): void {
    switch (change[0]) {
      case 'stored':
        this.cache.storeCopy(change[1]);
        break;
      case 'dropped':
        this.cache.dropBelow(change[1]);
        this.#cacheEpoch = change[2];
        break;
      case 'cleared':
        this.cache.clear();
        this.#cacheEpoch = change[1];
        break;
      case 'hosts':
        void this.#readHosts();
        break;
      case 'addresses':
        this.#onAddresses(change[1]);
    }
  }

  /** What is read now is at least as new as what the leader has. */
  async #readHosts(): Promise<void> {
    const epoch = this.#epochs.hosts;
    await this.local.reload();
    this.#hostsEpoch = epoch;
  }
}
