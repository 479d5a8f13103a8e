import { setTimeout as delay } from 'node:timers/promises';
import type { Behavior, FakeUpstream } from '../fixtures/fake-upstream.js';
import { runningMs, tally, troubleMs } from '../fixtures/tally.js';
import type { FaultContext } from './fault.js';
import { isCached, isRight, text, UpstreamTestbed } from './upstream-testbed.js';

/** Duration of the fault: longer than a client waits. */
const FAULT_MS = 5_500;
/** Until servers that are silent are known to be down, and for a while afterwards. */
export const DOWN_FAULT_MS = 6_000;
/** Questions sent before this moment of the fault wait until that is known, and those sent after the other do not. */
const UNKNOWN_UNTIL_MS = 1_000;
const KNOWN_AFTER_MS = 4_000;
/** Until the first slow answer has come: before, servers that were fast may as well be gone. */
const SLOW_AFTER_MS = 3_500;
/** For faults of one upstream, and for upstreams that answer immediately with an error. */
export const SHORT_FAULT_MS = 2_500;
/** More than an answer out of memory takes on a machine whose cores are busy. */
export const LATE_MS = 2_500;
/** Where the others take two seconds. */
const SOON_MS = 1_500;
/** What clients notice. */
const NOTICED_MS = 500;
/** Queries sent within this time before the upstreams return may be answered. */
const EDGE_MS = 450;
const BACK_LIMIT_MS = 60_000;
/** How often the preferred upstream may change under the test. */
const MAX_TRIES = 5;
/** The metrics that tell of them: by server and reason, and by client. */
export const FAILURES = 'dnsmasq_upstream_server_failures_total';
export const UNANSWERED = 'dnsmasq_upstream_failures_total';

interface AllFail {
  readonly behavior: Behavior | 'gone';
  readonly faultMs: number;
  /** The rcode that clients receive. */
  readonly rcode: 'SERVFAIL' | 'REFUSED';
  /** When they do, at the earliest and at the latest. */
  readonly afterMs: readonly [number, number];
  /** It is known later that no server replies: clients receive it immediately then. */
  readonly isDownLater?: boolean;
  /** The reason that the servers' failures are counted for, and whether the clients' are. */
  readonly reason: string;
  readonly isCounted: boolean;
}

/** All of three upstreams fail, and come back. */
export function allFail(fault: AllFail) {
  const { behavior, faultMs, rcode, afterMs, isDownLater = false, reason, isCounted } = fault;
  return async (context: FaultContext): Promise<number> => {
    const testbed = await UpstreamTestbed.start(context, 3);
    const faultAtMs = performance.now();
    if (behavior === 'gone') for (const upstream of testbed.upstreams) await upstream.close();
    else testbed.setBehavior(behavior);
    await delay(faultMs);
    await context.signs.seen();
    const knownMs = faultAtMs + (isDownLater ? KNOWN_AFTER_MS : 0);
    await testbed.waitForSeen(
      ({ text, sentMs }) =>
        text === rcode && sentMs >= knownMs && sentMs < performance.now() - EDGE_MS,
    );
    const page = await testbed.dnsmasq.metrics();
    const failures = page.sum(FAILURES, { reason });
    context.claim(failures > 0, `${FAILURES}{reason="${reason}"} is ${failures}`);
    const unanswered = page.sum(UNANSWERED);
    if (isCounted) context.claim(unanswered > 0, `${UNANSWERED} is ${unanswered}`);
    else context.claimQuiet(unanswered === 0, `${UNANSWERED} is ${unanswered}`);

    if (behavior === 'gone') for (const upstream of testbed.upstreams) await upstream.open();
    else testbed.setBehavior('right');
    const backMs = performance.now();
    await testbed.rightAgain(backMs, BACK_LIMIT_MS);
    const seen = await testbed.seenSince(faultAtMs);
    const { fresh } = testbed.claimHonesty(seen, LATE_MS);
    const names = Object.keys(fresh.failed).join(' and ');
    context.claim(rcode in fresh.failed, `clients received ${names}`);
    context.claimQuiet(names === rcode, `clients received ${names}`);
    const failed = seen.filter((each) => each.text === rcode && each.sentMs < backMs - EDGE_MS);
    context.claim(failed.length > 0, `no client received ${rcode} before the upstreams were back`);
    const first = failed.filter(
      ({ sentMs }) => !isDownLater || sentMs < faultAtMs + UNKNOWN_UNTIL_MS,
    );
    const took = first.map(({ tookMs }) => tookMs);
    context.claimQuiet(
      Math.min(...took) >= afterMs[0],
      `${rcode} came after ${Math.min(...took)} ms`,
    );
    const slowestMs = Math.max(...first.map(runningMs));
    context.claimQuiet(slowestMs <= afterMs[1], `${rcode} came after ${slowestMs} ms`);
    if (isDownLater) {
      const later = failed.filter(({ sentMs }) => sentMs >= faultAtMs + KNOWN_AFTER_MS);
      const laterMs = Math.max(...later.map(runningMs));
      context.claimQuiet(
        later.length > 0 && laterMs <= LATE_MS,
        `${rcode} came after ${laterMs} ms`,
      );
    }
    return troubleMs(
      seen.filter(({ sentMs }) => sentMs >= backMs),
      isRight,
      NOTICED_MS,
    );
  };
}

