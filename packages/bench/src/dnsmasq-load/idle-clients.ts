import { cpuUsage, rssBytes, usageSince } from '@kube-dns/testkit';
import type { QueryBurstMethods } from '../dns/query-burst.js';
import type { TcpCrowdMethods } from '../dns/tcp-crowd.js';
import type { Subject } from '../load/contest.js';
import type { Series } from '../load/series.js';
import { measureHeld } from './in-flight.js';
import { LoadTestbed, type LoadContext } from './load-testbed.js';
import { namesBelow } from '../queries/question-file.js';

const IDLE_CLIENTS = 500;
const MIB = 2 ** 20;
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
export async function measureIdleClients(context: LoadContext): Promise<void> {
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
