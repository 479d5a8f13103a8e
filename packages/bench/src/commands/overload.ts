import { setTimeout as delay } from 'node:timers/promises';
import {
  type Command,
  type CommandContext,
  MeasureError,
  partsOption,
  numberOption,
  type OptionValues,
  Owned,
  Remote,
  rssBytes,
} from '@kube-dns/testkit';
import { expectationsOf } from '../cluster/cluster-plan.js';
import { ControlGroup } from '../control-group.js';
import type { Expectation } from '../dns/expectation.js';
import type { FloodMethods, FloodPlan, FloodResult } from '../dns/flood.js';
import type { LoadResult, SteadyLoadMethods } from '../dns/steady-load.js';
import { Series, type Subject } from '../load/scores.js';
import { COREDNS, LoadTestbed, type Programs } from '../load/testbed.js';
import { encodeQuestionFile, type LoadQuestion, namesBelow } from '../queries.js';
import { startPeer } from '../strongest/contestants.js';
import { LOAD_OPTIONS, programOption, programsOf } from './command.js';

const LOAD = new URL('../dns/steady-load.js#SteadyLoad', import.meta.url);
const FLOOD = new URL('../dns/flood.js#Flood', import.meta.url);
const MIB = 1024 * 1024;

/** Honest clients, each with an address of its own, and what each asks a second: names that the server knows. */
const HONEST = addressesOf('127.4', 20);
const ASKED_OF_EACH = 10;
const NAMES = 1_000;
const ASKED_NAMES = 100;
/** A server runs for a part of each such period: kubelet's 100 ms would be in all latencies. */
const PERIOD_US = 10_000;
/** Before the limit, so that what is measured is compiled. */
const WARM_SECONDS = 5;
const WARM_RATE = 20_000;
/** Of names that were never asked for. */
const WARM_MISSES = 1_000;
const WARM = addressesOf('127.3', 20);
const CAPACITY_SECONDS = 4;
/** How long the clients ask once the attack is over, and when they all must have answers again. */
const RECOVERY_SECONDS = 2;
const RECOVERED_AFTER_MS = 1_000;

const BARS = {
  answeredPercent: { atLeast: 99 },
  p99Ms: { atMost: 100 },
  goodputPercent: { atLeast: 90 },
  growthMib: { atMost: 16 },
} as const;

interface Attack {
  readonly what: string;
  readonly addresses: readonly string[];
  /** Whether it asks for names of one domain that nobody has cached, and whose server is silent. */
  readonly isAgainstDomain: boolean;
}

const ATTACKS: Readonly<Record<string, Attack>> = {
  one: { what: 'one client', addresses: ['127.5.0.1'], isAgainstDomain: false },
  many: { what: '1,000 clients', addresses: addressesOf('127.6', 1_000), isAgainstDomain: false },
  domain: {
    what: '100 clients against one domain',
    addresses: addressesOf('127.7', 100),
    isAgainstDomain: true,
  },
};

function addressesOf(network: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, i) => `${network}.${i >> 8}.${i & 255}`);
}

/** A server that runs, with the names that it knows. */
interface Attacked {
  readonly subject: Subject;
  readonly questions: readonly LoadQuestion[];
  readonly expectations: readonly Expectation[];
  /** From now on the server that it asks is silent. */
  readonly silence: () => Promise<void>;
}

interface OverloadContext {
  readonly programs: Programs;
  readonly owned: Owned;
  readonly add: Series['add'];
  readonly seconds: number;
  readonly milliCpus: number;
  readonly factor: number;
}

type Start = (testbed: LoadTestbed, own: Owned) => Promise<Attacked | undefined>;

