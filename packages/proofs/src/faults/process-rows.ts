import { setTimeout as delay } from 'node:timers/promises';
import { decodeMessage, encodeQuery } from '@kube-dns/wire';
import { askOnce } from '../roll/ask-once.js';
import type { Seen } from '../stand/steady-client.js';
import { troubleMs } from '../stand/tally.js';
import type { Fault, FaultBed } from './fault.js';
import { PodClock } from './pod-clock.js';
import {
  isRight,
  type Kind,
  kindOf,
  LATE_MS,
  LIMIT_MS,
  ProcessBed,
  RESTART_MS,
  RESTARTED,
} from './process-bed.js';

const ALL: readonly Kind[] = ['kept', 'cluster', 'outside'];
/** Longer than `--query-timeout` (4.5 s), so that both are seen: who waits, and who is told. */
const STOPPED_MS = 6_000;
/** For who is not waited for: longer than three intervals of the sidecar's probes. */
const SHORT_STOP_MS = 4_000;
const DAY_MS = 86_400_000;
/** Probes, bookmarks and sweeps of the cache come meanwhile. */
const CLOCK_MS = 2_500;
const SLACK_SECONDS = 10;
/** A restart, and what a loaded machine takes for it. */
const KILLED_LIMIT_MS = RESTART_MS + 20_000;
const FAILURES = 'dnsmasq_upstream_server_failures_total';
const AGE = 'kubedns_last_event_age_seconds';
const ERRORS = (probe: string) => `kubedns_probe_${probe}_errors`;
const KEPT_OUTSIDE = 'kept.example';

function troubleOf(seen: readonly Seen[], kinds: readonly Kind[]): number {
  const own = seen.filter((each) => kinds.includes(kindOf(each)));
  return troubleMs(own, isRight, LATE_MS);
}

/** Claims that a probe of the sidecar has failed. */
async function claimErrors(bed: FaultBed, stand: ProcessBed, probe: string): Promise<void> {
  const errors = (await stand.metrics('sidecar')).sum(ERRORS(probe));
  bed.claim(errors > 0, `${ERRORS(probe)} is ${errors}`);
}

async function killKubedns(bed: FaultBed): Promise<number> {
  const stand = await ProcessBed.start(bed);
  await stand.settled();
  const killedMs = performance.now();
  stand.containers.kubedns.signal('SIGKILL');
  await stand.waitFor('sidecar that tells', async () => !(await stand.isHealthy('kubedns')));
  bed.claim(!(await stand.isReady()), '/readiness is 200 without a kubedns');
  const server = `127.0.0.1#${stand.ports.kubedns}`;
  const failures = (await stand.metrics('dnsmasq')).sum(FAILURES, {
    server,
    reason: 'unreachable',
  });
  bed.claim(failures > 0, `${FAILURES}{reason="unreachable"} is ${failures}`);
  await stand.well();
  await stand.rightSince('cluster', performance.now());
  await claimErrors(bed, stand, 'kubedns');
  await stand.claimEnds({ kubedns: 1 });
  const seen = await stand.finish(killedMs);
  stand.claimAsEver(seen, ['kept', 'outside']);
  stand.claimFailures(seen, ['cluster'], ['SERVFAIL']);
  return troubleOf(seen, ['cluster']);
}

async function killDnsmasq(bed: FaultBed): Promise<number> {
  const stand = await ProcessBed.start(bed);
  await stand.settled();
  const killedMs = performance.now();
  stand.containers.dnsmasq.signal('SIGKILL');
  await stand.waitFor('sidecar that tells', async () => !(await stand.isHealthy('dnsmasq')));
  bed.claim(await stand.isReady(), '/readiness is not 200');
  bed.claim(await stand.isHealthy('kubedns'), '/healthcheck/kubedns is not 200');
  await stand.well();
  await Promise.all(ALL.map((kind) => stand.rightSince(kind, performance.now())));
  await claimErrors(bed, stand, 'dnsmasq');
  await stand.claimEnds({ dnsmasq: 1 });
  const seen = await stand.finish(killedMs);
  stand.claimFailures(seen, ALL, ['silence']);
  return troubleOf(seen, ALL);
}

