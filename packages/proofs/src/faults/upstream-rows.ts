import { setTimeout as delay } from 'node:timers/promises';
import type { Conduct } from '../stand/fake-upstream.js';
import { tally, troubleMs } from '../stand/tally.js';
import type { Fault, FaultBed } from './fault.js';
import { isKept, isRight, text, UpstreamBed } from './upstream-bed.js';

/** So long the fault lasts: longer than a client waits. */
const FAULT_MS = 5_500;
/** For upstreams of which one is left, or that say at once what is wrong. */
const SHORT_FAULT_MS = 2_500;
/** More than an answer out of memory takes on a machine whose cores are busy. */
const LATE_MS = 2_500;
/** Where the others take two seconds. */
const SOON_MS = 1_500;
/** What clients notice. */
const NOTICED_MS = 500;
/** `--query-timeout`, and how late the answer may be on such a machine. */
const QUERY_TIMEOUT_MS = 4_500;
const SLACK_MS = 4_000;
/** What is asked so shortly before the upstreams are back may be answered. */
const EDGE_MS = 450;
const BACK_LIMIT_MS = 20_000;
const BACK_MS = 5_000;
const FAILURES = 'dnsmasq_upstream_server_failures_total';
const UNANSWERED = 'dnsmasq_upstream_failures_total';

interface AllFail {
  readonly conduct: Conduct | 'gone';
  readonly faultMs: number;
  /** What clients hear. */
  readonly rcode: 'SERVFAIL' | 'REFUSED';
  /** When they do, at the earliest and at the latest. */
  readonly afterMs: readonly [number, number];
  /** The reason that the servers' failures are counted for, and whether the clients' are. */
  readonly reason: string;
  readonly isCounted: boolean;
}

/** All of three upstreams fail, and come back. */
function allFail({ conduct, faultMs, rcode, afterMs, reason, isCounted }: AllFail) {
  return async (bed: FaultBed): Promise<number> => {
    const stand = await UpstreamBed.start(bed, 3);
    const faultAtMs = performance.now();
    if (conduct === 'gone') for (const upstream of stand.upstreams) await upstream.close();
    else stand.setConduct(conduct);
    await delay(faultMs);
    const page = await stand.dnsmasq.metrics();
    const failures = page.sum(FAILURES, { reason });
    bed.claim(failures > 0, `${FAILURES}{reason="${reason}"} is ${failures}`);
    const unanswered = page.sum(UNANSWERED);
    bed.claim(unanswered > 0 === isCounted, `${UNANSWERED} is ${unanswered}`);

    if (conduct === 'gone') for (const upstream of stand.upstreams) await upstream.open();
    else stand.setConduct('right');
    const backMs = performance.now();
    await stand.rightAgain(backMs, BACK_LIMIT_MS);
    const seen = await stand.seenSince(faultAtMs);
    const { fresh } = stand.claimHonesty(seen, LATE_MS);
    const names = Object.keys(fresh.failed).join(' and ');
    bed.claim(names === rcode, `clients heard ${names}`);
    const failed = seen.filter((each) => each.text === rcode && each.sentMs < backMs - EDGE_MS);
    bed.claim(failed.length > 0, `nobody heard ${rcode} before the upstreams were back`);
    const took = failed.map(({ tookMs }) => tookMs);
    bed.claim(Math.min(...took) >= afterMs[0], `${rcode} came after ${Math.min(...took)} ms`);
    bed.claim(Math.max(...took) <= afterMs[1], `${rcode} came after ${Math.max(...took)} ms`);
    return troubleMs(
      seen.filter(({ sentMs }) => sentMs >= backMs),
      isRight,
      NOTICED_MS,
    );
  };
}

/** All of three upstreams take two seconds for an answer. */
async function allSlow(bed: FaultBed): Promise<number> {
  const stand = await UpstreamBed.start(bed, 3);
  const faultAtMs = performance.now();
  stand.setConduct('slow');
  await delay(FAULT_MS);
  const backMs = performance.now();
  const page = await stand.dnsmasq.metrics();
  const latency = 'dnsmasq_upstream_server_latency_seconds_sum';
  bed.claim(page.sum(latency) > 2, `${latency} is ${page.sum(latency)}`);
  const unanswered = page.sum(UNANSWERED);
  bed.claim(unanswered === 0, `${UNANSWERED} is ${unanswered}`);
  stand.setConduct('right');
  await stand.rightAgain(backMs, BACK_LIMIT_MS);
  const seen = await stand.seenSince(faultAtMs);
  const { fresh } = stand.claimHonesty(seen, SOON_MS);
  bed.claim(fresh.right === fresh.asked, `names not in the cache: ${text(fresh)}`);
  bed.claim(fresh.slowestMs >= 1_500, `the slowest answer took ${fresh.slowestMs} ms`);
  return fresh.slowestMs;
}

interface OneFails {
  readonly conduct: Conduct | 'gone';
  /** The reason that its failures are counted for. */
  readonly reason: string;
  /** A second passes before another one is asked. */
  readonly isSlow?: boolean;
}

