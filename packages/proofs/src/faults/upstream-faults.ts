import { setTimeout as delay } from 'node:timers/promises';
import { EXTENDED_ERROR } from '@kube-dns/wire';
import type { Behavior, FakeUpstream } from '../fixtures/fake-upstream.js';
import { runningMs, tally, troubleMs } from '../fixtures/steady-client.js';
import { type Fault, type FaultContext, PAGE } from './fault.js';
import { tallyText } from './claims.js';
import { isCached, isRight, UpstreamTestbed } from './upstream-testbed.js';

/** Duration of the fault: longer than a client waits. */
const FAULT_MS = 5_500;
/** Until servers that are silent are known to be down, and for a while afterwards. */
const DOWN_FAULT_MS = 6_000;
/** Questions sent before this moment of the fault wait until that is known, and those sent after the other do not. */
const UNKNOWN_UNTIL_MS = 1_000;
const KNOWN_AFTER_MS = 4_000;
/** Until the first slow answer has come: before, servers that were fast may as well be gone. */
const SLOW_AFTER_MS = 3_500;
/** For faults of one upstream, and for upstreams that answer immediately with an error. */
const SHORT_FAULT_MS = 2_500;
/** More than an answer out of memory takes on a machine whose cores are busy. */
const LATE_MS = 2_500;
/** Where the others take two seconds. */
const SOON_MS = 1_500;
/** What clients notice. */
const NOTICED_MS = 500;
/** Queries sent within this time before the upstreams return may be answered. */
const EDGE_MS = 450;
const BACK_LIMIT_MS = 60_000;
/** What a client waits while servers that replied soon are silent, and how late the answer may be on such a machine. */
const LOST_MS = 1_600;
const SLACK_MS = 4_000;
const BACK_MS = 5_000;
/** How often the preferred upstream may change under the test. */
const MAX_TRIES = 5;
/** For how long a busy machine tries. */
const BUSY_LIMIT_MS = 60_000;
/** The metrics that tell of them: by server and reason, and by client. */
const FAILURES = 'dnsmasq_upstream_server_failures_total';
const UNANSWERED = 'dnsmasq_upstream_failures_total';

interface AllFail {
  readonly behavior: Behavior | 'gone';
  /** The rcode that clients receive; SERVFAIL unless given. */
  readonly rcode?: 'SERVFAIL' | 'REFUSED';
  /** It is known later that no server replies: clients receive it immediately then. */
  readonly isDownLater?: boolean;
  /** The reason that the servers' failures are counted for, and whether the clients' are, as they are unless given. */
  readonly reason: string;
  readonly isCounted?: boolean;
}

