import type { ContainerName } from '../fixtures/manifest-pod.js';
import type { AnswerFigures } from './answer-log.js';

/** What a container uses at one moment. */
export interface ContainerSample {
  readonly rssBytes: number;
  readonly heapBytes: number;
  readonly descriptors: number;
  /** Timers and handles that keep its loop alive, see resource-watch.ts. */
  readonly resources: number;
  /** CPU time of all threads since its start. */
  readonly cpuMs: number;
  /** Uncaught errors, and questions that a defect left without an answer. */
  readonly unhandled: number;
}

/** Everything that is looked at, at one moment. */
export interface Sample {
  /** Seconds since the load began. */
  readonly atSeconds: number;
  /** The time since the last look, which the answers belong to. */
  readonly seconds: number;
  readonly containers: Readonly<Record<ContainerName, ContainerSample>>;
  readonly answers: AnswerFigures;
  readonly cacheRecords: number;
  readonly cacheMaxRecords: number;
  readonly cacheEvictions: number;
  /** Whole lists of kubedns after the first ones. */
  readonly relists: number;
  readonly configGeneration: number;
  /** Changes of services so far, and how late one was at the most. */
  readonly changes: number;
  readonly changeMaxLateMs: number;
  /** Pages of metrics that did not come within two seconds, so far. */
  readonly scrapeFailures: number;
}