/** The one of three upstreams that is asked fails, and comes back. */
function oneFails({ conduct, reason, isSlow = false }: OneFails) {
  return async (bed: FaultBed): Promise<number> => {
    const stand = await UpstreamBed.start(bed, 3);
    const upstream = await stand.preferred();
    const faultAtMs = performance.now();
    if (conduct === 'gone') await upstream.close();
    else upstream.conduct = conduct;
    await delay(SHORT_FAULT_MS);
    const failures = await stand.counted(FAILURES, { server: upstream.text, reason });
    bed.claim(failures > 0, `${FAILURES}{reason="${reason}"} is ${failures}`);
    const page = await stand.dnsmasq.metrics();
    const unanswered = page.sum(UNANSWERED);
    bed.claim(unanswered === 0, `${UNANSWERED} is ${unanswered}`);
    if (conduct === 'gone') await upstream.open();
    else upstream.conduct = 'right';
    const seen = await stand.seenSince(faultAtMs);
    const { fresh } = stand.claimHonesty(seen, LATE_MS);
    bed.claim(fresh.right === fresh.asked, `names not in the cache: ${text(fresh)}`);
    const others = seen.filter((each) => !isKept(each));
    const { slowestMs } = tally(others, isRight);
    bed.claim(slowestMs <= 1_000 + LATE_MS, `the slowest answer took ${slowestMs} ms`);
    return troubleMs(others, isRight, isSlow ? NOTICED_MS : LATE_MS);
  };
}

const AT_ONCE = [0, LATE_MS] as const;
const AT_TIMEOUT = [QUERY_TIMEOUT_MS - 100, QUERY_TIMEOUT_MS + SLACK_MS] as const;

