import { setTimeout as delay } from 'node:timers/promises';
import { monotonicMs } from '@kube-dns/testkit';
import { DNSMASQ_SERVICE } from '../fixtures/host-pod.js';
import { PLAIN, type RelayFigures, type RelayMode } from '../fixtures/relay-mode.js';
import { runningMs, tally, troubleMs } from '../fixtures/tally.js';
import { UPSTREAM_PORTS } from './far-servers.js';
import type { FaultContext } from './fault.js';
import { isAsEver, NetworkTestbed } from './network-testbed.js';
import { claimHonesty, isCached, text } from './upstream-testbed.js';

/**
 * More than an answer takes on a slow machine where ten others want each core, though less than
 * `--query-timeout`. Figures as small as the table's need a quiet one.
 */
const LATE_MS = 4_000;
/** `--query-timeout`, and how late the answer may be on such a machine. */
const QUERY_TIMEOUT_MS = 4_500;
/** What a client waits while servers that replied soon are silent. */
const LOST_MS = 1_600;
const SLACK_MS = 4_000;
/** The client waits longer than resolvers do: the network is slow here, not the pod. */
const CLIENT_TIMEOUT_MS = 15_000;
const BACK_LIMIT_MS = 60_000;
const LOST_SHARE = 0.2;
/** Longer than a client waits. */
const CUT_MS = 5_500;
/** Questions sent so long after the cut wait for their time-out; later ones may find that the servers are down. */
const UNKNOWN_UNTIL_MS = 1_000;
/** After this pause, and twice as long again, dnsmasq asks once more. */
const FIRST_PAUSE_MS = 1_000;
const FAILURES = 'dnsmasq_upstream_server_failures_total';
const UNANSWERED = 'dnsmasq_upstream_failures_total';
const QUERIES = 'dnsmasq_upstream_server_queries_total';
const REPLIES = 'dnsmasq_upstream_server_latency_seconds_count';

const TO_UPSTREAMS = {
  protocol: 'udp',
  ports: `${UPSTREAM_PORTS[0]}:${UPSTREAM_PORTS[2]}`,
} as const;

function startTestbed(context: FaultContext): Promise<NetworkTestbed> {
  return NetworkTestbed.start(context, { containers: ['dnsmasq'], timeoutMs: CLIENT_TIMEOUT_MS });
}

type Labels = Readonly<Record<string, string>>;

/** How much metrics of dnsmasq have grown since this was called. */
async function growth({ pod }: NetworkTestbed) {
  const before = await pod.dnsmasqMetrics();
  return async (name: string, labels: Labels = {}): Promise<number> => {
    // One that nothing was counted for yet is not there.
    return ((await pod.dnsmasqMetrics()).sum(name, labels) || 0) - (before.sum(name, labels) || 0);
  };
}

/** A fifth of all datagrams between clients and the pod is lost; then none is. */
export async function loseClientsDatagrams(context: FaultContext): Promise<number> {
  const timeoutMs = LATE_MS + 500;
  const testbed = await NetworkTestbed.start(context, {
    containers: ['dnsmasq', 'kubedns'],
    timeoutMs,
  });
  const traffic = { protocol: 'udp', ports: String(DNSMASQ_SERVICE.port) } as const;
  const grown = await growth(testbed);
  await testbed.network.lose(['pod', 'clients'], traffic, LOST_SHARE);
  const lossMs = monotonicMs();
  await delay(3_500);
  const unanswered = await grown(UNANSWERED);
  context.claimQuiet(unanswered === 0, `${UNANSWERED} grew by ${unanswered}`);
  context.claim((await testbed.pod.readiness()) === 200, 'readiness is not 200 meanwhile');
  const beforeEndMs = monotonicMs();
  await testbed.network.loseNothing();
  const backMs = monotonicMs();
  await testbed.rightAgain(backMs, BACK_LIMIT_MS);
  const seen = await testbed.seenSince(lossMs);
  const meanwhile = tally(
    seen.filter(({ sentMs }) => sentMs < beforeEndMs),
    isAsEver,
  );
  const failures = Object.keys(meanwhile.failed).join(' and ');
  context.claim('silence' in meanwhile.failed && meanwhile.wrong.length === 0, text(meanwhile));
  context.claimQuiet(failures === 'silence', text(meanwhile));
  const share = meanwhile.right / meanwhile.asked;
  // Both ways are survived by (1 - 0.2)^2 = 0.64 of them; six standard deviations of 300 are 0.17.
  context.claimQuiet(
    share >= 0.47 && share <= 0.81,
    `answered while some are lost: ${share.toFixed(2)}`,
  );
  const slow = `an answer that came took up to ${Math.round(meanwhile.slowestMs)} ms`;
  context.claimQuiet(meanwhile.slowestMs <= LATE_MS, slow);
  return troubleMs(
    seen.filter(({ sentMs }) => sentMs >= backMs),
    isAsEver,
    LATE_MS,
  );
}

