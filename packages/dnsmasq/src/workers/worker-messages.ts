import type { ListenerCounters } from '@kube-dns/transport';
import type { Interfaces } from '../listen-addresses.js';
import type { DnsmasqOptions } from '../options/option-values.js';

/** One change of what workers know. Epochs are those that it brings, see `Epochs`. */
export type Change =
  /** An entry of the cache, packed. */
  | readonly ['stored', packed: Uint8Array]
  /** The names at and below a domain are not in the cache any more. */
  | readonly ['dropped', domain: Uint8Array, cacheEpoch: number]
  | readonly ['cleared', cacheEpoch: number]
  /** Hosts files and interfaces are to be read again. */
  | readonly ['hosts']
  /** All addresses that are served. */
  | readonly ['addresses', addresses: readonly string[]];

/** What a worker starts with. */
export interface WorkerStart {
  readonly options: DnsmasqOptions;
  readonly engine: 'batch' | 'dgram';
  /** The port of the leader's sockets. */
  readonly port: number;
  /** As the leader saw them when it started. */
  readonly interfaces: Interfaces;
  /** Of `Epochs`. */
  readonly epochs: SharedArrayBuffer;
  /** Of the leader's clock, see `clockOf`. */
  readonly clockOffsetMs: number;
}

/** What a worker says to the leader: queries, packed. */
export type Handed = Uint8Array;

/** What the leader says to a worker: answers, packed. */
export interface HandedBack {
  /** The queries that were handed over last have been looked at. */
  readonly isTaken: boolean;
  readonly answers: Uint8Array<ArrayBuffer>;
}

/** What a listener counts, as plain data. */
export type ListenerFigures = Pick<ListenerCounters, keyof ListenerCounters>;

/** Everything that one worker counts, as plain data that only grows. */
export interface Figures {
  /** As the answerer's. What was handed to the leader counts there. */
  readonly hits: number;
  readonly listener: ListenerFigures;
  readonly unexpectedErrors: number;
}