/** One attack on one server, which is started for it; nothing where there is no such server. */
async function measure(
  context: OverloadContext,
  { addresses, isAgainstDomain }: Attack,
  start: Start,
  isJudged: boolean,
): Promise<void> {
  const { add, milliCpus, seconds, factor } = context;
  const own = context.owned.add(new Owned());
  // Before the server: a group can only be removed when its processes have ended.
  const group = groupFor(own);
  const testbed = new LoadTestbed({ programs: context.programs, cores: undefined, owned: own });
  const attacked = await start(testbed, own);
  if (attacked === undefined) {
    await own.close();
    return;
  }
  const { subject, questions, expectations, silence } = attacked;
  const { port, pid, name } = subject;
  const flood = own.add(new Remote<FloodMethods>('the flood', FLOOD));
  const file = encodeQuestionFile(questions);
  const known = { port, rate: WARM_RATE, addresses: WARM, questions: file, isRandom: false };
  const unknown = encodeQuestionFile([UNKNOWN_NAME]);
  const warm: FloodPlan[] = [known];
  if (isAgainstDomain)
    warm.push({ ...known, rate: WARM_MISSES, questions: unknown, isRandom: true });
  for (const plan of warm) {
    await flood.call('start', plan);
    await delay(WARM_SECONDS * 1_000);
    await flood.call('stop');
  }
  group.add(pid);
  group.limitCpu(milliCpus, PERIOD_US);
  const usual = { port, addresses, questions: file, isRandom: false };
  const capacityBefore = await capacityFor(flood, usual);
  if (isAgainstDomain) await silence();
  const beforeMib = rssBytes(pid) / MIB;
  const attack: FloodPlan = {
    port,
    rate: factor * capacityBefore,
    addresses,
    questions: isAgainstDomain ? encodeQuestionFile([RANDOM_NAME]) : file,
    isRandom: isAgainstDomain,
  };
  const { honest, flooded } = await askMeanwhile(own, attacked, seconds, flood, attack);
  subject.check();
  const growthMib = rssBytes(pid) / MIB - beforeMib;
  await delay(RECOVERED_AFTER_MS);
  const after = await askFor(own, port, expectations, RECOVERY_SECONDS);
  // Machines have faster and slower minutes.
  const capacity = (capacityBefore + (await capacityFor(flood, usual))) / 2;
  const judged = <T extends object>(bar: T) => (isJudged ? { bar } : {});
  const title = `${name}: `;
  add(`${title}capacity`, capacity, { unit: 'queries/s' });
  add(`${title}asked`, flooded.sent / flooded.seconds / capacity, {
    unit: '× capacity',
    digits: 1,
    ...judged({ atLeast: 0.95 * factor }),
  });
  const percent = { unit: '%', digits: 2 } as const;
  add(`${title}honest clients answered`, answeredPercent(honest), {
    ...percent,
    ...judged(BARS.answeredPercent),
  });
  const ms = { unit: 'ms', digits: 1 } as const;
  add(`${title}their answers p50`, honest.answerMs.p50, ms);
  add(`${title}their answers p99`, honest.answerMs.p99, { ...ms, ...judged(BARS.p99Ms) });
  add(`${title}the clients themselves late, p99`, honest.ownDelayMs.p99, ms);
  if (!isAgainstDomain) {
    const answers = flooded.answered + honest.right;
    add(`${title}goodput`, (100 * answers) / flooded.seconds / capacity, {
      ...percent,
      digits: 1,
      ...judged(BARS.goodputPercent),
    });
  }
  add(`${title}RSS more`, growthMib, { unit: 'MiB', digits: 1, ...judged(BARS.growthMib) });
  add(`${title}answered from a second after the end on`, answeredPercent(after), {
    ...percent,
    ...judged({ atLeast: 100 }),
  });
  add(`${title}p99 then`, after.answerMs.p99, { ...ms, ...judged(BARS.p99Ms) });
  await own.close();
}

/** Answers a second to as many clients as the attack has: one to each of 1,000 addresses costs the kernel more than one to each port of one. */
async function capacityFor(flood: Remote<FloodMethods>, plan: FloodPlan): Promise<number> {
  await flood.call('start', plan);
  await delay(CAPACITY_SECONDS * 1_000);
  const { answered, seconds } = await flood.call('stop');
  return answered / seconds;
}