/** A fifth of all datagrams between dnsmasq and the upstreams is lost; then none is. */
export async function loseUpstreamsDatagrams(context: FaultContext): Promise<number> {
  const testbed = await startTestbed(context);
  const grown = await growth(testbed);
  await testbed.network.lose(['pod', 'servers'], TO_UPSTREAMS, LOST_SHARE);
  const lossMs = monotonicMs();
  await delay(4_000);
  const timeouts = await grown(FAILURES, { reason: 'timeout' });
  context.claim(timeouts > 0, `${FAILURES}{reason="timeout"} grew by ${timeouts}`);
  await testbed.network.loseNothing();
  const backMs = monotonicMs();
  await testbed.rightAgain(backMs, BACK_LIMIT_MS);
  const seen = await testbed.seenSince(lossMs);
  const { fresh } = claimHonesty(context, seen, LATE_MS);
  const failures = Object.keys(fresh.failed);
  context.claimQuiet(
    failures.every((name) => name === 'SERVFAIL'),
    `clients received ${failures.join()}`,
  );
  context.claimQuiet(fresh.right >= fresh.asked * 0.9, `names not in the cache: ${text(fresh)}`);
  const slowest = Math.max(fresh.slowestMs, fresh.slowestFailureMs);
  context.claimQuiet(slowest <= QUERY_TIMEOUT_MS + SLACK_MS, `an answer took ${slowest} ms`);
  context.claimQuiet(slowest >= FIRST_PAUSE_MS * 0.9, 'no answer was late: nothing was lost');
  return troubleMs(
    seen.filter(({ sentMs }) => sentMs >= backMs),
    isAsEver,
    LATE_MS,
  );
}

/** The link of the upstreams is down for longer than a client waits. */
export async function cutUpstreams(context: FaultContext): Promise<number> {
  const testbed = await startTestbed(context);
  const grown = await growth(testbed);
  await testbed.network.cut('servers');
  const cutMs = monotonicMs();
  await delay(CUT_MS);
  const timeouts = await grown(FAILURES, { reason: 'timeout' });
  context.claim(timeouts > 0, `${FAILURES}{reason="timeout"} grew by ${timeouts}`);
  const unanswered = await grown(UNANSWERED);
  context.claim(unanswered > 0, `${UNANSWERED} grew by ${unanswered}`);
  const beforeUpMs = monotonicMs();
  await testbed.network.join('servers');
  const upMs = monotonicMs();
  await testbed.rightAgain(upMs, BACK_LIMIT_MS);
  const seen = await testbed.seenSince(cutMs);
  const { fresh } = claimHonesty(context, seen, LATE_MS);
  const failures = Object.keys(fresh.failed).join(' and ');
  context.claim('SERVFAIL' in fresh.failed, `clients received ${failures}`);
  context.claimQuiet(failures === 'SERVFAIL', `clients received ${failures}`);
  const failed = seen.filter((each) => each.text === 'SERVFAIL' && each.sentMs < beforeUpMs);
  const isUnknown = ({ sentMs }: { readonly sentMs: number }) => sentMs < cutMs + UNKNOWN_UNTIL_MS;
  const first = Math.min(...failed.filter(isUnknown).map(({ tookMs }) => tookMs));
  const last = Math.max(...failed.map(runningMs));
  context.claimQuiet(first >= LOST_MS - 100, `SERVFAIL came after ${first} ms`);
  context.claimQuiet(last <= LOST_MS + SLACK_MS, `SERVFAIL came after ${last} ms`);
  return troubleMs(
    seen.filter(({ sentMs }) => sentMs >= upMs),
    isAsEver,
    LATE_MS,
  );
}