/** Faults of the name servers that dnsmasq asks, as its clients see them. */
export const UPSTREAM_ROWS: readonly Fault[] = [
  {
    id: 'upstreams-gone',
    happens: 'Nobody listens on the ports of all three upstreams; then they are back',
    clients: 'Names in the cache as ever; SERVFAIL within a second for all others',
    duration: 'Until one is back: the next question is answered',
    limitMs: BACK_MS,
    metrics: `\`${FAILURES}{reason="unreachable"}\` and \`${UNANSWERED}\` grow`,
    run: allFail({
      conduct: 'gone',
      faultMs: SHORT_FAULT_MS,
      rcode: 'SERVFAIL',
      afterMs: [0, 1_000 + LATE_MS],
      reason: 'unreachable',
      isCounted: true,
    }),
  },
  {
    id: 'upstreams-silent',
    happens: 'All three upstreams are silent; then they are back',
    clients: 'Names in the cache as ever; SERVFAIL after 4.5 s for all others',
    duration: 'Until one is back: the next question is answered',
    limitMs: BACK_MS,
    metrics: `\`${FAILURES}{reason="timeout"}\` and \`${UNANSWERED}\` grow`,
    run: allFail({
      conduct: 'silent',
      faultMs: FAULT_MS,
      rcode: 'SERVFAIL',
      afterMs: AT_TIMEOUT,
      reason: 'timeout',
      isCounted: true,
    }),
  },
  {
    id: 'upstreams-slow',
    happens: 'All three upstreams take two seconds for each answer',
    clients: 'Names in the cache as ever; all others after two seconds',
    duration: 'As long as they are slow',
    limitMs: 8_000,
    metrics: `\`dnsmasq_upstream_server_latency_seconds\` moves up; \`${UNANSWERED}\` does not grow`,
    isLong: true,
    run: allSlow,
  },
  {
    id: 'upstreams-lying',
    happens: 'All three upstreams send other IDs, other questions and bytes, with a wrong address',
    clients: 'Names in the cache as ever; SERVFAIL after 4.5 s for all others, never the address',
    duration: 'Until one is honest: the next question is answered',
    limitMs: BACK_MS,
    metrics: `\`${FAILURES}{reason="timeout"}\` and \`${UNANSWERED}\` grow`,
    isLong: true,
    run: allFail({
      conduct: 'lying',
      faultMs: FAULT_MS,
      rcode: 'SERVFAIL',
      afterMs: AT_TIMEOUT,
      reason: 'timeout',
      isCounted: true,
    }),
  },
  {
    id: 'upstreams-refusing',
    happens: 'All three upstreams say REFUSED; then they answer',
    clients: 'Names in the cache as ever; REFUSED at once for all others',
    duration: 'Until one answers: the next question is answered',
    limitMs: BACK_MS,
    metrics: `\`${FAILURES}{reason="refused"}\` grows`,
    isLong: true,
    run: allFail({
      conduct: 'refused',
      faultMs: SHORT_FAULT_MS,
      rcode: 'REFUSED',
      afterMs: AT_ONCE,
      reason: 'refused',
      isCounted: false,
    }),
  },
  {
    id: 'upstreams-failing',
    happens: 'All three upstreams say SERVFAIL; then they answer',
    clients: 'Names in the cache as ever; SERVFAIL at once for all others',
    duration: 'Until one answers: the next question is answered',
    limitMs: BACK_MS,
    metrics: `\`${FAILURES}{reason="servfail"}\` grows`,
    isLong: true,
    run: allFail({
      conduct: 'servfail',
      faultMs: SHORT_FAULT_MS,
      rcode: 'SERVFAIL',
      afterMs: AT_ONCE,
      reason: 'servfail',
      isCounted: false,
    }),
  },
  {
    id: 'upstreams-lame',
    happens: 'All three upstreams refer to the root instead of asking; then they answer',
    clients: 'Names in the cache as ever; SERVFAIL at once for all others',
    duration: 'Until one answers: the next question is answered',
    limitMs: BACK_MS,
    metrics: `\`${FAILURES}{reason="refused"}\` and \`${UNANSWERED}\` grow`,
    isLong: true,
    run: allFail({
      conduct: 'lame',
      faultMs: SHORT_FAULT_MS,
      rcode: 'SERVFAIL',
      afterMs: AT_ONCE,
      reason: 'refused',
      isCounted: true,
    }),
  },
  {
    id: 'upstreams-broken',
    happens: 'All three upstreams send answers that end in the middle of a record',
    clients: 'Names in the cache as ever; SERVFAIL at once for all others',
    duration: 'Until one answers: the next question is answered',
    limitMs: BACK_MS,
    metrics: `\`${FAILURES}{reason="malformed"}\` and \`${UNANSWERED}\` grow`,
    run: allFail({
      conduct: 'broken',
      faultMs: SHORT_FAULT_MS,
      rcode: 'SERVFAIL',
      afterMs: AT_ONCE,
      reason: 'malformed',
      isCounted: true,
    }),
  },
  {
    id: 'one-upstream-gone',
    happens: 'Nobody listens on the port of the one of three upstreams that is asked',
    clients: 'Right answers',
    duration: 'Never',
    limitMs: 0,
    metrics: `\`${FAILURES}{reason="unreachable"}\` of that server grows`,
    run: oneFails({ conduct: 'gone', reason: 'unreachable' }),
  },
  {
    id: 'one-upstream-silent',
    happens: 'The one of three upstreams that is asked is silent',
    clients: 'Right answers, a second late at first',
    duration: 'A second, then another upstream is asked',
    limitMs: 6_000,
    metrics: `\`${FAILURES}{reason="timeout"}\` of that server grows`,
    run: oneFails({ conduct: 'silent', reason: 'timeout', isSlow: true }),
  },
  {
    id: 'one-upstream-slow',
    happens: 'The one of three upstreams that is asked takes two seconds for each answer',
    clients: 'Right answers, a second late at first',
    duration: 'A second, then another upstream is asked',
    limitMs: 6_000,
    metrics: `\`${FAILURES}{reason="timeout"}\` of that server grows`,
    isLong: true,
    run: oneFails({ conduct: 'slow', reason: 'timeout', isSlow: true }),
  },
  {
    id: 'one-upstream-lying',
    happens: 'The one of three upstreams that is asked sends other IDs, other questions and bytes',
    clients: 'Right answers, a second late at first',
    duration: 'A second, then another upstream is asked',
    limitMs: 6_000,
    metrics: `\`${FAILURES}{reason="timeout"}\` of that server grows`,
    isLong: true,
    run: oneFails({ conduct: 'lying', reason: 'timeout', isSlow: true }),
  },
  {
    id: 'one-upstream-refusing',
    happens: 'The one of three upstreams that is asked says REFUSED',
    clients: 'Right answers',
    duration: 'Never',
    limitMs: 0,
    metrics: `\`${FAILURES}{reason="refused"}\` of that server grows`,
    isLong: true,
    run: oneFails({ conduct: 'refused', reason: 'refused' }),
  },
  {
    id: 'one-upstream-failing',
    happens: 'The one of three upstreams that is asked says SERVFAIL',
    clients: 'Right answers',
    duration: 'Never',
    limitMs: 0,
    metrics: `\`${FAILURES}{reason="servfail"}\` of that server grows`,
    run: oneFails({ conduct: 'servfail', reason: 'servfail' }),
  },
  {
    id: 'one-upstream-lame',
    happens: 'The one of three upstreams that is asked refers to the root instead of asking',
    clients: 'Right answers',
    duration: 'Never',
    limitMs: 0,
    metrics: `\`${FAILURES}{reason="refused"}\` of that server grows`,
    isLong: true,
    run: oneFails({ conduct: 'lame', reason: 'refused' }),
  },
  {
    id: 'one-upstream-broken',
    happens:
      'The one of three upstreams that is asked sends answers that end in the middle of a record',
    clients: 'Right answers',
    duration: 'Never',
    limitMs: 0,
    metrics: `\`${FAILURES}{reason="malformed"}\` of that server grows`,
    isLong: true,
    run: oneFails({ conduct: 'broken', reason: 'malformed' }),
  },
];
