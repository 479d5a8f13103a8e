import { type HeldNameServerMethods, NAME_ENDS, type Remote } from '@kube-dns/testkit';
import type { QueryBurstMethods } from '../dns/query-burst.js';
import { droppedAt } from '../dns/socket-drops.js';
import type { Subject } from '../load/contest.js';
import { OUR_DNSMASQ } from '../load/server-testbed.js';
import { LoadTestbed, type LoadContext } from './load-testbed.js';
import { namesBelow } from '../queries/question-file.js';

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
export async function measureInFlight(context: LoadContext): Promise<void> {
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
export async function measureHeld(
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
