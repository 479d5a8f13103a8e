import type { Host, SimulatedCluster } from './cluster/cluster.js';
import { CONFIG_NAMES, isRefusedConfig, type World } from './cluster/world.js';
import { BEHAVIOUR_NAMES, type Behaviour } from './cluster/upstream.js';
import { GOOD_LINK } from './network.js';
import type { Machine } from './machine/machine.js';
import type { Random } from './random.js';
import { CONFIG_PART, EVERYTHING, linkPart, programPart } from './troubles.js';

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

/**
 * What a fault changes for the judge. Nothing: every promise holds meanwhile. Answers: they may be missing, or as old as the
 * caches have them. Objects: kubedns may not see the API server, too, and answers are as old as that.
 */
export type Effect = 'nothing' | 'answers' | 'objects';

interface Row<Details extends object> {
  readonly summary: string;
  /** How often the kind is drawn, beside the others. */
  readonly weight: number;
  /** In seconds, to draw from; default: `LENGTHS`. */
  readonly lengths?: readonly number[];
  /** Machines and programs by their names. */
  readonly draw: (random: Random, size: Size) => Details;
  /** Makes things go wrong, for some seconds; the result undoes it. */
  readonly begin: (details: Details, stage: Stage, seconds: number) => () => void;
  /** What is not as it should be meanwhile, by the names of `troubles.ts`. */
  readonly touches: (details: Details) => readonly string[];
  /** What it touches does not work at all. */
  readonly isStop?: boolean;
  /** Asked before it begins. */
  readonly effect: (details: Details, stage: Stage) => Effect;
}

interface Refusal {
  readonly verb: 'list' | 'watch';
  readonly status: 403 | 410 | 429 | 500;
  readonly retryAfterSeconds?: number;
  readonly back?: number;
}

/** What is denied is tried again once a minute (README of kubedns). */
const DENIED_SECONDS = 70;

/** So many callbacks of a program are run before something happens to it. */
const TURNS = [0, 0, 1, 2, 5, 20] as const;
const UPSTREAM_NAMES = ['upstream-0', 'upstream-1'] as const;
const API = [programPart('api', 'apiserver')];
const NAME_SERVERS = [...UPSTREAM_NAMES, 'corp'] as const;
/** What another server, or the same one over TCP, makes good at once. */
const HARMLESS_BEHAVIOURS: readonly Behaviour[] = ['forged', 'truncating', 'REFUSED', 'SERVFAIL'];

/** After a change: every kubedns has seen it. */
const SEEN_US = 2_000_000;
const SHORT_MS = 200;
/** What is wrong by then is not made right by a change: a fault is over, for the judge, after twice its length and 15 s. */
const REST_OF_LENGTHS = 3;

/** Only for its types: the faults of a row have the details that the row draws. */
function row<Details extends object>(kind: Row<Details>): Row<Details> {
  return kind;
}

/** The API server answers nothing; the result lets it go on. */
function hangApi(world: World): () => void {
  const stop = world.switchApi('hang');
  return () => {
    stop();
    world.switchApi('unhang');
  };
}

/** Another fault may have started it meanwhile. */
function startApi(cluster: SimulatedCluster, world: World): void {
  if (!cluster.api.process('apiserver').isAlive) cluster.startApi(world.manifests);
}