const RANDOM_NAME: LoadQuestion = { name: 'aaaaaaaa.attacked.example.org', type: 'A' };
const UNKNOWN_NAME: LoadQuestion = { name: 'aaaaaaaa.others.example.org', type: 'A' };

function answeredPercent({ right, sent }: LoadResult): number {
  return (100 * right) / sent;
}

/** The honest clients ask while the attack lasts, from its first moment to its last. */
async function askMeanwhile(
  owned: Owned,
  { subject: { port }, expectations }: Attacked,
  seconds: number,
  flood: Remote<FloodMethods>,
  attack: FloodPlan,
): Promise<{ readonly honest: LoadResult; readonly flooded: FloodResult }> {
  const load = await honestClients(owned, port, expectations);
  await flood.call('start', attack);
  await delay(seconds * 1_000);
  const finished = load.call('finish');
  const flooded = await flood.call('stop');
  return { honest: await finished, flooded };
}

async function askFor(
  owned: Owned,
  port: number,
  expectations: readonly Expectation[],
  seconds: number,
): Promise<LoadResult> {
  const load = await honestClients(owned, port, expectations);
  await delay(seconds * 1_000);
  return load.call('finish');
}

async function honestClients(
  owned: Owned,
  port: number,
  expectations: readonly Expectation[],
): Promise<Remote<SteadyLoadMethods>> {
  const load = owned.add(new Remote<SteadyLoadMethods>('the honest clients', LOAD));
  const rate = HONEST.length * ASKED_OF_EACH;
  await load.call('start', port, rate, expectations, undefined, HONEST);
  return load;
}

/** Throws a MeasureError where there can be none. */
function groupFor(own: Owned): ControlGroup {
  const group = ControlGroup.create('bench-overload', 'cpu');
  if (typeof group === 'string') throw new MeasureError(group);
  return own.add(group);
}

const KNOWN = namesBelow('example', NAMES);
const NOTHING = () => Promise.resolve();

/** kubedns with the services of a cluster. */
const startKubedns: Start = async ({ servers }) => {
  const size = { services: NAMES, slices: NAMES, endpointsPerSlice: 1, headless: 0 };
  const cluster = await servers.cluster(size);
  const subject = await servers.kubedns(cluster);
  const { plan } = cluster;
  const expectations = expectationsOf(plan, ASKED_NAMES);
  const questions = Array.from({ length: NAMES }, (_, i) => ({ name: plan.dnsName(i), type: 'A' }));
  return { subject, questions, expectations, silence: NOTHING };
};

/** A forwarder with a cache, in front of a name server that can be silent. */
function forwarder(
  start: (testbed: LoadTestbed, own: Owned, upstreamPort: number) => Promise<Subject | undefined>,
): Start {
  return async (testbed, own) => {
    const { remote, port } = await testbed.servers.nameServer();
    const subject = await start(testbed, own, port);
    if (subject === undefined) return undefined;
    const expectations = KNOWN.slice(0, ASKED_NAMES).map(({ name }): Expectation => ({
      name,
      type: 'A',
    }));
    const silence = () => remote.call('hold', Number.MAX_SAFE_INTEGER, SILENT_MS);
    return { subject, questions: KNOWN, expectations, silence };
  };
}

/** Longer than an attack. */
const SILENT_MS = 3_600_000;
const CACHE = ['--cache-size=10000', '--dns-forward-max=1500'];

const startOurDnsmasq = forwarder(({ servers }, _, port) =>
  servers.ourDnsmasq([...CACHE, `--server=127.0.0.1#${port}`]),
);

const startRealDnsmasq = forwarder(async ({ servers }, _, port) => {
  const [subject] = await servers.realDnsmasq({ args: [...CACHE, `--server=127.0.0.1#${port}`] });
  return subject;
});