async function killSidecar(bed: FaultBed): Promise<number> {
  const stand = await ProcessBed.start(bed);
  await stand.settled();
  const killedMs = performance.now();
  stand.containers.sidecar.signal('SIGKILL');
  await stand.waitFor('sidecar that is away', async () => !(await stand.isHealthy('dnsmasq')));
  bed.claim(await stand.isReady(), '/readiness is not 200');
  await stand.well();
  await stand.claimEnds({ sidecar: 1 });
  const seen = await stand.finish(killedMs);
  stand.claimAsEver(seen, ALL);
  return troubleOf(seen, ALL);
}

async function stopKubedns(bed: FaultBed): Promise<number> {
  const stand = await ProcessBed.start(bed);
  await stand.settled();
  const stoppedMs = performance.now();
  stand.containers.kubedns.signal('SIGSTOP');
  await stand.waitFor('sidecar that tells', async () => !(await stand.isHealthy('kubedns')));
  bed.claim(!(await stand.isReady(LATE_MS)), '/readiness is 200 of a kubedns that is stopped');
  await delay(Math.max(0, stoppedMs + STOPPED_MS - performance.now()));
  const reason = 'timeout';
  const failures = (await stand.metrics('dnsmasq')).sum(FAILURES, { reason });
  bed.claim(failures > 0, `${FAILURES}{reason="timeout"} is ${failures}`);
  stand.containers.kubedns.signal('SIGCONT');
  const continuedMs = performance.now();
  await stand.well();
  await stand.rightSince('cluster', continuedMs);
  await claimErrors(bed, stand, 'kubedns');
  await stand.claimEnds({});
  const seen = await stand.finish(stoppedMs);
  stand.claimAsEver(seen, ['kept', 'outside']);
  stand.claimFailures(seen, ['cluster'], ['SERVFAIL']);
  return troubleOf(
    seen.filter(({ sentMs }) => sentMs >= continuedMs),
    ['cluster'],
  );
}

async function stopDnsmasq(bed: FaultBed): Promise<number> {
  const stand = await ProcessBed.start(bed);
  await stand.settled();
  const stoppedMs = performance.now();
  stand.containers.dnsmasq.signal('SIGSTOP');
  await stand.waitFor('sidecar that tells', async () => !(await stand.isHealthy('dnsmasq')));
  bed.claim(await stand.isReady(), '/readiness is not 200');
  bed.claim(await stand.isHealthy('kubedns'), '/healthcheck/kubedns is not 200');
  await delay(Math.max(0, stoppedMs + SHORT_STOP_MS - performance.now()));
  stand.containers.dnsmasq.signal('SIGCONT');
  const continuedMs = performance.now();
  await stand.well();
  await Promise.all(ALL.map((kind) => stand.rightSince(kind, continuedMs)));
  await claimErrors(bed, stand, 'dnsmasq');
  await stand.claimEnds({});
  const seen = await stand.finish(stoppedMs);
  // What waited in the socket is answered as well: who still waits gets it.
  stand.claimFailures(seen, ALL, []);
  return troubleOf(
    seen.filter(({ sentMs }) => sentMs >= continuedMs),
    ALL,
  );
}

async function stopSidecar(bed: FaultBed): Promise<number> {
  const stand = await ProcessBed.start(bed);
  await stand.settled();
  const stoppedMs = performance.now();
  stand.containers.sidecar.signal('SIGSTOP');
  bed.claim(!(await stand.isHealthy('dnsmasq', LATE_MS)), 'a sidecar that is stopped answers');
  await delay(Math.max(0, stoppedMs + SHORT_STOP_MS - performance.now()));
  bed.claim(await stand.isReady(), '/readiness is not 200');
  stand.containers.sidecar.signal('SIGCONT');
  await stand.well();
  await stand.claimEnds({});
  const seen = await stand.finish(stoppedMs);
  stand.claimAsEver(seen, ALL);
  return troubleOf(seen, ALL);
}

/** The TTL of a name that an upstream has told dnsmasq some time ago; NaN when that is no answer. */
async function ttlOf(stand: ProcessBed, name: string): Promise<number> {
  const reply = await askOnce(stand.ports.dns, encodeQuery({ id: 1, name, type: 'A' }), LIMIT_MS);
  const [record] = reply === undefined ? [] : decodeMessage(reply).answers;
  return (record?.type === 'A' ? record.ttl : undefined) ?? Number.NaN;
}