/** All that can go wrong. */
const FAULTS = {
  kill: row({
    summary: 'a program is killed, at any event; it starts again later',
    weight: 4,
    draw: (random, size) => ({ ...anyProgram(random, size), turns: random.pick(TURNS) }),
    begin: ({ machine, program, turns }, { cluster, world }) => {
      const host = hostOf(cluster, machine);
      const forget = host.process(program).afterTurns(turns, () => host.kill(program));
      return () => {
        forget();
        if (program !== 'apiserver') host.restart(program);
        else startApi(cluster, world);
      };
    },
    isStop: true,
    touches: ({ machine, program }) => [programPart(machine, program)],
    // A kubedns that starts again knows nothing old.
    effect: ({ program }) => (program === 'apiserver' ? 'objects' : 'answers'),
  }),
  freeze: row({
    summary: 'a program does not run for a time (SIGSTOP), from any event on',
    weight: 3,
    draw: (random, size) => ({ ...anyProgram(random, size), turns: random.pick(TURNS) }),
    begin: ({ machine, program, turns }, { cluster }) => {
      const process = hostOf(cluster, machine).process(program);
      const forget = process.afterTurns(turns, () => process.freeze());
      return () => {
        forget();
        process.thaw();
      };
    },
    isStop: true,
    touches: ({ machine, program }) => [programPart(machine, program)],
    effect: ({ program }) =>
      program === 'apiserver' || program === 'kubedns' ? 'objects' : 'answers',
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
        [random.pick(NAME_SERVERS), pod],
        [random.pick(NAME_SERVERS), node],
      ] as const;
      const [machine, other] = random.pick(pairs);
      return { machine, other };
    },
    begin: ({ machine, other }, { cluster }) => {
      const [one, two] = [hostOf(cluster, machine).machine, hostOf(cluster, other).machine];
      cluster.network.cut(one, two);
      return () => cluster.network.mend(one, two);
    },
    isStop: true,
    touches: ({ machine, other }) => [linkPart(machine, other)],
    effect: ({ machine }) => (machine === 'api' ? 'objects' : 'answers'),
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
    touches: () => [EVERYTHING],
    effect: () => 'objects',
  }),
  upstream: row({
    summary: 'a name server outside is silent, slow, refuses, lies, truncates',
    weight: 3,
    draw: (random) => ({
      machine: random.pick(UPSTREAM_NAMES),
      behaviour: random.pick(BEHAVIOUR_NAMES),
    }),
    begin: ({ machine, behaviour }, { cluster }) => {
      const server = cluster.nameServers.get(machine)!;
      server.behaviour = behaviour;
      return () => (server.behaviour = 'right');
    },
    touches: ({ machine }) => [programPart(machine, 'name-server')],
    // The other one is asked at once, or the same one over TCP.
    effect: ({ machine, behaviour }, { cluster: { nameServers } }) => {
      const hasOther = UPSTREAM_NAMES.some((name) => name !== machine && nameServers.get(name)!.behaviour === 'right'); // prettier-ignore
      return hasOther && HARMLESS_BEHAVIOURS.includes(behaviour) ? 'nothing' : 'answers';
    },
  }),
  'roll-pod': row({
    summary: 'another pod starts in place of one, which ends once that is ready',
    weight: 3,
    lengths: [0],
    draw: (random, size) => ({ machine: anyPod(random, size) }),
    begin: ({ machine }, { cluster }) => {
      cluster.replacePod(machine);
      return () => undefined;
    },
    touches: () => [],
    effect: () => 'nothing',
  }),
  'roll-node': row({
    summary: 'a node-cache ends and is started again, as a DaemonSet without surge does it',
    weight: 2,
    lengths: [10],
    draw: (random, size) => ({ machine: anyNode(random, size) }),
    begin: ({ machine }, { cluster }) => {
      hostOf(cluster, machine).replaceContainers();
      return () => undefined;
    },
    touches: ({ machine }) => [programPart(machine, 'node-cache')],
    effect: () => 'answers',
  }),
  config: row({
    summary: 'the ConfigMap of kube-dns has a stub domain, other name servers, or a mistake',
    weight: 3,
    draw: (random) => ({ config: random.pick(CONFIG_NAMES) }),
    begin: ({ config }, { world }) => world.configure(config),
    touches: ({ config }) => (isRefusedConfig(config) ? [CONFIG_PART] : []),
    effect: ({ config }) => (isRefusedConfig(config) ? 'answers' : 'nothing'),
  }),
  restart: row({
    summary: 'the API server restarts, with or without its history',
    weight: 1,
    draw: (random) => ({ hasHistory: random.chance(0.5), refusedWatches: random.pick([0, 3]) }),
    begin: ({ hasHistory, refusedWatches }, { world }, seconds) =>
      world.switchApi('restart', { downMs: seconds * 1_000, hasHistory, refusedWatches }),
    touches: () => API,
    effect: () => 'objects',
  }),
  restore: row({
    summary: 'the API server restarts with the objects and the version of its last backup',
    weight: 2,
    draw: () => ({}),
    begin: (_details, { world }, seconds) => {
      world.restore(seconds * 1_000);
      return () => undefined;
    },
    touches: () => API,
    effect: () => 'objects',
  }),
  overtake: row({
    summary:
      'the API server is restored while no pod sees it, and has as many changes as before by then',
    weight: 1,
    // kubedns lists again what it has not seen for 15 s (its README).
    lengths: [40],
    draw: (_random, { pods }) => ({
      machines: Array.from({ length: pods }, (_, at) => `dns-${at}`),
    }),
    begin: ({ machines }, { cluster, world }, seconds) => {
      const again = world.overtake();
      const pods: Machine[] = [];
      cluster.scheduler.after(SEEN_US, () => {
        pods.push(...machines.map((name) => hostOf(cluster, name).machine));
        for (const pod of pods) cluster.network.cut(cluster.api.machine, pod);
        again(SHORT_MS, REST_OF_LENGTHS * seconds * 1_000);
      });
      return () => {
        for (const pod of pods) cluster.network.mend(cluster.api.machine, pod);
      };
    },
    touches: ({ machines }) => [...API, ...machines.map((name) => linkPart('api', name))],
    effect: () => 'objects',
  }),
  empty: row({
    summary: 'the API server restarts without objects, and versions begin again',
    weight: 1,
    draw: () => ({}),
    begin: (_details, { world }, seconds) => {
      world.empty(seconds * 1_000);
      return () => undefined;
    },
    touches: () => API,
    effect: () => 'objects',
  }),
  compact: row({
    summary: 'all watches break, and their versions are gone (410)',
    weight: 2,
    lengths: [0],
    draw: () => ({}),
    begin: (_details, { world }) => {
      world.switchApi('compact', { cache: true });
      return world.switchApi('drop-watches');
    },
    touches: () => API,
    effect: () => 'objects',
  }),
  slow: row({
    summary: 'the API server answers late',
    weight: 1,
    draw: (random) => ({ ms: random.pick([200, 2_000, 20_000]) }),
    begin: ({ ms }, { world }) => {
      const stop = world.switchApi('delay', { ms });
      return () => {
        stop();
        world.switchApi('delay', { ms: 0 });
      };
    },
    touches: () => API,
    effect: () => 'objects',
  }),
  hang: row({
    summary: 'the API server answers no request, and its watches are silent',
    weight: 2,
    draw: () => ({}),
    begin: (_details, { world }) => hangApi(world),
    touches: () => API,
    effect: () => 'objects',
  }),
  unaware: row({
    summary: 'kubedns starts while the API server answers no request',
    weight: 2,
    // It ends after a minute without an answer (its README).
    lengths: [3, 10, 40],
    draw: (random, size) => ({ machine: anyPod(random, size) }),
    begin: ({ machine }, { cluster, world }) => {
      const host = hostOf(cluster, machine);
      const goOn = hangApi(world);
      host.kill('kubedns');
      host.restart('kubedns');
      return goOn;
    },
    touches: ({ machine }) => [...API, programPart(machine, 'kubedns')],
    effect: () => 'objects',
  }),
  outage: row({
    summary:
      'the API server is away, and programs are killed and started again meanwhile, in any order',
    weight: 2,
    lengths: [10, 40, 150, 600],
    draw: (random, size) => ({
      isDead: random.chance(0.5),
      killed: everyProgram(size)
        .filter(() => random.chance(0.5))
        .map((one) => ({ ...one, at: random.fraction() })),
    }),
    begin: ({ isDead, killed }, { cluster, world }, seconds) => {
      const { api, scheduler } = cluster;
      const goOn = isDead ? () => startApi(cluster, world) : hangApi(world);
      if (isDead) api.kill('apiserver');
      for (const { machine, program, at } of killed) {
        scheduler.after(at * seconds * 1_000_000, () => {
          const host = hostOf(cluster, machine);
          host.kill(program);
          host.restart(program);
        });
      }
      return goOn;
    },
    touches: ({ killed }) => [
      ...API,
      ...killed.map(({ machine, program }) => programPart(machine, program)),
    ],
    effect: () => 'objects',
  }),
  break: row({
    summary: 'all watches break; only in rows of FAULTS.md',
    weight: 0,
    draw: () => ({}),
    begin: (_details, { world }) => world.switchApi('drop-watches'),
    touches: () => API,
    effect: () => 'objects',
  }),
  refuse: row({
    summary: 'all watches break, and the API server refuses new ones, or lists',
    weight: 1,
    draw: (random): Refusal => {
      const verb = random.pick(['list', 'watch'] as const);
      const status = random.pick([403, 410, 429, 500] as const);
      return { verb, status, ...(status === 403 && { back: DENIED_SECONDS }) };
    },
    begin: ({ verb, status, retryAfterSeconds }, { world }) => {
      const stop = world.switchApi('fail', { verb, status, retryAfterSeconds });
      world.switchApi('drop-watches');
      return () => {
        stop();
        world.switchApi('clear-failures');
      };
    },
    touches: () => API,
    effect: () => 'objects',
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
    touches: () => [],
    // What answers depend on goes by a clock that never jumps.
    effect: () => 'nothing',
  }),
};

