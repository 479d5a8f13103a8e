import {
  type Command,
  type CommandContext,
  cpuUsage,
  type HeldNameServerMethods,
  NAME_ENDS,
  numberOption,
  type OptionValues,
  type Remote,
  rssBytes,
  usageSince,
} from '@kube-dns/testkit';
import { droppedAt, type QueryBurstMethods } from '../dns/query-burst.js';
import type { TcpCrowdMethods } from '../dns/tcp-crowd.js';
import { type LoadContext, LoadTestbed, OUR_DNSMASQ } from '../load/testbed.js';
import { Series, type Subject } from '../load/scores.js';
import { namesBelow } from '../queries.js';
import { describeTools, LOAD_OPTIONS, programsOf } from './command.js';

const MIB = 2 ** 20;
const CACHED_NAMES = 10_000;
const CACHE_RSS_BAR_MIB = 75;
/** The project's own. */
const NAME_BAR_BYTES = 200;
const OUTSTANDING = 100;
/** Long for asking each name once. */
const FILL_SECONDS = 60;

/** What a full cache takes: of 10,000 names all in all, and for each of many more. */
async function measureCacheMemory(context: LoadContext): Promise<void> {
  for (let run = 1; run <= context.runs; run++) {
    context.progress(`run ${run} of ${context.runs}: memory of the cache`);
    await measureFull(context);
    await measureEach(context);
  }
}

async function measureFull(context: LoadContext): Promise<void> {
  const { series, seconds } = context;
  const testbed = new LoadTestbed(context);
  const { remote, port } = await testbed.servers.nameServer();
  const subject = await testbed.servers.ourDnsmasq([
    `--cache-size=${CACHED_NAMES}`,
    `--server=127.0.0.1#${port}`,
  ]);
  const file = testbed.questionFile(namesBelow('example', CACHED_NAMES));
  const rssMib = () => rssBytes(subject.pid) / MIB;
  const mib = { unit: 'MiB', digits: 1 };
  series.add('RSS without cached names', rssMib(), mib);
  const once = { file, seconds: FILL_SECONDS, passes: 1, outstanding: OUTSTANDING };
  await testbed.dnsperf(subject, once);
  series.add(`RSS with ${CACHED_NAMES} cached names`, rssMib(), {
    ...mib,
    bar: { atMost: CACHE_RSS_BAR_MIB },
  });
  const received = await remote.call('received');
  await testbed.dnsperf(subject, { file, seconds });
  series.add('the same, after a load of hits', rssMib(), {
    ...mib,
    bar: { atMost: CACHE_RSS_BAR_MIB },
  });
  series.add('names that had to be asked for again', (await remote.call('received')) - received, {
    unit: '',
    judged: 'max',
    bar: { atMost: 0 },
  });
  subject.check();
  await testbed.close();
}

async function measureEach(context: LoadContext): Promise<void> {
  const { manyNames } = context;
  const testbed = new LoadTestbed(context);
  const { port } = await testbed.servers.nameServer();
  const subject = await testbed.servers.ourDnsmasq([
    `--cache-size=${CACHED_NAMES + manyNames}`,
    `--server=127.0.0.1#${port}`,
  ]);
  const fill = (domain: string, count: number) =>
    testbed.dnsperf(subject, {
      file: testbed.questionFile(namesBelow(domain, count)),
      seconds: FILL_SECONDS,
      passes: 1,
      outstanding: OUTSTANDING,
    });
  await fill('few.example', CACHED_NAMES);
  const before = rssBytes(subject.pid);
  const { completed } = await fill('many.example', manyNames);
  const bytes = (rssBytes(subject.pid) - before) / completed;
  const bar = { atMost: NAME_BAR_BYTES };
  context.series.add('memory of a cached name', bytes, { unit: 'bytes', bar });
  subject.check();
  await testbed.close();
}

/** The limit that the containers of the original have. */
const MAX_IN_FLIGHT = 1_500;
/** Below a second, after which a dnsmasq asks again by itself. */
const HELD_MS = 800;
const TIMEOUT_MS = 6_000;
const NONE = { atMost: 0 };
const ARGS = ['--cache-size=0', `--dns-forward-max=${MAX_IN_FLIGHT}`] as const;

/**
 * As many questions in flight as `--dns-forward-max` allows: once the upstream holds all answers and sends
 * them together, and once as a steady load. Every question must be answered.
 */
