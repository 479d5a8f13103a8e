import { setTimeout as delay } from 'node:timers/promises';
import {
  anonymousBytes,
  ask,
  builtProgram,
  type Command,
  type CommandContext,
  type CorePlan,
  findRealNodeCache,
  monotonicMs,
  NodeCache,
  type NodeCacheStart,
  numberOption,
  type OptionValues,
  Owned,
  pinProcess,
  Remote,
  rssBytes,
  runDnsperf,
  type RunningProgram,
  switchOption,
  TemporaryFolder,
  nodeFlagsOf,
} from '@kube-dns/testkit';
import { ControlGroup } from '../control-group.js';
import { runContest } from '../load/run-contest.js';
import { type Contest, ScoreLog, scoreSection, Series, type Subject } from '../load/scores.js';
import { encodeQuestionFile, inRandomOrder, type LoadQuestion } from '../queries.js';
import type { OneAddressMethods } from '../servers/one-address.js';
import { startEcho } from '../servers/peers.js';
import type { MeasureContext } from '../workloads/workload.js';
import {
  bundleOption,
  LOAD_OPTIONS,
  planTools,
  programOption,
  WARM_UP_OPTIONS,
} from './command.js';

/** What a Corefile of the bench differs in from the standard one. */
interface TemplatePorts {
  readonly dns: number;
  readonly metrics: number;
  readonly health: number;
  readonly upstream: number;
}

/** The zones of the standard Corefile, each with a cache of its own. */
const ZONES = ['cluster.local', 'in-addr.arpa', 'ip6.arpa', '.'] as const;

/** The longest TTL of answers of the world, in seconds. */
const WORLD_TTL_SECONDS = 30;

/** The standard Corefile with these ports, all of it forwarded to one server. */
function templateOf(ports: TemplatePorts, worldTtlSeconds = WORLD_TTL_SECONDS): string {
  return ZONES.map((zone) => blockOf(zone, ports, worldTtlSeconds)).join('');
}

function blockOf(zone: string, ports: TemplatePorts, worldTtlSeconds: number): string {
  const isCluster = zone === 'cluster.local';
  const cache = isCluster
    ? ['cache {', '    success 9984 30', '    denial 9984 5', '}']
    : [`cache ${zone === '.' ? worldTtlSeconds : 30}`];
  const forward = `forward . 127.0.0.1:${ports.upstream}`;
  const lines = [
    'errors',
    ...cache,
    'reload',
    'loop',
    'bind __PILLAR__LOCAL__DNS__ __PILLAR__DNS__SERVER__',
    ...(zone === '.' ? [forward] : [`${forward} {`, '    force_tcp', '}']),
    `prometheus 127.0.0.1:${ports.metrics}`,
    ...(isCluster ? [`health 127.0.0.1:${ports.health}`] : []),
  ];
  return [`${zone}:${ports.dns} {`, ...lines.map((line) => `    ${line}`), '}', ''].join('\n');
}

/** What is measured: a bundle with its Node, and the original where a path of it is given. */
interface NodeCachePrograms {
  readonly node: string;
  readonly nodeFlags: readonly string[];
  readonly nodeCache: string;
  readonly original: string | undefined;
}

/** A node-cache that serves, and its template. */
interface NodeCacheSubject extends Subject {
  readonly server: RunningProgram;
  /** Replaces the template as kubelet does; it has this longest TTL of the world. */
  readonly edit: (worldTtlSeconds: number) => Promise<void>;
}

const OUR_NODE_CACHE = 'our node-cache';
const ORIGINAL = 'original';

const SERVICE = 'kube-dns-upstream';

/** Starts ours and the original, in front of the same fast name server; closing `owned` ends them. */
class NodeCacheTestbed {
  readonly #programs: NodeCachePrograms;
  readonly #owned: Owned;
  readonly #cores: CorePlan | undefined;
  #upstreamPort = 0;

  private constructor(programs: NodeCachePrograms, owned: Owned, cores: CorePlan | undefined) {
    this.#programs = programs;
    this.#owned = owned;
    this.#cores = cores;
  }

  static async create(
    programs: NodeCachePrograms,
    owned: Owned,
    cores: CorePlan | undefined,
  ): Promise<NodeCacheTestbed> {
    const testbed = new NodeCacheTestbed(programs, owned, cores);
    const entry = new URL('../servers/one-address.js#OneAddress', import.meta.url);
    const remote = owned.add(new Remote<OneAddressMethods>('the name server', entry));
    testbed.#upstreamPort = await remote.call('start');
    await pinProcess(remote.pid, cores?.upstream);
    return testbed;
  }

