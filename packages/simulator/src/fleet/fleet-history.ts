import { US } from './fleet-plan.js';

/** Resources whose changes change answers, by their place in a version of the cluster: services and their endpoints. */
export const RESOURCES = [0, 1] as const;
export type Resource = (typeof RESOURCES)[number];

/** Versions, by resource, up to which changes are known. */
export type Known = readonly [services: number, endpoints: number];

/** A change at the API server. */
export interface Change {
  readonly version: number;
  readonly resource: Resource;
  /** The number of the name that it changes. */
  readonly name: number;
  readonly atUs: number;
  /** When the kubedns of each pod applied it; NaN before. */
  readonly appliedUs: Float64Array;
}

/** Nothing may be older. */
const KEPT_US = 150 * US;

/** The API server: what changed when. */
export class FleetHistory {
  /** Of the last change. */
  version = 1_000;
  /** That of the last change of each resource. */
  readonly lastOf = RESOURCES.map(() => this.version);
  readonly #pods: number;
  /** Of each name, the oldest first. */
  readonly #changes: Change[][];
  /** Of each name and resource, that of the last change. */
  readonly #last = RESOURCES.map(() => new Float64Array(0));

  constructor(names: number, pods: number) {
    this.#pods = pods;
    this.#changes = Array.from({ length: names }, () => []);
    this.#last = RESOURCES.map(() => new Float64Array(names));
  }

  add(name: number, resource: Resource, atUs: number): Change {
    const appliedUs = new Float64Array(this.#pods).fill(Number.NaN);
    const change = { version: ++this.version, resource, name, atUs, appliedUs };
    const changes = this.#changes[name]!;
    while (changes.length > 0 && changes[0]!.atUs < atUs - KEPT_US) changes.shift();
    changes.push(change);
    this.#last[resource]![name] = this.lastOf[resource] = change.version;
    return change;
  }

  /** Whether an answer for a name knows all of its changes. */
  isKnown(name: number, known: Known): boolean {
    return RESOURCES.every((resource) => known[resource] >= this.#last[resource]![name]!);
  }

  /** The last change of a name that has a time by this function; undefined without one. */
  lastApplied(name: number, appliedUs: (change: Change) => number): Change | undefined {
    return this.#changes[name]!.findLast((change) => !Number.isNaN(appliedUs(change)));
  }

  /** The changes of a name that an answer does not know, the oldest first. */
  unknown(name: number, known: Known): readonly Change[] {
    return this.#changes[name]!.filter(({ version, resource }) => version > known[resource]);
  }
}