/** All of three upstreams take two seconds for an answer. */
export async function allSlow(context: FaultContext): Promise<number> {
  const testbed = await UpstreamTestbed.start(context, 3);
  const faultAtMs = performance.now();
  testbed.setBehavior('slow');
  await delay(FAULT_MS);
  const backMs = performance.now();
  const page = await testbed.dnsmasq.metrics();
  const latency = 'dnsmasq_upstream_server_latency_seconds_sum';
  context.claim(page.sum(latency) > 2, `${latency} is ${page.sum(latency)}`);
  testbed.setBehavior('right');
  await testbed.rightAgain(backMs, BACK_LIMIT_MS);
  const seen = await testbed.seenSince(faultAtMs);
  testbed.claimHonesty(seen, SOON_MS);
  const later = seen.filter(({ sentMs }) => sentMs >= faultAtMs + SLOW_AFTER_MS);
  const { fresh } = testbed.claimHonesty(later, SOON_MS);
  context.claimQuiet(fresh.right === fresh.asked, `names not in the cache: ${text(fresh)}`);
  context.claimQuiet(fresh.slowestMs >= 1_500, `the slowest answer took ${fresh.slowestMs} ms`);
  return fresh.slowestMs;
}

async function setFault(upstream: FakeUpstream, behavior: Behavior | 'gone'): Promise<void> {
  if (behavior === 'gone') {
    await upstream.close();
    return;
  }
  await upstream.open();
  upstream.behavior = behavior;
}

interface OneFails {
  readonly behavior: Behavior | 'gone';
  /** The reason that its failures are counted for. */
  readonly reason: string;
  /** A second passes before another one is asked. */
  readonly isSlow?: boolean;
}

/** The one of three upstreams that is asked fails, and comes back. */
export function oneFails({ behavior, reason, isSlow = false }: OneFails) {
  return async (context: FaultContext): Promise<number> => {
    const testbed = await UpstreamTestbed.start(context, 3);
    let upstream = await testbed.preferred();
    const faultAtMs = performance.now();
    let failures = 0;
    // Now and then dnsmasq asks all and changes its preference: then the fault moves to the other one, too.
    for (let tries = 0; failures === 0 && tries < MAX_TRIES; tries++) {
      if (tries > 0) {
        await setFault(upstream, 'right');
        upstream = await testbed.preferred();
      }
      await setFault(upstream, behavior);
      await delay(SHORT_FAULT_MS);
      failures = await testbed.counted(FAILURES, { server: upstream.text, reason });
    }
    context.claim(failures > 0, `${FAILURES}{reason="${reason}"} is ${failures}`);
    await context.signs.seen();
    const page = await testbed.dnsmasq.metrics();
    const unanswered = page.sum(UNANSWERED);
    context.claimQuiet(unanswered === 0, `${UNANSWERED} is ${unanswered}`);
    await setFault(upstream, 'right');
    const seen = await testbed.seenSince(faultAtMs);
    const { fresh } = testbed.claimHonesty(seen, LATE_MS);
    context.claim(fresh.right > 0, `names not in the cache: ${text(fresh)}`);
    context.claimQuiet(fresh.right === fresh.asked, `names not in the cache: ${text(fresh)}`);
    const others = seen.filter((each) => !isCached(each));
    const { slowestMs } = tally(others, isRight);
    context.claimQuiet(slowestMs <= 1_000 + LATE_MS, `the slowest answer took ${slowestMs} ms`);
    return troubleMs(others, isRight, isSlow ? NOTICED_MS : LATE_MS);
  };
}
