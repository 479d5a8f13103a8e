import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ask, TemporaryFolder } from '@kube-dns/testkit';
import { EXTENDED_ERROR } from '@kube-dns/wire';
import { CONTAINER_NAMES, type ContainerSpec } from '../fixtures/pod-containers.js';
import { type Seen, troubleMs } from '../fixtures/steady-client.js';
import { LIMIT_MS } from './claims.js';
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

/** The time of day of a pod, which a row may set. */
class PodClock {
  readonly #file: string;

  constructor(context: FaultContext) {
    this.#file = join(context.owned.add(new TemporaryFolder()).path, 'clock');
    writeFileSync(this.#file, '0');
  }

  /** Has a container look at this clock. */
  readonly given = (spec: ContainerSpec): ContainerSpec => {
    // The built file, also where this module runs from its source.
    const entry = new URL('../../dist/fixtures/clock-shift.js', import.meta.url).href;
    return {
      ...spec,
      nodeFlags: [...(spec.nodeFlags ?? []), `--import=${entry}`],
      env: { ...spec.env, CLOCK_FILE: this.#file },
    };
  };

  /** Sets it, and waits until each container has seen that. */
  async set(testbed: ProcessTestbed, shiftMs: number): Promise<void> {
    writeFileSync(this.#file, String(shiftMs));
    const isSet = () => {
      const { containers } = testbed;
      const files = CONTAINER_NAMES.map((name) => `${this.#file}.${containers[name].pid}`);
      return files.every(
        (file) => existsSync(file) && readFileSync(file, 'utf8') === String(shiftMs),
      );
    };
    await testbed.waitFor('container with another time', isSet);
  }
}

/** Long enough for probes, bookmarks and sweeps of the cache. */
const CLOCK_MS = 2_500;
const SLACK_SECONDS = 10;
/** Less than the clock jumps by, and more than the row takes on any machine. */
const HOUR_SECONDS = 3_600;
const CACHED_OUTSIDE = 'cached.example';
const AGE = 'kubedns_last_event_age_seconds';

/** The TTL of a name of an upstream that is in dnsmasq's cache, once an answer has it. */
async function ttlOf(testbed: ProcessTestbed, name: string): Promise<number> {
  let ttl = Number.NaN;
  await testbed.waitFor(`TTL of ${name}`, async () => {
    const answer = ask(testbed.ports.dns, name, { limitMs: LIMIT_MS });
    const [record] = await answer.then(
      ({ answers }) => answers,
      () => [],
    );
    ttl = (record?.type === 'A' ? record.ttl : undefined) ?? Number.NaN;
    return !Number.isNaN(ttl);
  });
  return ttl;
}

/** The time of day of all containers changes by `shiftMs`, and back. */
function clockJump(shiftMs: number): (context: FaultContext) => Promise<number> {
  return async (context) => {
    const clock = new PodClock(context);
    const testbed = await ProcessTestbed.start(context, clock.given);
    await testbed.settled();
    const firstTtl = await ttlOf(testbed, CACHED_OUTSIDE);
    const startMs = performance.now();
    const probes = async () => {
      const page = await testbed.metrics('sidecar');
      const counts = ['kubedns', 'dnsmasq'].map((name) => `kubedns_probe_${name}_latency_ms_count`);
      return Math.min(...counts.map((name) => page.sum(name) || 0));
    };
    for (const toMs of [shiftMs, 0]) {
      await clock.set(testbed, toMs);
      const before = await probes();
      await delay(CLOCK_MS);
      await testbed.waitFor('probe with another time', async () => (await probes()) > before);
      const elapsedSeconds = (performance.now() - startMs) / 1_000;
      const lost = firstTtl - (await ttlOf(testbed, CACHED_OUTSIDE));
      const summary = `the TTL of a name fell by ${lost} in ${Math.round(elapsedSeconds)} s`;
      context.claim(Math.abs(lost) < HOUR_SECONDS, summary);
      context.claimQuiet(
        lost >= Math.floor(elapsedSeconds) - 1 && lost <= elapsedSeconds + SLACK_SECONDS,
        summary,
      );
      const age = (await testbed.metrics('kubedns')).sum(AGE, { resource: 'services' });
      context.claim(age >= 0 && age < HOUR_SECONDS, `${AGE} is ${age}`);
      context.claim(await testbed.isReady(), '/readiness is not 200');
      for (const name of ['kubedns', 'dnsmasq'] as const) {
        context.claimQuiet(await testbed.isHealthy(name), `/healthcheck/${name} is not 200`);
        const latency = `kubedns_probe_${name}_latency_ms_sum`;
        const sum = (await testbed.metrics('sidecar')).sum(latency);
        context.claim(sum >= 0 && sum < HOUR_SECONDS * 1_000, `${latency} is ${sum}`);
      }
    }
    await testbed.claimEnds({});
    const seen = await testbed.finish(startMs);
    QUESTIONS.claimRight(context, seen, ['cached', 'cluster', 'outside']);
    return troubleMs(seen, isRight, LATE_MS);
  };
}

/** Longer than `--query-timeout` (4.5 s), so that clients see both: a late answer and SERVFAIL. */
const STOPPED_MS = 6_000;
/** For dnsmasq and the sidecar: longer than three intervals of the sidecar's probes. */
const SHORT_STOP_MS = 4_000;
const DAY_MS = 86_400_000;
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

async function killSidecar(context: FaultContext): Promise<number> {
  const testbed = await ProcessTestbed.start(context);
  await testbed.settled();
  const killedMs = performance.now();
  testbed.containers.sidecar.hold();
  testbed.containers.sidecar.signal('SIGKILL');
  await testbed.waitFor('sidecar that is away', async () => !(await testbed.isHealthy('dnsmasq')));
  context.claim(await testbed.isReady(), '/readiness is not 200');
  testbed.containers.sidecar.release();
  await testbed.well();
  await testbed.claimEnds({ sidecar: 1 });
  const seen = await testbed.finish(killedMs);
  QUESTIONS.claimRight(context, seen, EVERY_KIND);
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

async function stopDnsmasq(context: FaultContext): Promise<number> {
  const testbed = await ProcessTestbed.start(context);
  await testbed.settled();
  const stoppedMs = performance.now();
  testbed.containers.dnsmasq.signal('SIGSTOP');
  await testbed.waitFor('sidecar that tells', async () => !(await testbed.isHealthy('dnsmasq')));
  context.claim(await testbed.isReady(), '/readiness is not 200');
  context.claimQuiet(await testbed.isHealthy('kubedns'), '/healthcheck/kubedns is not 200');
  await delay(Math.max(0, stoppedMs + SHORT_STOP_MS - performance.now()));
  testbed.containers.dnsmasq.signal('SIGCONT');
  const continuedMs = performance.now();
  await testbed.well();
  await testbed.eachRightSince(continuedMs);
  await claimErrors(context, testbed, 'dnsmasq');
  await testbed.claimEnds({});
  const seen = await testbed.finish(stoppedMs);
  // Queries in the socket's buffer are answered, too, if their clients still wait.
  QUESTIONS.claimFailures(context, seen, EVERY_KIND, []);
  return troubleOf(
    seen.filter(({ sentMs }) => sentMs >= continuedMs),
    EVERY_KIND,
  );
}

async function stopSidecar(context: FaultContext): Promise<number> {
  const testbed = await ProcessTestbed.start(context);
  await testbed.settled();
  const stoppedMs = performance.now();
  testbed.containers.sidecar.signal('SIGSTOP');
  context.claim(
    !(await testbed.isHealthy('dnsmasq', LATE_MS)),
    'a sidecar that is stopped answers',
  );
  await delay(Math.max(0, stoppedMs + SHORT_STOP_MS - performance.now()));
  context.claim(await testbed.isReady(), '/readiness is not 200');
  testbed.containers.sidecar.signal('SIGCONT');
  await testbed.well();
  await testbed.claimEnds({});
  const seen = await testbed.finish(stoppedMs);
  QUESTIONS.claimRight(context, seen, EVERY_KIND);
  return troubleOf(seen, EVERY_KIND);
}

const CLOCK_METRICS = `\`/readiness\` and \`/healthcheck/*\` stay 200; \`${AGE}\` and the sidecar's latencies are of the time that passed; only timestamps follow the clock`;

/** Faults of the containers of a pod, and of the clock of its machine. */
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
    id: 'sidecar-killed',
    happens: 'The sidecar ends by SIGKILL, and is started again',
    clients: 'Right answers',
    duration: 'Never',
    limitMs: 0,
    metrics:
      'The pages of the sidecar do not answer until it is back; its counters begin at 0; `/readiness` stays 200',
    isCommandOnly: true,
    run: killSidecar,
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
  {
    id: 'dnsmasq-stopped',
    shows: PAGE.probeOfDnsmasq,
    happens: 'dnsmasq is stopped by SIGSTOP for 4 s, and goes on',
    clients: 'Silence; clients that still wait when it goes on get right answers',
    duration: 'Until it goes on: the next question is answered',
    limitMs: 5_000,
    isCommandOnly: true,
    metrics: `\`/readiness\` and \`/healthcheck/kubedns\` stay 200; \`/healthcheck/dnsmasq\` is 503 from the next probe on, and \`${ERRORS('dnsmasq')}\` grows`,
    run: stopDnsmasq,
  },
  {
    id: 'sidecar-stopped',
    happens: 'The sidecar is stopped by SIGSTOP for 4 s, and goes on',
    clients: 'Right answers',
    duration: 'Never',
    limitMs: 0,
    metrics:
      'The pages of the sidecar do not answer; `/readiness` stays 200; when it goes on, `/healthcheck/*` are 200 after the next probe',
    isCommandOnly: true,
    run: stopSidecar,
  },
  {
    id: 'clock-forward',
    happens: 'The time of day jumps forward by a day, and back',
    clients: 'Right answers; TTLs fall by the time that passed, and nothing leaves the cache',
    duration: 'Never',
    limitMs: 0,
    metrics: CLOCK_METRICS,
    run: clockJump(DAY_MS),
  },
  {
    id: 'clock-back',
    happens: 'The time of day jumps back by a day, and forward',
    clients:
      'Right answers; TTLs fall by the time that passed, and nothing stays in the cache longer',
    duration: 'Never',
    limitMs: 0,
    metrics: CLOCK_METRICS,
    isCommandOnly: true,
    run: clockJump(-DAY_MS),
  },
];
