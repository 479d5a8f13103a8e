import { setTimeout as delay } from 'node:timers/promises';
import { ask } from '@kube-dns/testkit';
import { troubleMs } from '../fixtures/tally.js';
import type { FaultContext } from './fault.js';
import { PodClock } from './pod-clock.js';
import { isRight, LATE_MS, LIMIT_MS, ProcessTestbed } from './process-testbed.js';

/** Long enough for probes, bookmarks and sweeps of the cache. */
const CLOCK_MS = 2_500;
const SLACK_SECONDS = 10;
/** Less than the clock jumps by, and more than the row takes on any machine. */
const HOUR_SECONDS = 3_600;
const CACHED_OUTSIDE = 'cached.example';
export const AGE = 'kubedns_last_event_age_seconds';

/** The TTL of a name of an upstream that is in dnsmasq's cache; NaN when no answer has it. */
async function ttlOf(testbed: ProcessTestbed, name: string): Promise<number> {
  const answer = ask(testbed.ports.dns, name, { limitMs: LIMIT_MS });
  const [record] = await answer.then(
    ({ answers }) => answers,
    () => [],
  );
  return (record?.type === 'A' ? record.ttl : undefined) ?? Number.NaN;
}

/** The time of day of all containers changes by `shiftMs`, and back. */
export function clockJump(shiftMs: number): (context: FaultContext) => Promise<number> {
  return async (context) => {
    const clock = new PodClock(context);
    const testbed = await ProcessTestbed.start(context, clock.given);
    await testbed.settled();
    const firstTtl = await ttlOf(testbed, CACHED_OUTSIDE);
    const startMs = performance.now();
    const probes = async () =>
      (await testbed.metrics('sidecar')).sum('kubedns_probe_dnsmasq_latency_ms_count');
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
    testbed.claimAsEver(seen, ['cached', 'cluster', 'outside']);
    return troubleMs(seen, isRight, LATE_MS);
  };
}
