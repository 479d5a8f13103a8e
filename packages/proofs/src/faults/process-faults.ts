import { setTimeout as delay } from 'node:timers/promises';
import { EXTENDED_ERROR } from '@kube-dns/wire';
import { type Seen, troubleMs } from '../fixtures/steady-client.js';
import { counted, type Fault, type FaultContext, PAGE } from './fault.js';
import {
  EVERY_KIND,
  isRight,
  type Kind,
  kindOf,
  LATE_MS,
  ProcessTestbed,
  QUESTIONS,
  RESTART_MS,
  RESTARTED,
} from './process-testbed.js';

/** Longer than `--query-timeout` (4.5 s), so that clients see both: a late answer and SERVFAIL. */
const STOPPED_MS = 6_000;
/** A restart, and what a loaded machine takes for it. */
const KILLED_LIMIT_MS = RESTART_MS + 20_000;
const FAILURES = 'dnsmasq_upstream_server_failures_total';
const ERRORS = (probe: string) => `kubedns_probe_${probe}_errors`;

function troubleOf(seen: readonly Seen[], kinds: readonly Kind[]): number {
  const own = seen.filter((each) => kinds.includes(kindOf(each)));
  return troubleMs(own, isRight, LATE_MS);
}

/** Claims that a probe of the sidecar has failed. */
async function claimErrors(
  context: FaultContext,
  testbed: ProcessTestbed,
  probe: string,
): Promise<void> {
  const errors = (await testbed.metrics('sidecar')).sum(ERRORS(probe));
  context.claim(errors > 0, `${ERRORS(probe)} is ${errors}`);
}

async function killKubedns(context: FaultContext): Promise<number> {
  const testbed = await ProcessTestbed.start(context);
  await testbed.settled();
  const killedMs = performance.now();
  testbed.containers.kubedns.hold();
  testbed.containers.kubedns.signal('SIGKILL');
  await testbed.waitFor('sidecar that tells', async () => !(await testbed.isHealthy('kubedns')));
  context.claim(!(await testbed.isReady()), '/readiness is 200 without a kubedns');
  const server = `127.0.0.1#${testbed.ports.kubedns}`;
  const labels = { server, reason: 'unreachable' };
  await testbed.waitFor('failure that is counted', async () => {
    return (await testbed.metrics('dnsmasq')).sum(FAILURES, labels) > 0;
  });
  await testbed.waitFor('end of the subscription', async () => (await testbed.liveZones()) === 0);
  await testbed.failedSince('cluster', 'SERVFAIL', killedMs);
  await context.signs.seen();
  testbed.containers.kubedns.release();
  await testbed.well();
  await testbed.rightSince('cluster', performance.now());
  await testbed.subscribed();
  await claimErrors(context, testbed, 'kubedns');
  await testbed.claimEnds({ kubedns: 1 });
  const seen = await testbed.finish(killedMs);
  QUESTIONS.claimRight(context, seen, ['cached', 'outside']);
  QUESTIONS.claimFailures(context, seen, ['cluster'], ['SERVFAIL']);
  return troubleOf(seen, ['cluster']);
}

async function killDnsmasq(context: FaultContext): Promise<number> {
  const testbed = await ProcessTestbed.start(context);
  await testbed.settled();
  const killedMs = performance.now();
  testbed.containers.dnsmasq.hold();
  testbed.containers.dnsmasq.signal('SIGKILL');
  await testbed.waitFor('sidecar that tells', async () => !(await testbed.isHealthy('dnsmasq')));
  context.claim(await testbed.isReady(), '/readiness is not 200');
  context.claimQuiet(await testbed.isHealthy('kubedns'), '/healthcheck/kubedns is not 200');
  await context.signs.seen();
  testbed.containers.dnsmasq.release();
  await testbed.well();
  await testbed.eachRightSince(performance.now());
  await claimErrors(context, testbed, 'dnsmasq');
  await testbed.claimEnds({ dnsmasq: 1 });
  const seen = await testbed.finish(killedMs);
  QUESTIONS.claimFailures(context, seen, EVERY_KIND, ['silence']);
  return troubleOf(seen, EVERY_KIND);
}

