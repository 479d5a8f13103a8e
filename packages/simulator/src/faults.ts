import type { Host, SimulatedCluster } from './cluster/cluster.js';
import type { World } from './cluster/world.js';
import { GOOD_LINK } from './network.js';
import type { Random } from './random.js';

/** What a fault can reach. */
export interface Stage {
  readonly cluster: SimulatedCluster;
  readonly world: World;
}

/** How many machines of each kind there are to draw from. */
interface Size {
  readonly pods: number;
  readonly nodes: number;
}

interface Row<Details extends object> {
  readonly summary: string;
  /** How often the kind is drawn, beside the others. */
  readonly weight: number;
  /** Machines and programs by their names. */
  readonly draw: (random: Random, size: Size) => Details;
  /** Makes things go wrong; the result undoes it. */
  readonly begin: (details: Details, stage: Stage) => () => void;
  /** Whether kubedns may not see the API server meanwhile, and its answers are as old as that. */
  readonly hidesApi: (details: Details) => boolean;
}

/** Only for its types: the faults of a row have the details that the row draws. */
function row<Details extends object>(kind: Row<Details>): Row<Details> {
  return kind;
}

/** All that can go wrong. */
const FAULTS = {
  kill: row({
    summary: 'a program is killed; it starts again later',
    weight: 4,
    draw: anyProgram,
    begin: ({ machine, program }, { cluster, world }) => {
      const host = hostOf(cluster, machine);
      host.kill(program);
      return () => {
        if (program !== 'apiserver') host.restart(program);
        else if (!host.process(program).isAlive) cluster.startApi(world.manifests);
      };
    },
    hidesApi: isOnWayOfObjects,
  }),
  freeze: row({
    summary: 'a program does not run for a time (SIGSTOP)',
    weight: 3,
    draw: anyProgram,
    begin: ({ machine, program }, { cluster }) => {
      const process = hostOf(cluster, machine).process(program);
      process.freeze();
      return () => process.thaw();
    },
    hidesApi: isOnWayOfObjects,
  }),
  cut: row({
    summary: 'nothing passes between two machines; connections stay half-open',
    weight: 4,
    draw: (random, size) => {
      const [pod, node] = [anyPod(random, size), anyNode(random, size)];
      const pairs = [
        [node, pod],
        [node, pod],
        ['api', pod],
        ['upstream', pod],
        ['upstream', node],
      ] as const;
      const [machine, other] = random.pick(pairs);
      return { machine, other };
    },
    begin: ({ machine, other }, { cluster }) => {
      const [one, two] = [hostOf(cluster, machine).machine, hostOf(cluster, other).machine];
      cluster.network.cut(one, two);
      return () => cluster.network.mend(one, two);
    },
    hidesApi: ({ machine }) => machine === 'api',
  }),
  link: row({
    summary: 'all links lose, repeat, reorder and delay packets',
    weight: 2,
    draw: (random) => ({
      loss: random.pick([0, 0.02, 0.2]),
      duplicate: random.pick([0, 0.05]),
      reorder: random.pick([0, 0.1]),
      delayMs: random.pick([0.2, 5, 80]),
    }),
    begin: ({ loss, duplicate, reorder, delayMs }, { cluster: { network } }) => {
      network.link = { ...GOOD_LINK, delayUs: delayMs * 1_000, loss, duplicate, reorder };
      return () => (network.link = GOOD_LINK);
    },
    hidesApi: () => true,
  }),
  clock: row({
    summary: 'the date of a machine is wrong',
    weight: 1,
    draw: (random, size) => ({
      machine: anyProgram(random, size).machine,
      byMs: random.pick([-3_600_000, -1_000, 1_000, 86_400_000]),
    }),
    begin: ({ machine: name, byMs }, { cluster }) => {
      const { machine } = hostOf(cluster, name);
      machine.clockSkewMs += byMs;
      return () => (machine.clockSkewMs -= byMs);
    },
    hidesApi: () => false,
  }),
};

export type FaultKind = keyof typeof FAULTS;

interface Timing {
  /** Virtual seconds since the start. */
  readonly at: number;
  /** In seconds; what it did is undone then. */
  readonly for: number;
}

/** What goes wrong, from a time on, for a time. */
export type Fault = {
  [Kind in FaultKind]: Timing & { readonly kind: Kind } & Readonly<
      ReturnType<(typeof FAULTS)[Kind]['draw']>
    >;
}[FaultKind];

export const FAULT_KINDS = Object.keys(FAULTS) as readonly FaultKind[];
/** Seconds. */
const LENGTHS = [0.2, 1, 3, 10, 40, 150] as const;

/** Draws a fault of one of these kinds, by their weights. */
export function drawFault(
  random: Random,
  at: number,
  kinds: readonly FaultKind[],
  size: Size,
): Fault {
  const bag = kinds.flatMap((kind) => Array.from({ length: FAULTS[kind].weight }, () => kind));
  const kind = random.pick(bag);
  const timing = { at, for: random.pick(LENGTHS) };
  return Object.assign(timing, { kind }, FAULTS[kind].draw(random, size)) as Fault;
}

/** Makes things go wrong; the result undoes it. */
export function beginFault(fault: Fault, stage: Stage): () => void {
  return rowOf(fault).begin(fault, stage);
}

/** Whether kubedns may not see the API server meanwhile. */
export function hidesApi(fault: Fault): boolean {
  return rowOf(fault).hidesApi(fault);
}

/** A table of the kinds, for readers. */
export function describeFaults(): string {
  const lines = Object.entries(FAULTS).map(
    ([kind, { weight, summary }]) => `  ${kind.padEnd(10)} ${String(weight).padStart(3)}  ${summary}\n`, // prettier-ignore
  );
  return `Kinds of faults, with their weights:\n${lines.join('')}`;
}

function rowOf(fault: Fault): Row<Fault> {
  // Its row drew it.
  return FAULTS[fault.kind] as unknown as Row<Fault>;
}

function hostOf(cluster: SimulatedCluster, machine: string): Host {
  const host = cluster.find(machine);
  if (host === undefined) throw new Error(`a fault of ${machine}, which is not there`);
  return host;
}

function anyPod(random: Random, { pods }: Size): string {
  return `dns-${random.below(pods)}`;
}

function anyNode(random: Random, { nodes }: Size): string {
  return `node-${random.below(nodes)}`;
}

interface ProgramOfMachine {
  readonly machine: string;
  readonly program: string;
}

function anyProgram(random: Random, size: Size): ProgramOfMachine {
  const pod = anyPod(random, size);
  return random.pick([
    { machine: pod, program: 'kubedns' },
    { machine: pod, program: 'dnsmasq' },
    { machine: pod, program: 'sidecar' },
    { machine: anyNode(random, size), program: 'node-cache' },
    { machine: 'api', program: 'apiserver' },
  ]);
}

function isOnWayOfObjects({ program }: ProgramOfMachine): boolean {
  return program === 'apiserver' || program === 'kubedns';
}