export type FaultKind = keyof typeof FAULTS;

/** The API server has other objects afterwards: one of these at a time. */
const WHOLE: readonly FaultKind[] = ['restore', 'empty', 'overtake'];

/** Whether a fault would come while what another one has made of all objects is not to change. */
export function disturbs({ kind, at }: Fault, earlier: readonly Fault[]): boolean {
  const isBefore = (other: Fault) =>
    other.kind === 'overtake' && at < other.at + (REST_OF_LENGTHS + 1) * other.for;
  return WHOLE.includes(kind) && earlier.some(isBefore);
}

interface Timing {
  /** Virtual seconds since the start. */
  readonly at: number;
  /** In seconds; what it did is undone then. */
  readonly for: number;
  /** Seconds after that until every promise holds again; default: as long again, and 15 s. */
  readonly back?: number;
  /** Every promise holds meanwhile. */
  readonly isHarmless?: boolean;
}

/** What goes wrong, from a time on, for a time. */
export type Fault = {
  [Kind in FaultKind]: Timing & { readonly kind: Kind } & Readonly<
      ReturnType<(typeof FAULTS)[Kind]['draw']>
    >;
}[FaultKind];

export const FAULT_KINDS = Object.keys(FAULTS) as readonly FaultKind[];
/** How long faults are, in seconds. */
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
  const { lengths = LENGTHS, draw } = rowOf(kind);
  return { at, for: random.pick(lengths), kind, ...draw(random, size) } as Fault;
}