async function stopKubedns(context: FaultContext): Promise<number> {
  const testbed = await ProcessTestbed.start(context);
  await testbed.settled();
  const stoppedMs = performance.now();
  testbed.containers.kubedns.signal('SIGSTOP');
  await testbed.waitFor('sidecar that tells', async () => !(await testbed.isHealthy('kubedns')));
  context.claim(
    !(await testbed.isReady(LATE_MS)),
    '/readiness is 200 of a kubedns that is stopped',
  );
  await delay(Math.max(0, stoppedMs + STOPPED_MS - performance.now()));
  const dnsmasq = { metrics: () => testbed.metrics('dnsmasq') };
  const failures = await counted(dnsmasq, FAILURES, { reason: 'timeout' });
  context.claim(failures > 0, `${FAILURES}{reason="timeout"} is ${failures}`);
  await testbed.failedSince('cluster', 'SERVFAIL', stoppedMs);
  testbed.containers.kubedns.signal('SIGCONT');
  const continuedMs = performance.now();
  await testbed.well();
  await testbed.rightSince('cluster', continuedMs);
  await claimErrors(context, testbed, 'kubedns');
  await testbed.claimEnds({});
  const seen = await testbed.finish(stoppedMs);
  QUESTIONS.claimRight(context, seen, ['cached', 'outside']);
  QUESTIONS.claimFailures(context, seen, ['cluster'], ['SERVFAIL']);
  return troubleOf(
    seen.filter(({ sentMs }) => sentMs >= continuedMs),
    ['cluster'],
  );
}

/** Faults of the containers of a pod. */
export const PROCESS_ROWS: readonly Fault[] = [
  {
    id: 'kubedns-killed',
    shows: PAGE.serversAway,
    happens: 'kubedns ends by SIGKILL, and is started again',
    clients:
      'Names that dnsmasq has cached since less than their TTL, and those of upstreams, as before; SERVFAIL immediately for all others',
    duration: `${RESTARTED}; then until it has seen the cluster`,
    limitMs: KILLED_LIMIT_MS,
    reasons: [EXTENDED_ERROR.NETWORK_ERROR, EXTENDED_ERROR.NOT_READY],
    metrics: `\`/readiness\` of kubedns does not answer, then is 503; \`${FAILURES}{reason="unreachable"}\` grows; \`/healthcheck/kubedns\` is 503 from the next probe on, and \`${ERRORS('kubedns')}\` grows; \`dnsmasq_subscription_live\` is 0 until 5 s after it is back at most`,
    run: killKubedns,
  },
  {
    id: 'dnsmasq-killed',
    shows: PAGE.probeOfDnsmasq,
    happens: 'dnsmasq ends by SIGKILL, and is started again',
    clients: 'Silence; afterwards right answers, with an empty cache',
    duration: RESTARTED,
    limitMs: KILLED_LIMIT_MS,
    metrics: `\`/readiness\` and \`/healthcheck/kubedns\` stay 200; \`/healthcheck/dnsmasq\` is 503 from the next probe on, and \`${ERRORS('dnsmasq')}\` grows; the counters of dnsmasq begin at 0`,
    run: killDnsmasq,
  },
  {
    id: 'kubedns-stopped',
    shows: PAGE.serversAway,
    happens: 'kubedns is stopped by SIGSTOP for 6 s, and goes on',
    clients:
      "Names in dnsmasq's cache and those of upstreams as before; SERVFAIL for all others: after 1.8 s at first, or an answer when it goes on, then immediately",
    duration: 'Until it goes on, and up to a second more',
    limitMs: 5_000,
    reasons: [EXTENDED_ERROR.NO_REACHABLE_AUTHORITY],
    metrics: `\`/readiness\` of kubedns does not answer; \`${FAILURES}{reason="timeout"}\` grows; \`/healthcheck/kubedns\` is 503 from the next probe on, and \`${ERRORS('kubedns')}\` grows`,
    isCommandOnly: true,
    run: stopKubedns,
  },
];
