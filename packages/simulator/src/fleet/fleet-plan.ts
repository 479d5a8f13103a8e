import type { Costs } from './costs.js';
import type { Constants } from './fleet-code.js';
import { Histogram } from './histogram.js';

export const US = 1_000_000;
export const SERVICE_HOST = '10.96.0.10';
/** Names that a node asks for. */
export const HOT_NAMES = 50;
/** A client asks again after this time. */
export const TIMEOUT_US = 2 * US;
export const ROUND_TRIP_US = 400;
/** A log that nobody reads. */
export const LOG = { info: () => undefined, warn: () => undefined };

/** What a run of a fleet is made of. */
export interface FleetPlan {
  readonly seed: string;
  /** Nodes, each with a node-cache; DNS pods behind the Service. */
  readonly nodes: number;
  readonly pods: number;
  /** Nodes whose node-caches publish to all others; 0: all are subscribed to the pods. */
  readonly relays: number;
  /** Of the cluster; a node asks for 50 of them. */
  readonly names: number;
  readonly changesPerSecond: number;
  /** Of each node. */
  readonly questionsPerSecond: number;
  readonly costs: Costs;
  /** Other limits than those of the code. */
  readonly constants: Constants;
  /** While changes get to a cache, its answers know each one after so many milliseconds. */
  readonly freshMs: number;
  /** All node-caches are one process, as the subscribers of the bench are: to compare both. */
  readonly isCrowd?: boolean;
}

/** A run with faults. */
export interface FaultPlan extends FleetPlan {
  /** So many events at least. */
  readonly events: number;
  /** Numbers of faults that do not happen. */
  readonly without: ReadonlySet<number>;
  /** The life of a name at a node, line by line. */
  readonly trace?: { readonly name: number; readonly node: number | undefined } | undefined;
}

/** What clients and caches see in some part of a run. */
export class Window {
  /** From a change at the API server until a subscribed cache has dropped its name, in microseconds. */
  readonly freshness = new Histogram();
  /** How old answers were that did not know a change of their name: since the first one. */
  readonly staleness = new Histogram();
  /** Answers; those that are pinned; and those of a cache. */
  answers = 0;
  pinned = 0;
  hits = 0;
  /** Questions that a pod did not answer, which were sent again. */
  unanswered = 0;
  /** How long a question waited at a pod, in microseconds. */
  readonly waits = new Histogram();
  connections = 0;
  refused = 0;
  /** Messages of servers to subscribers. */
  messages = 0;
  /** Questions to pods. */
  questions = 0;
}
