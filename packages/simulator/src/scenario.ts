import { disturbs, drawFault, FAULT_KINDS, type Fault, type FaultKind } from './faults.js';
import type { Late } from './cluster/cluster.js';
import type { Sign } from './monitor.js';
import { Random } from './random.js';

/** All that a run depends on, beside the bundles: the same scenario gives the same run. */
export interface Scenario {
  readonly seed: string;
  readonly pods: number;
  readonly nodes: number;
  readonly services: number;
  /** Virtual seconds with changes, questions and faults; starting, calm and audit come on top. */
  readonly seconds: number;
  readonly changesPerSecond: number;
  readonly questionsPerSecond: number;
  /** How often in a minute some hundred objects come or go at once. */
  readonly bulksPerMinute: number;
  /** Starts later than all else. */
  readonly late: Late;
  /** Machines that begin with the programs of another release; each update changes to the other one. */
  readonly others: readonly string[];
  readonly faults: readonly Fault[];
  /** What pages say of these faults; only of rows of FAULTS.md. */
  readonly signs?: readonly Sign[];
  /** The codes of Extended DNS Errors that answers have, some of these and no others; default: any. */
  readonly reasons?: readonly number[];
}

export type ScenarioOptions = Partial<
  Omit<Scenario, 'seed' | 'faults' | 'others' | 'signs' | 'reasons'>
> & {
  /** The kinds to draw from; none: no faults. */
  readonly faults?: readonly FaultKind[];
  /** Seconds between two faults, in the mean. */
  readonly between?: number;
  /** Whether there are two releases. */
  readonly isMixed?: boolean;
};

/** Seconds between two faults, in the mean: a seed draws one. Long calm times show what only they judge. */
const BETWEEN_FAULTS = [40, 120, 300] as const;

/** Another fault begins at the same time. */
const AT_ONCE = 0.2;

/** Of a run that takes three seconds. */
export const SMALL = {
  nodes: 1,
  services: 4,
  changesPerSecond: 0.5,
  questionsPerSecond: 5,
} satisfies ScenarioOptions;

/** Draws what happens from a seed. */
export function drawScenario(seed: string, options: ScenarioOptions = {}): Scenario {
  const random = new Random(`scenario/${seed}`);
  const { pods = 1, nodes = random.between(1, 4), seconds = 600 } = options;
  const kinds = options.faults ?? FAULT_KINDS;
  const faults: Fault[] = [];
  const drawn = random.pick(BETWEEN_FAULTS);
  const { between = drawn } = options;
  // The first minute is for the caches to find all publishers.
  for (let at = 75; kinds.length > 0;) {
    at += Math.round(random.exponential(between));
    if (at >= seconds) break;
    do {
      const fault = drawFault(random, at, kinds, { pods, nodes });
      if (!disturbs(fault, faults)) faults.push(fault);
    } while (random.chance(AT_ONCE));
  }
  const { services = random.between(4, 24) } = options;
  const { changesPerSecond = random.pick([0.2, 1, 3]) } = options;
  const { questionsPerSecond = random.pick([5, 10, 20]) } = options;
  const { bulksPerMinute = random.pick([0, 0.3, 0.6]) } = options;
  const { late = random.pick(['none', 'none', 'api', 'pods'] as const) } = options;
  const others = options.isMixed === true ? drawOthers(random, pods, nodes) : [];
  return {
    seed,
    pods,
    nodes,
    services,
    seconds,
    changesPerSecond,
    questionsPerSecond,
    bulksPerMinute,
    late,
    others,
    faults,
  };
}

/** All that announce changes, all that are at the nodes, or some of both. */
function drawOthers(random: Random, pods: number, nodes: number): readonly string[] {
  const [announcing, asking] = [machines('dns', pods), machines('node', nodes)];
  const some = [...announcing, ...asking].filter(() => random.chance(0.5));
  return random.pick([announcing, asking, some]);
}

function machines(kind: string, count: number): string[] {
  return Array.from({ length: count }, (_, at) => `${kind}-${at}`);
}