async function measureInFlight(context: LoadContext): Promise<void> {
  const testbed = new LoadTestbed(context);
  const upstream = await testbed.servers.nameServer();
  const args = [...ARGS, `--server=127.0.0.1#${upstream.port}`];
  const subjects = [
    await testbed.servers.ourDnsmasq(args),
    ...(await testbed.servers.realDnsmasq({ args })),
  ];
  const burst = await testbed.client<QueryBurstMethods>('the burst', 'query-burst.js#QueryBurst');
  for (let run = 1; run <= context.runs; run++) {
    for (const subject of subjects) {
      context.progress(`run ${run} of ${context.runs}: in flight, ${subject.name}`);
      await measureHeld(context, { subject, burst, upstream, domain: `run-${run}.example` });
      await measureSteady(context, testbed, subject);
      subject.check();
    }
  }
  await testbed.close();
}

interface Held {
  readonly subject: Subject;
  readonly burst: Remote<QueryBurstMethods>;
  readonly upstream: { readonly remote: Remote<HeldNameServerMethods>; readonly port: number };
  readonly domain: string;
}

/** All questions wait for their answers at the same time. */
async function measureHeld(
  { series }: LoadContext,
  { subject, burst, upstream, domain }: Held,
  when = '',
): Promise<void> {
  const before = { server: droppedAt(subject.port), upstream: droppedAt(upstream.port) };
  const arrived = await upstream.remote.call('received');
  await upstream.remote.call('hold', MAX_IN_FLIGHT, HELD_MS);
  const result = await burst.call('run', subject.port, MAX_IN_FLIGHT, domain, TIMEOUT_MS);
  // Only our server has a bar.
  const bar = subject.name === OUR_DNSMASQ ? { bar: NONE } : {};
  const add = (what: string, value: number, kind = {}) => {
    series.add(`${subject.name}, ${MAX_IN_FLIGHT} held${when}: ${what}`, value, {
      unit: '',
      ...kind,
    });
  };
  add('unanswered', result.unanswered, { judged: 'max', ...bar });
  add('refused or failed', result.wrong, { judged: 'max', ...bar });
  add('sent upstream', (await upstream.remote.call('received')) - arrived);
  add('dropped at its port', droppedAt(subject.port) - before.server);
  add('dropped upstream', droppedAt(upstream.port) - before.upstream);
  add('dropped at the client', result.droppedHere);
}

async function measureSteady(
  { series, seconds }: LoadContext,
  testbed: LoadTestbed,
  subject: Subject,
): Promise<void> {
  const file = testbed.questionFile(namesBelow(NAME_ENDS.uncached, 2 * MAX_IN_FLIGHT));
  const before = droppedAt(subject.port);
  const result = await testbed.dnsperf(subject, { file, seconds, outstanding: MAX_IN_FLIGHT });
  const bar = subject.name === OUR_DNSMASQ ? { bar: NONE } : {};
  const add = (what: string, value: number, kind = {}) => {
    series.add(`${subject.name}, ${MAX_IN_FLIGHT} at a time: ${what}`, value, {
      unit: '',
      ...kind,
    });
  };
  add('unanswered', result.lost, { judged: 'max', ...bar });
  add('refused or failed', result.completed - (result.rcodes.NOERROR ?? 0), {
    judged: 'max',
    ...bar,
  });
  add('dropped at its port', droppedAt(subject.port) - before);
  add('answered each second', result.queriesPerSecond);
}

const IDLE_CLIENTS = 500;
const RSS_BAR_MIB = 20;
const SLOWDOWN = 0.05;
const NAMES = 2_000;
/** A connection that does nothing is closed after ten seconds, so no run with them is longer. */
const MAX_SECONDS = 8;

interface Pace {
  readonly queriesPerSecond: number;
  readonly cpuUs: number;
}

/** The cost of idle TCP clients; each run has a new server. */
async function measureIdleClients(context: LoadContext): Promise<void> {
  const { runs, progress } = context;
  for (let run = 1; run <= runs; run++) {
    progress(`run ${run} of ${runs}: idle TCP clients`);
    await measureOnce(context, run);
  }
}