const startUnbound = forwarder(async ({ servers: { programs } }, owned, port) => {
  if (programs.realDnsmasq === undefined) return undefined;
  const place = { owned, core: undefined, knownName: KNOWN[0]!.name };
  const [subject] = await startPeer('unbound', { kind: 'cache', upstream: { port } }, place);
  return subject;
});

/** CoreDNS, with further plugins. */
const startCoredns = (...plugins: readonly string[]) =>
  forwarder(async ({ servers }, _, port) => {
    const directives = [...plugins, 'cache 3600', `forward . 127.0.0.1:${port}`];
    const [subject] = await servers.corednsWith({ knownName: KNOWN[0]!.name, directives });
    return subject && { ...subject, name: [COREDNS, ...plugins].join(' with ') };
  });

/** The servers by the word of `--servers`, and whether ours is judged. */
const SERVERS: Readonly<Record<string, { readonly start: Start; readonly isOurs: boolean }>> = {
  kubedns: { start: startKubedns, isOurs: true },
  dnsmasq: { start: startOurDnsmasq, isOurs: true },
  'real-dnsmasq': { start: startRealDnsmasq, isOurs: false },
  unbound: { start: startUnbound, isOurs: false },
  coredns: { start: startCoredns(), isOurs: false },
  'coredns-shed': { start: startCoredns('shed'), isOurs: false },
};

const ATTACK_WORDS = Object.keys(ATTACKS);
const SERVER_WORDS = Object.keys(SERVERS);

const OPTIONS = {
  runs: numberOption(3, 'runs of each attack on each server', { min: 1, max: 100 }),
  seconds: numberOption(60, 'how long an attack is', { min: 1, max: 3_600 }),
  cpu: numberOption(100, 'thousandths of a core that a server has', { min: 10, max: 1_000 }),
  factor: numberOption(10, 'times of its capacity that it is asked', { min: 1, max: 100 }),
  only: partsOption(ATTACK_WORDS, 'these attacks alone'),
  servers: partsOption(SERVER_WORDS, 'these servers alone'),
  coredns: programOption('a CoreDNS to compare with'),
  'shed-coredns': programOption('a CoreDNS that has the plugin shed'),
  ...LOAD_OPTIONS,
};

type Values = OptionValues<typeof OPTIONS>;

async function run(values: Values, { report, owned, progress }: CommandContext): Promise<void> {
  const { runs, seconds, cpu: milliCpus, factor, only, servers } = values;
  report.note(
    `A server has ${milliCpus}m CPU, in periods of ${PERIOD_US / 1_000} ms; ${HONEST.length} honest clients ask ${ASKED_OF_EACH} names a second each, which it knows.`,
  );
  for (const attackWord of only) {
    const attack = ATTACKS[attackWord]!;
    const series = new Series();
    const add: Series['add'] = (name, value, kind) =>
      series.add(`${attack.what}: ${name}`, value, kind);
    for (let i = 1; i <= runs; i++) {
      for (const word of servers) {
        const { start, isOurs } = SERVERS[word]!;
        if (word === 'kubedns' && attack.isAgainstDomain) continue;
        progress(`run ${i} of ${runs}: ${attackWord}, ${word}`);
        const coredns = word === 'coredns-shed' ? values['shed-coredns'] : values.coredns;
        const programs = programsOf(values, coredns === undefined ? {} : { coredns });
        const context = { programs, owned, add, seconds, milliCpus, factor };
        await measure(context, attack, start, isOurs);
      }
    }
    series.addTo(report, attack.what);
  }
}

/** What honest clients get of a server that is asked ten times what it can answer. */
export const OVERLOAD: Command<typeof OPTIONS> = {
  name: 'overload',
  summary:
    'servers that are asked ten times what they can answer: what honest clients get, goodput, memory',
  options: OPTIONS,
  format: 'markdown',
  run,
};