/** The time of day of all containers changes by so much, and back. */
function clockJump(shiftMs: number): (bed: FaultBed) => Promise<number> {
  return async (bed) => {
    const clock = new PodClock(bed);
    const stand = await ProcessBed.start(bed, clock.given);
    await stand.settled();
    const firstTtl = await ttlOf(stand, KEPT_OUTSIDE);
    const startMs = performance.now();
    const probes = async () =>
      (await stand.metrics('sidecar')).sum('kubedns_probe_dnsmasq_latency_ms_count');
    for (const toMs of [shiftMs, 0]) {
      await clock.set(stand, toMs);
      const before = await probes();
      await delay(CLOCK_MS);
      await stand.waitFor('probe with another time', async () => (await probes()) > before);
      const elapsedSeconds = (performance.now() - startMs) / 1_000;
      const lost = firstTtl - (await ttlOf(stand, KEPT_OUTSIDE));
      const told = `the TTL of a name fell by ${lost} in ${Math.round(elapsedSeconds)} s`;
      bed.claim(
        lost >= Math.floor(elapsedSeconds) - 1 && lost <= elapsedSeconds + SLACK_SECONDS,
        told,
      );
      const age = (await stand.metrics('kubedns')).sum(AGE, { resource: 'services' });
      bed.claim(age >= 0 && age < 600, `${AGE} is ${age}`);
      bed.claim(await stand.isReady(), '/readiness is not 200');
      for (const name of ['kubedns', 'dnsmasq'] as const) {
        bed.claim(await stand.isHealthy(name), `/healthcheck/${name} is not 200`);
        const latency = `kubedns_probe_${name}_latency_ms_sum`;
        const sum = (await stand.metrics('sidecar')).sum(latency);
        bed.claim(sum >= 0 && sum < 60_000, `${latency} is ${sum}`);
      }
    }
    await stand.claimEnds({});
    const seen = await stand.finish(startMs);
    stand.claimAsEver(seen, ALL);
    return troubleOf(seen, ALL);
  };
}

const CLOCK_METRICS = `\`/readiness\` and \`/healthcheck/*\` stay 200; \`${AGE}\` and the sidecar's latencies are of the time that passed; only timestamps follow the clock`;

/** What becomes of the pod when one of its containers, or the clock of its machine, fails. */
export const PROCESS_ROWS: readonly Fault[] = [
  {
    id: 'kubedns-killed',
    happens: 'kubedns ends by SIGKILL, and is started again',
    clients:
      "Names in dnsmasq's cache and those of upstreams as ever; SERVFAIL at once for all others",
    duration: `${RESTARTED}; then until it has seen the cluster`,
    limitMs: KILLED_LIMIT_MS,
    metrics: `\`/readiness\` of kubedns does not answer, then is 503; \`${FAILURES}{reason="unreachable"}\` grows; \`/healthcheck/kubedns\` is 503 from the next probe on, and \`${ERRORS('kubedns')}\` grows`,
    run: killKubedns,
  },
  {
    id: 'dnsmasq-killed',
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
    run: killSidecar,
  },
  {
    id: 'kubedns-stopped',
    happens: 'kubedns is stopped by SIGSTOP for 6 s, and goes on',
    clients:
      "Names in dnsmasq's cache and those of upstreams as ever; SERVFAIL after 4.5 s for all others, or an answer when it goes on",
    duration: 'Until it goes on: the next question is answered',
    limitMs: 5_000,
    metrics: `\`/readiness\` of kubedns does not answer; \`${FAILURES}{reason="timeout"}\` grows; \`/healthcheck/kubedns\` is 503 from the next probe on, and \`${ERRORS('kubedns')}\` grows`,
    isLong: true,
    run: stopKubedns,
  },
  {
    id: 'dnsmasq-stopped',
    happens: 'dnsmasq is stopped by SIGSTOP for 4 s, and goes on',
    clients: 'Silence; who still waits when it goes on is answered right',
    duration: 'Until it goes on: the next question is answered',
    limitMs: 5_000,
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
    isLong: true,
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
    isLong: true,
    run: clockJump(-DAY_MS),
  },
];