  /** Ours, then the original if it is there. */
  async subjects(): Promise<readonly NodeCacheSubject[]> {
    const { node, nodeCache: program, original } = this.#programs;
    const nodeFlags = nodeFlagsOf('node-cache', this.#programs.nodeFlags);
    const ours = await this.#start(OUR_NODE_CACHE, { node, nodeFlags, program });
    if (original === undefined) return [ours];
    return [ours, await this.#start(ORIGINAL, { original })];
  }

  async #start(name: string, start: NodeCacheStart): Promise<NodeCacheSubject> {
    const cache = this.#owned.add(await NodeCache.create());
    const { dns, metrics, health } = cache.ports;
    const ports = { dns, metrics, health, upstream: this.#upstreamPort };
    const edit = (seconds?: number) => cache.putTemplate(templateOf(ports, seconds));
    await edit();
    // A Go program finds out by itself on how many cores it runs, but before it is pinned.
    const env = {
      KUBE_DNS_UPSTREAM_SERVICE_HOST: '127.0.0.1',
      ...(this.#cores !== undefined && { GOMAXPROCS: '1' }),
    };
    const server = await cache.start({ ...start, flags: [`-upstreamsvc=${SERVICE}`], env });
    const { pid } = server;
    await pinProcess(pid, this.#cores?.server);
    const check = () => server.check();
    return { name, port: dns, pid, isOneProcess: true, check, server, edit };
  }
}

/** What the parts of the measurement share. */
interface PartContext extends MeasureContext {
  readonly programs: NodeCachePrograms;
  /** Names that are asked for from the cache, names of which each block caches one, and edits of the template. */
  readonly names: number;
  readonly cached: number;
  readonly edits: number;
}

const MIB = 2 ** 20;
const MEMORY_RATIO = 0.5;
const MEMORY = { unit: 'MiB', digits: 1 };
const FILL_SECONDS = 60;
const OUTSTANDING = 100;
const OTHER_TTL_SECONDS = 20;
const EDIT_MS = 500;
const EDIT_LIMIT_MS = 90_000;
const STEP_MS = 2;
const MILLI_CPUS = 50;
const LIMITED_PER_SECOND = 6_000;
const WARM_UP_SECONDS = 2;

/** As many names in a zone, all different. */
function namesIn(zone: string, count: number): readonly LoadQuestion[] {
  const end = zone === '.' ? 'example' : zone;
  return Array.from({ length: count }, (_, i) => ({ name: `host-${i}.${end}`, type: 'A' }));
}

async function withSubjects(
  { programs, cores, owned }: PartContext,
  use: (subjects: readonly NodeCacheSubject[], own: Owned) => Promise<void>,
): Promise<void> {
  const own = owned.add(new Owned());
  const testbed = await NodeCacheTestbed.create(programs, own, cores);
  await use(await testbed.subjects(), own);
  await own.close();
}

function dnsperf(
  { cores }: PartContext,
  own: Owned,
  questions: readonly LoadQuestion[],
): (
  subject: NodeCacheSubject,
  options: { readonly seconds: number; readonly passes?: number },
) => ReturnType<typeof runDnsperf> {
  const folder = own.add(new TemporaryFolder());
  const file = folder.file('questions', encodeQuestionFile(inRandomOrder(questions)));
  const shared = { file, isBinary: true, outstanding: OUTSTANDING, core: cores?.load, owned: own };
  return ({ port }, options) => runDnsperf({ host: '127.0.0.1', port }, { ...shared, ...options });
}

/** Fills the caches of all blocks of new processes, which have all cores, as on a node. */
async function measureMemory(shared: PartContext): Promise<void> {
  const context = { ...shared, cores: undefined };
  const { series, runs, seconds, cached, progress } = context;
  const answers = cached * ZONES.length;
  for (let run = 1; run <= runs; run++) {
    progress(`run ${run} of ${runs}: memory with ${answers} answers`);
    await withSubjects(context, async (subjects, own) => {
      const fill = dnsperf(
        context,
        own,
        ZONES.flatMap((zone) => namesIn(zone, cached)),
      );
      const seen = subjects.map(() => [] as number[]);
      for (const [i, subject] of subjects.entries()) {
        const note = (when: string) => {
          const anonymous = anonymousBytes(subject.pid) / MIB;
          series.add(`${subject.name}, anonymous memory ${when}`, anonymous, MEMORY);
          seen[i]!.push(anonymous);
        };
        note('without answers');
        await fill(subject, { seconds: FILL_SECONDS, passes: 1 });
        note(`with ${answers} answers`);
        series.add(`${subject.name}, RSS with them`, rssBytes(subject.pid) / MIB, MEMORY);
        await fill(subject, { seconds });
        note('after a load of these names');
        series.add(`${subject.name}, RSS after it`, rssBytes(subject.pid) / MIB, MEMORY);
        subject.check();
      }
      const [ours = [], original] = seen;
      if (original === undefined) return;
      const kind = { unit: '×', digits: 2, bar: { atMost: MEMORY_RATIO } };
      series.add('anonymous memory when filled, ours / original', ours[1]! / original[1]!, kind);
      series.add('anonymous memory after a load, ours / original', ours[2]! / original[2]!, kind);
    });
  }
}

/** Edits the template back and forth, and asks for new names until their TTL shows it. */
async function measureEdits(context: PartContext): Promise<void> {
  const { series, edits, progress } = context;
  await withSubjects(context, async (subjects) => {
    for (const subject of subjects) {
      for (let edit = 1; edit <= edits; edit++) {
        progress(`edit ${edit} of ${edits}: ${subject.name}`);
        const seconds = edit % 2 === 1 ? OTHER_TTL_SECONDS : WORLD_TTL_SECONDS;
        const ms = await timeEdit(subject, edit, seconds);
        const bar = subject.name === OUR_NODE_CACHE ? { bar: { atMost: EDIT_MS } } : {};
        series.add(`${subject.name}, from edit to effect`, ms, { unit: 'ms', ...bar });
      }
    }
  });
}

async function timeEdit(subject: NodeCacheSubject, edit: number, seconds: number): Promise<number> {
  const startMs = monotonicMs();
  await subject.edit(seconds);
  for (let i = 0; monotonicMs() - startMs < EDIT_LIMIT_MS; i++) {
    const { answers } = await ask(subject.port, `n${i}.edit-${edit}.example`);
    const [record] = answers;
    if (record !== undefined && 'ttl' in record && record.ttl === seconds) {
      return monotonicMs() - startMs;
    }
    subject.check();
    await delay(STEP_MS);
  }
  return Number.NaN;
}

/** Hits with a twentieth of a CPU, after a warm-up with a whole one. */
async function measureLimited(context: PartContext): Promise<void> {
  const { series, runs, seconds, names, progress, note, owned } = context;
  const own = owned.add(new Owned());
  const limits = ['bench-ours', 'bench-original'].map((name) => ControlGroup.create(name, 'cpu'));
  const refused = limits.find((limit) => typeof limit === 'string');
  for (const limit of limits) if (typeof limit !== 'string') own.add(limit);
  if (refused !== undefined) {
    note(`The limit of ${MILLI_CPUS}m CPU was left out: ${refused}`);
    await own.close();
    return;
  }
  await withSubjects({ ...context, owned: own }, async (subjects, inner) => {
    const load = dnsperf(context, inner, namesIn('.', names));
    for (const [i, subject] of subjects.entries()) {
      await load(subject, { seconds: Math.min(WARM_UP_SECONDS, seconds) });
      const limit = limits[i] as ControlGroup;
      limit.add(subject.pid);
      limit.limitCpu(MILLI_CPUS);
    }
    for (let run = 1; run <= runs; run++) {
      progress(`run ${run} of ${runs}: hits with ${MILLI_CPUS}m CPU`);
      for (const subject of subjects) {
        const { queriesPerSecond, lost } = await load(subject, { seconds });
        const bar = subject.name === OUR_NODE_CACHE ? { bar: { atLeast: LIMITED_PER_SECOND } } : {};
        series.add(`${subject.name}, hits with ${MILLI_CPUS}m CPU`, queriesPerSecond, {
          unit: 'queries/s',
          ...bar,
        });
        series.add(`${subject.name}, lost`, lost, { unit: '' });
        subject.check();
      }
    }
  });
  await own.close();
}

const { node, json, strict, 'node-flags': nodeFlags } = LOAD_OPTIONS;

const OPTIONS = {
  runs: numberOption(5, 'runs, in each of which both have their turn', { min: 1, max: 100 }),
  seconds: numberOption(4, 'seconds of each run', { min: 0.1, max: 600, isWhole: false }),
  ...WARM_UP_OPTIONS,
  names: numberOption(500, 'names that are in the cache', { min: 10, max: 9_000 }),
  misses: numberOption(200_000, 'names of which each is asked for again when it is forgotten', {
    min: 100,
    max: 1_000_000,
  }),
  cached: numberOption(10_000, 'answers in the cache of each of four blocks', {
    min: 10,
    max: 10_000,
  }),
  edits: numberOption(4, 'edits of the template', { max: 100 }),
  'node-cache': bundleOption(),
  original: programOption('the original to compare with, what NODE_CACHE names unless given'),
  alone: switchOption('without the original'),
  node,
  'node-flags': nodeFlags,
  json,
  strict,
};

type Values = OptionValues<typeof OPTIONS>;

/** The loads, each with the least that ours answers per CPU second, as a multiple of the original. */
const LOADS = [
  { name: 'hits', zone: '.', isHit: true, atLeast: 4 },
  { name: 'misses over UDP', zone: '.', isHit: false, atLeast: 2 },
  { name: 'misses over TCP', zone: 'cluster.local', isHit: false, atLeast: 2 },
] as const;

const PARTS = [
  { title: 'Memory', measure: measureMemory },
  { title: 'Edits of the template', measure: measureEdits },
  { title: 'With a limit of CPU', measure: measureLimited },
] as const;

function programsOf(values: Values): NodeCachePrograms {
  const bundle = values['node-cache'];
  return {
    node: values.node,
    nodeFlags: values['node-flags'],
    nodeCache: bundle === '' ? builtProgram('node-cache') : bundle,
    original: values.alone ? undefined : (values.original ?? findRealNodeCache()),
  };
}

async function measureLoads(
  { names, misses, ...values }: Values,
  { programs, cores }: Pick<PartContext, 'programs' | 'cores'>,
  { report, owned, progress }: CommandContext,
): Promise<void> {
  const own = owned.add(new Owned());
  const testbed = await NodeCacheTestbed.create(programs, own, cores);
  const contest: Contest = {
    subjects: [...(await testbed.subjects()), await startEcho(own, programs.nodeFlags, cores)],
    trials: LOADS.map(({ name, zone, isHit }) => ({
      name,
      // The names of hits are no part of those that are forgotten.
      questions: isHit ? namesIn('hits.example', names) : namesIn(zone, misses),
      rcodes: ['NOERROR'],
    })),
  };
  const plan = {
    runs: values.runs,
    seconds: values.seconds,
    latencySeconds: 0,
    singleSeconds: 0,
    warmUp: { seconds: values['warm-up'], answers: values['warm-up-answers'] },
    perSecond: 0,
    cores,
  };
  const note = (text: string) => report.note(text);
  const log = new ScoreLog(await runContest(contest, plan, { owned: own, progress, note }));
  await own.close();
  for (const { name, atLeast } of LOADS) {
    const scores = log.scores.filter(({ trial }) => trial === name);
    report.addSection(scoreSection(name, name, log, ORIGINAL), scores);
    if (!log.has(ORIGINAL)) continue;
    const { min, median, max } = log.ratio('cpuUs', ORIGINAL, OUR_NODE_CACHE, name);
    report.add(`${name}: queries per CPU second, ours / original`, median, '×', { atLeast });
    report.note(`${name}: ${min.toFixed(2)}…${max.toFixed(2)} × per CPU second.`);
  }
}

async function run(values: Values, context: CommandContext): Promise<void> {
  const { report, owned, progress } = context;
  const programs = programsOf(values);
  const { original } = programs;
  const cores = await planTools(original === undefined ? [] : [`original: ${original}`], report);
  if (original === undefined) report.note('Without the original: nothing is compared with it.');
  await measureLoads(values, { programs, cores }, context);
  const note = (text: string) => report.note(text);
  for (const { title, measure } of PARTS) {
    const series = new Series();
    await measure({ ...values, programs, cores, owned, progress, note, series });
    series.addTo(report, title);
  }
}

/** Our node-cache, and the original beside it. */
export const NODE_CACHE: Command<typeof OPTIONS> = {
  name: 'node-cache',
  summary: 'our node-cache: hits, misses, memory, edits, a limit of CPU; beside the original',
  options: OPTIONS,
  format: 'markdown',
  run,
};