async function measureOnce(context: LoadContext, run: number): Promise<void> {
  const testbed = new LoadTestbed(context);
  const upstream = await testbed.servers.nameServer();
  const subject = await testbed.servers.ourDnsmasq([
    '--cache-size=10000',
    '--dns-forward-max=1500',
    `--server=127.0.0.1#${upstream.port}`,
  ]);
  const file = testbed.questionFile(namesBelow('example', NAMES));
  const seconds = Math.min(context.seconds, MAX_SECONDS);
  const pace = () => paceOf(testbed, subject, file, seconds);
  const crowd = await testbed.client<TcpCrowdMethods>('the TCP clients', 'tcp-crowd.js#TcpCrowd');
  const burst = await testbed.client<QueryBurstMethods>('the burst', 'query-burst.js#QueryBurst');
  await pace();
  const before = await pace();
  const rssBefore = rssBytes(subject.pid);
  await crowd.call('open', subject.port, IDLE_CLIENTS);
  const rssMib = (rssBytes(subject.pid) - rssBefore) / MIB;
  const beside = await pace();
  const connected = await crowd.call('connected');
  await crowd.call('leave');
  // All disconnect together, and the next load starts immediately.
  const domain = `run-${run}.after.example`;
  await measureHeld(context, { subject, burst, upstream, domain }, ' after TCP clients');
  const after = await pace();
  addFigures(context.series, { rssMib, connected, beside, without: meanOf(before, after) });
  await testbed.close();
}

/** Around the run beside the clients, so that what drifts meanwhile cancels out. */
function meanOf(left: Pace, right: Pace): Pace {
  return {
    queriesPerSecond: (left.queriesPerSecond + right.queriesPerSecond) / 2,
    cpuUs: (left.cpuUs + right.cpuUs) / 2,
  };
}

interface IdleFigures {
  readonly rssMib: number;
  readonly connected: number;
  readonly beside: Pace;
  readonly without: Pace;
}

function addFigures(series: Series, { rssMib, connected, beside, without }: IdleFigures): void {
  const clients = `${IDLE_CLIENTS} idle TCP clients`;
  series.add(`${clients}: still connected after the load`, connected, {
    unit: '',
    bar: { atLeast: IDLE_CLIENTS },
  });
  const memory = { unit: 'MiB', digits: 1, bar: { atMost: RSS_BAR_MIB } };
  series.add(`${clients}: memory`, rssMib, memory);
  series.add('UDP without them', without.queriesPerSecond, { unit: 'queries/s' });
  series.add('UDP beside them', beside.queriesPerSecond, { unit: 'queries/s' });
  series.add('CPU without them', without.cpuUs, { unit: 'µs/query', digits: 2 });
  series.add('CPU beside them', beside.cpuUs, { unit: 'µs/query', digits: 2 });
  const ratio = { unit: '×', digits: 3 };
  series.add('UDP, beside them / without', beside.queriesPerSecond / without.queriesPerSecond, {
    ...ratio,
    bar: { atLeast: 1 - SLOWDOWN },
  });
  series.add('CPU/query, beside them / without', beside.cpuUs / without.cpuUs, {
    ...ratio,
    bar: { atMost: 1 + SLOWDOWN },
  });
}

async function paceOf(
  testbed: LoadTestbed,
  subject: Subject,
  file: string,
  seconds: number,
): Promise<Pace> {
  const before = cpuUsage(subject.pid);
  const { queriesPerSecond, completed } = await testbed.dnsperf(subject, { file, seconds });
  const { userMs, systemMs } = usageSince(before, cpuUsage(subject.pid));
  subject.check();
  return { queriesPerSecond, cpuUs: (1_000 * (userMs + systemMs)) / completed };
}

const OPTIONS = {
  runs: numberOption(5, 'runs of each part', { min: 1, max: 100 }),
  seconds: numberOption(4, 'seconds of each load', { min: 0.1, max: 600, isWhole: false }),
  names: numberOption(100_000, 'cached names by which the memory of one is measured', {
    min: 1_000,
    max: 1_000_000,
  }),
  ...LOAD_OPTIONS,
};

type Values = OptionValues<typeof OPTIONS>;

const PARTS = [
  { title: 'Questions in flight', measure: measureInFlight },
  { title: 'Idle TCP clients', measure: measureIdleClients },
  { title: 'Memory of the cache', measure: measureCacheMemory },
] as const;

async function run(
  { runs, seconds, names: manyNames, ...values }: Values,
  { report, owned, progress }: CommandContext,
): Promise<void> {
  const programs = programsOf(values);
  const cores = await describeTools(programs, report);
  for (const { title, measure } of PARTS) {
    const series = new Series();
    await measure({ programs, cores, owned, progress, series, runs, seconds, manyNames });
    series.addTo(report, title);
  }
  report.note('Bars are for our dnsmasq; counts of what went wrong are those of the worst run.');
}

/** The promises of dnsmasq in addition to speed: every query answered, cheap TCP clients, a small cache. */
export const DNSMASQ_LOAD: Command<typeof OPTIONS> = {
  name: 'dnsmasq-load',
  summary: 'our dnsmasq with 1,500 questions in flight, 500 idle TCP clients, 10,000 cached names',
  options: OPTIONS,
  format: 'markdown',
  run,
};
