import type { QueryBurstMethods } from '../dns/query-burst.js';
import type { TcpCrowdMethods } from '../dns/tcp-crowd.js';
import { cpuUsage, rssBytes, usageSince } from '../kubedns/process-usage.js';
import type { Subject } from '../load/contest.js';
import { measureHeld } from './in-flight.js';
import { LoadBed, type LoadContext, namesBelow } from './load-bed.js';

export const IDLE_CLIENTS = 500;
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

/** What clients cost that hold a TCP connection and ask nothing, run by run without and with them. */
export async function measureIdleClients(context: LoadContext): Promise<void> {
  const { series, runs, progress } = context;
  const bed = new LoadBed(context);
  const upstream = await bed.stand.nameServer();
  const subject = await bed.stand.ourDnsmasq([
    '--cache-size=10000',
    '--dns-forward-max=1500',
    `--server=127.0.0.1#${upstream.port}`,
  ]);
  const file = bed.questionFile(namesBelow('example', NAMES));
  const seconds = Math.min(context.seconds, MAX_SECONDS);
  const pace = () => paceOf(bed, subject, file, seconds);
  const crowd = await bed.client<TcpCrowdMethods>('the TCP clients', 'tcp-crowd');
  const burst = await bed.client<QueryBurstMethods>('the burst', 'query-burst');
  progress('warming up: idle TCP clients');
  // Twice: the first crowd brings the code and the buffers that any later one uses again.
  await pace();
  await crowd.call('open', subject.port, IDLE_CLIENTS);
  await crowd.call('leave');
  for (let run = 1; run <= runs; run++) {
    progress(`run ${run} of ${runs}: idle TCP clients`);
    const without = await pace();
    const rssBefore = rssBytes(subject.pid);
    await crowd.call('open', subject.port, IDLE_CLIENTS);
    const rss = rssBytes(subject.pid) - rssBefore;
    const withThem = await pace();
    const title = `${IDLE_CLIENTS} idle TCP clients`;
    series.add(`${title}: still connected`, await crowd.call('connected'), {
      unit: '',
      bar: { atLeast: IDLE_CLIENTS },
    });
    series.add(`${title}: memory`, rss / MIB, {
      unit: 'MiB',
      digits: 1,
      bar: { atMost: RSS_BAR_MIB },
    });
    series.add('UDP without them', without.queriesPerSecond, { unit: 'queries/s' });
    series.add('UDP beside them', withThem.queriesPerSecond, { unit: 'queries/s' });
    series.add('UDP, beside them / without', withThem.queriesPerSecond / without.queriesPerSecond, {
      unit: '×',
      digits: 3,
      bar: { atLeast: 1 - SLOWDOWN },
    });
    series.add('CPU/query, beside them / without', withThem.cpuUs / without.cpuUs, {
      unit: '×',
      digits: 3,
      bar: { atMost: 1 + SLOWDOWN },
    });
    await crowd.call('leave');
    // All are gone at once, and the next load comes at once.
    const domain = `run-${run}.after.example`;
    await measureHeld(context, { subject, burst, upstream, domain }, ' after them');
  }
  await bed.close();
}

async function paceOf(
  bed: LoadBed,
  subject: Subject,
  file: string,
  seconds: number,
): Promise<Pace> {
  const before = cpuUsage(subject.pid);
  const { queriesPerSecond, completed } = await bed.dnsperf(subject, { file, seconds });
  const { userMs, systemMs } = usageSince(before, cpuUsage(subject.pid));
  subject.check();
  return { queriesPerSecond, cpuUs: (1_000 * (userMs + systemMs)) / completed };
}