/** Makes things go wrong; the result undoes it. */
export function beginFault(fault: Fault, stage: Stage): () => void {
  return rowOf(fault.kind).begin(fault, stage, fault.for);
}

/** Whether what it touches does not work at all meanwhile. */
export function isStop({ kind }: Fault): boolean {
  return rowOf(kind).isStop === true;
}

/** What is not as it should be meanwhile. */
export function touchedBy(fault: Fault): readonly string[] {
  return rowOf(fault.kind).touches(fault);
}

/** Whether only the API server is touched: kubedns answers meanwhile by what it last knew. */
export function isOfApi(fault: Fault): boolean {
  return touchedBy(fault).every((part) => API.includes(part));
}

/** Asked before it begins. */
export function faultEffect(fault: Fault, stage: Stage): Effect {
  if (fault.isHarmless === true) return 'nothing';
  return rowOf(fault.kind).effect(fault, stage);
}

/** A table of the kinds, for readers. */
export function describeFaults(): string {
  const lines = Object.entries(FAULTS).map(
    ([kind, { weight, summary }]) => `  ${kind.padEnd(10)} ${String(weight).padStart(3)}  ${summary}\n`, // prettier-ignore
  );
  return `Kinds of faults, with their weights:\n${lines.join('')}`;
}

function rowOf(kind: FaultKind): Row<object> {
  // A row gets the faults that it drew.
  return FAULTS[kind] as unknown as Row<object>;
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

/** All that answer questions. */
function everyProgram({ pods, nodes }: Size): ProgramOfMachine[] {
  const ofPods = Array.from({ length: pods }, (_, at) => `dns-${at}`).flatMap((machine) => [
    { machine, program: 'kubedns' },
    { machine, program: 'dnsmasq' },
  ]);
  const ofNodes = Array.from({ length: nodes }, (_, at) => `node-${at}`);
  return [...ofPods, ...ofNodes.map((machine) => ({ machine, program: 'node-cache' }))];
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
