import { Random } from './random.js';

/** What goes wrong, from a time on, for a time. Machines and programs by their names. */
export type Fault = {
  /** Virtual seconds since the start. */
  readonly at: number;
  /** In seconds; what it did is undone then. */
  readonly for: number;
} & (
  | { readonly kind: 'kill'; readonly machine: string; readonly program: string }
  | { readonly kind: 'freeze'; readonly machine: string; readonly program: string }
  | { readonly kind: 'cut'; readonly machine: string; readonly other: string }
  | {
      readonly kind: 'link';
      readonly loss: number;
      readonly duplicate: number;
      readonly reorder: number;
      readonly delayMs: number;
    }
  | { readonly kind: 'clock'; readonly machine: string; readonly byMs: number }
);

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
  readonly faults: readonly Fault[];
}

export type ScenarioOptions = Partial<Omit<Scenario, 'seed' | 'faults'>> & {
  /** The kinds to draw from; none: no faults. */
  readonly faults?: readonly Fault['kind'][];
};

export const FAULT_KINDS: readonly Fault['kind'][] = ['kill', 'freeze', 'cut', 'link', 'clock'];
/** How often each kind is drawn, beside the others. */
export const FAULT_WEIGHTS: Readonly<Record<Fault['kind'], number>> = {
  kill: 4,
  freeze: 3,
  cut: 4,
  link: 2,
  clock: 1,
};
/** Seconds between two faults, in the mean: a seed draws one. Long calm times show what only they judge. */
const BETWEEN_FAULTS = [40, 120, 300] as const;

/** Draws what happens from a seed. */
export function drawScenario(seed: string, options: ScenarioOptions = {}): Scenario {
  const random = new Random(`scenario/${seed}`);
  const { pods = 1, nodes = random.between(1, 4), seconds = 600 } = options;
  const kinds = options.faults ?? FAULT_KINDS;
  const faults: Fault[] = [];
  const between = random.pick(BETWEEN_FAULTS);
  // The first minute is for the caches to find all publishers.
  for (let at = 75; kinds.length > 0;) {
    at += Math.round(random.exponential(between));
    if (at >= seconds) break;
    faults.push(drawFault(random, at, kinds, pods, nodes));
  }
  const { services = random.between(4, 24) } = options;
  const { changesPerSecond = random.pick([0.2, 1, 3]) } = options;
  const { questionsPerSecond = random.pick([5, 10, 20]) } = options;
  return { seed, pods, nodes, services, seconds, changesPerSecond, questionsPerSecond, faults };
}

function drawFault(
  random: Random,
  at: number,
  kinds: readonly Fault['kind'][],
  pods: number,
  nodes: number,
): Fault {
  const bag = kinds.flatMap((kind) => Array.from({ length: FAULT_WEIGHTS[kind] }, () => kind));
  const kind = random.pick(bag);
  const pod = `dns-${random.below(pods)}`;
  const node = `node-${random.below(nodes)}`;
  const timed = { at, for: random.pick([0.2, 1, 3, 10, 40, 150]) };
  const [machine, program] = random.pick([
    [pod, 'kubedns'],
    [pod, 'dnsmasq'],
    [pod, 'sidecar'],
    [node, 'node-cache'],
    ['api', 'apiserver'],
  ] as const);
  switch (kind) {
    case 'kill':
      return { ...timed, kind, machine, program };
    case 'freeze':
      return { ...timed, kind, machine, program };
    case 'cut': {
      const pairs = [
        [node, pod],
        [node, pod],
        ['api', pod],
        ['upstream', pod],
        ['upstream', node],
      ] as const; // prettier-ignore
      const [one, other] = random.pick(pairs);
      return { ...timed, kind, machine: one, other };
    }
    case 'link': {
      const loss = random.pick([0, 0.02, 0.2]);
      const duplicate = random.pick([0, 0.05]);
      const reorder = random.pick([0, 0.1]);
      const delayMs = random.pick([0.2, 5, 80]);
      return { ...timed, kind, loss, duplicate, reorder, delayMs };
    }
    case 'clock':
      return {
        ...timed,
        kind,
        machine,
        byMs: random.pick([-3_600_000, -1_000, 1_000, 86_400_000]),
      };
  }
}