/** All of three upstreams fail, and come back. */
function allFail({ behavior, rcode, isDownLater, reason, isCounted }: Required<AllFail>) {
  const faultMs = isDownLater ? DOWN_FAULT_MS : SHORT_FAULT_MS;
  // Clients receive it at the earliest and at the latest then.
  const [earliestMs, latestMs] = isDownLater ? [LOST_MS - 100, LOST_MS + SLACK_MS] : [0, LATE_MS];
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
      Math.min(...took) >= earliestMs,
      `${rcode} came after ${Math.min(...took)} ms`,
    );
    const slowestMs = Math.max(...first.map(runningMs));
    context.claimQuiet(slowestMs <= latestMs, `${rcode} came after ${slowestMs} ms`);
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
async function allSlow(context: FaultContext): Promise<number> {
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
  context.claimQuiet(fresh.right === fresh.asked, `names not in the cache: ${tallyText(fresh)}`);
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
function oneFails({ behavior, reason, isSlow = false }: OneFails) {
  return async (context: FaultContext): Promise<number> => {
    const testbed = await UpstreamTestbed.start(context, 3);
    let upstream = await testbed.preferred();
    const faultAtMs = performance.now();
    let failures = 0;
    // Now and then dnsmasq asks all and changes its preference: then the fault moves to the other one, too.
    const endMs = faultAtMs + (context.busy ? BUSY_LIMIT_MS : 0);
    const goesOn = (tries: number) => tries < MAX_TRIES || performance.now() < endMs;
    for (let tries = 0; failures === 0 && goesOn(tries); tries++) {
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
    context.claim(fresh.right > 0, `names not in the cache: ${tallyText(fresh)}`);
    context.claimQuiet(fresh.right === fresh.asked, `names not in the cache: ${tallyText(fresh)}`);
    const others = seen.filter((each) => !isCached(each));
    const { slowestMs } = tally(others, isRight);
    context.claimQuiet(slowestMs <= 1_000 + LATE_MS, `the slowest answer took ${slowestMs} ms`);
    return troubleMs(others, isRight, isSlow ? NOTICED_MS : LATE_MS);
  };
}

/** What differs from row to row: `when` is until when clients see it. */
type AllRow = AllFail &
  Pick<Fault, 'id' | 'shows' | 'happens' | 'reasons' | 'isCommandOnly'> & { readonly when: string };
type OneRow = OneFails & Pick<Fault, 'id' | 'shows' | 'happens' | 'isCommandOnly'>;

function allRow({
  behavior,
  rcode = 'SERVFAIL',
  isDownLater = false,
  reason,
  isCounted = true,
  when,
  ...row
}: AllRow): Fault {
  const never = behavior === 'lying' ? ', never the address' : '';
  const received = isDownLater
    ? `for all others${never}: after 1.8 s at first, then immediately`
    : 'immediately for all others';
  const counted = `\`${FAILURES}{reason="${reason}"}\``;
  return {
    ...row,
    clients: `Names in the cache as before; ${rcode} ${received}`,
    duration: when,
    limitMs: BACK_MS,
    metrics: isCounted ? `${counted} and \`${UNANSWERED}\` grow` : `${counted} grows`,
    run: allFail({ behavior, rcode, isDownLater, reason, isCounted }),
  };
}

function oneRow({ behavior, reason, isSlow = false, ...row }: OneRow): Fault {
  return {
    ...row,
    clients: isSlow ? 'Right answers, a second late at first' : 'Right answers',
    duration: isSlow ? 'A second, then another upstream is asked' : 'Never',
    limitMs: isSlow ? 6_000 : 0,
    metrics: `\`${FAILURES}{reason="${reason}"}\` of that server grows`,
    run: oneFails({ behavior, reason, isSlow }),
  };
}

const WHEN = {
  back: 'Until one is back, and up to a second more',
  honest: 'Until one is honest, and up to a second more',
  answers: 'Until one answers: the next question is answered',
};
const { NETWORK_ERROR, NO_REACHABLE_AUTHORITY, INVALID_DATA } = EXTENDED_ERROR;

/** Faults of the name servers that dnsmasq asks, as its clients see them. */
export const UPSTREAM_ROWS: readonly Fault[] = [
  allRow({
    id: 'upstreams-gone',
    shows: PAGE.serversAway,
    happens: 'No server listens on the ports of all three upstreams; then they are back',
    when: WHEN.back,
    reasons: [NETWORK_ERROR],
    behavior: 'gone',
    reason: 'unreachable',
  }),
  allRow({
    id: 'upstreams-silent',
    shows: PAGE.serversAway,
    happens: 'All three upstreams are silent; then they are back',
    when: WHEN.back,
    reasons: [NO_REACHABLE_AUTHORITY],
    isCommandOnly: true,
    behavior: 'silent',
    isDownLater: true,
    reason: 'timeout',
  }),
  {
    id: 'upstreams-slow',
    shows: PAGE.serversAway,
    happens: 'All three upstreams take two seconds for each answer',
    clients:
      'Names in the cache as before; all others after two seconds, but SERVFAIL for those of the first moments: their first reply tells that they are slow',
    duration: 'As long as they are slow',
    limitMs: 8_000,
    metrics: `\`dnsmasq_upstream_server_latency_seconds\` moves up; \`${UNANSWERED}\` grows by those of the first moments`,
    reasons: [22],
    haveAllReason: false,
    isCommandOnly: true,
    run: allSlow,
  },
  allRow({
    id: 'upstreams-lying',
    shows: PAGE.serversAway,
    happens: 'All three upstreams send other IDs, other questions and bytes, with a wrong address',
    when: WHEN.honest,
    reasons: [NO_REACHABLE_AUTHORITY],
    isCommandOnly: true,
    behavior: 'lying',
    isDownLater: true,
    reason: 'timeout',
  }),
  allRow({
    id: 'upstreams-refusing',
    shows: PAGE.refusals,
    happens: 'All three upstreams answer with REFUSED; then they answer',
    when: WHEN.answers,
    reasons: [NO_REACHABLE_AUTHORITY],
    isCommandOnly: true,
    behavior: 'refused',
    rcode: 'REFUSED',
    reason: 'refused',
    isCounted: false,
  }),
  allRow({
    id: 'upstreams-failing',
    shows: PAGE.servfails,
    happens: 'All three upstreams answer with SERVFAIL; then they answer',
    when: WHEN.answers,
    reasons: [NO_REACHABLE_AUTHORITY],
    isCommandOnly: true,
    behavior: 'servfail',
    reason: 'servfail',
    isCounted: false,
  }),
  allRow({
    id: 'upstreams-lame',
    shows: PAGE.refusals,
    happens: 'All three upstreams refer to the root instead of asking; then they answer',
    when: WHEN.answers,
    reasons: [NO_REACHABLE_AUTHORITY],
    isCommandOnly: true,
    behavior: 'lame',
    reason: 'refused',
  }),
  allRow({
    id: 'upstreams-broken',
    shows: PAGE.malformed,
    happens: 'All three upstreams send answers that end in the middle of a record',
    when: WHEN.answers,
    reasons: [INVALID_DATA],
    behavior: 'broken',
    reason: 'malformed',
  }),
  oneRow({
    id: 'one-upstream-gone',
    shows: PAGE.serverAway,
    happens: 'No server listens on the port of the one of three upstreams that is asked',
    behavior: 'gone',
    reason: 'unreachable',
  }),
  oneRow({
    id: 'one-upstream-silent',
    shows: PAGE.timeouts,
    happens: 'The one of three upstreams that is asked is silent',
    isCommandOnly: true,
    behavior: 'silent',
    reason: 'timeout',
    isSlow: true,
  }),
  oneRow({
    id: 'one-upstream-slow',
    shows: PAGE.timeouts,
    happens: 'The one of three upstreams that is asked takes two seconds for each answer',
    isCommandOnly: true,
    behavior: 'slow',
    reason: 'timeout',
    isSlow: true,
  }),
  oneRow({
    id: 'one-upstream-lying',
    shows: PAGE.timeouts,
    happens: 'The one of three upstreams that is asked sends other IDs, other questions and bytes',
    isCommandOnly: true,
    behavior: 'lying',
    reason: 'timeout',
    isSlow: true,
  }),
  oneRow({
    id: 'one-upstream-refusing',
    shows: PAGE.refusals,
    happens: 'The one of three upstreams that is asked answers with REFUSED',
    isCommandOnly: true,
    behavior: 'refused',
    reason: 'refused',
  }),
  oneRow({
    id: 'one-upstream-failing',
    shows: PAGE.servfails,
    happens: 'The one of three upstreams that is asked answers with SERVFAIL',
    behavior: 'servfail',
    reason: 'servfail',
  }),
  oneRow({
    id: 'one-upstream-lame',
    shows: PAGE.refusals,
    happens: 'The one of three upstreams that is asked refers to the root instead of asking',
    isCommandOnly: true,
    behavior: 'lame',
    reason: 'refused',
  }),
  oneRow({
    id: 'one-upstream-broken',
    shows: PAGE.malformed,
    happens:
      'The one of three upstreams that is asked sends answers that end in the middle of a record',
    isCommandOnly: true,
    behavior: 'broken',
    reason: 'malformed',
  }),
];