interface Relayed {
  readonly mode: Partial<RelayMode>;
  readonly forMs: number;
  /** What a name that is not in the cache takes, at the least and at the most. */
  readonly tookMs: readonly [number, number];
  /** Claims that it happened. */
  readonly happened: (figures: RelayFigures) => string | undefined;
}

/** A relay does something to each datagram. Resolves to the ms for which clients saw late answers. */
function relay({ mode, forMs, tookMs, happened }: Relayed) {
  return async (context: FaultContext): Promise<number> => {
    const testbed = await startTestbed(context);
    const grown = await growth(testbed);
    await testbed.servers.call('setMode', { ...PLAIN, ...mode });
    const beginMs = monotonicMs();
    await delay(forMs);
    const seen = await testbed.seenSince(beginMs);
    const otherwise = happened(await testbed.servers.call('relayed'));
    context.claim(otherwise === undefined, otherwise ?? '');
    const { fresh } = claimHonesty(context, seen, LATE_MS);
    context.claimQuiet(fresh.right === fresh.asked, `names not in the cache: ${text(fresh)}`);
    const others = seen.filter((each) => !isCached(each));
    const first = Math.min(...others.map((each) => each.tookMs));
    const last = Math.max(...others.map(runningMs));
    context.claimQuiet(first >= tookMs[0], `a name not in the cache took ${first} ms`);
    context.claimQuiet(last <= tookMs[1], `a name not in the cache took ${last} ms`);
    const strays = await testbed.strays();
    context.claim(strays === 0, `${strays} answers to questions that had one`);
    const unanswered = await grown(UNANSWERED);
    context.claimQuiet(unanswered === 0, `${UNANSWERED} grew by ${unanswered}`);
    const page = await testbed.pod.dnsmasqMetrics();
    const [queries, replies] = [page.sum(QUERIES), page.sum(REPLIES)];
    context.claim(replies > 0, `${REPLIES} is ${replies}`);
    context.claim(replies <= queries, `${REPLIES} is ${replies} after ${queries} queries`);
    return tookMs[0] > 0 ? last : troubleMs(others, isAsEver, tookMs[1]);
  };
}

/** Each datagram takes 200 ms more. */
export const delayUpstreams = relay({
  mode: { delayMs: 200 },
  forMs: 2_500,
  tookMs: [390, 400 + LATE_MS],
  happened: () => undefined,
});

/** Each datagram takes up to 200 ms more, by chance. */
export const reorderUpstreams = relay({
  mode: { jitterMs: 200 },
  forMs: 2_500,
  tookMs: [0, 400 + LATE_MS],
  happened: ({ overtaken }) => (overtaken > 10 ? undefined : `${overtaken} were overtaken`),
});

/** Each datagram comes twice, and once more long after its question is over. */
export const duplicateUpstreams = relay({
  mode: { copiesAfterMs: [0, 2_000] },
  forMs: 4_000,
  tookMs: [0, LATE_MS],
  happened: ({ datagrams, copies }) => {
    return copies > datagrams / 2 ? undefined : `${copies} copies of ${datagrams} datagrams`;
  },
});
