import { setTimeout as delay } from 'node:timers/promises';
import { becomesTrue, type MetricPage, monotonicMs } from '@kube-dns/testkit';
import { EXTENDED_ERROR } from '@kube-dns/wire';
import { networkSkipReason } from '../fixtures/host-network.js';
import { PLAIN, type RelayFigures, type RelayMode } from '../fixtures/relays.js';
import { runningMs, tally, troubleMs } from '../fixtures/steady-client.js';
import { claimRight, claimServing } from './api-testbed.js';
import { API_PORT, UPSTREAM_PORTS } from './far-servers.js';
import { type Fault, type FaultContext, PAGE } from './fault.js';
import {
  CHANGED,
  DNSMASQ_SERVICE,
  isAsEver,
  NETWORK_SERVICES,
  NetworkTestbed,
} from './network-testbed.js';
import { tallyText } from './claims.js';
import { claimHonesty, isCached } from './upstream-testbed.js';

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

function startDnsmasqAlone(context: FaultContext): Promise<NetworkTestbed> {
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
async function loseClientsDatagrams(context: FaultContext): Promise<number> {
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
  context.claim(
    'silence' in meanwhile.failed && meanwhile.wrong.length === 0,
    tallyText(meanwhile),
  );
  context.claimQuiet(failures === 'silence', tallyText(meanwhile));
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
async function loseUpstreamsDatagrams(context: FaultContext): Promise<number> {
  const testbed = await startDnsmasqAlone(context);
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
  context.claimQuiet(
    fresh.right >= fresh.asked * 0.9,
    `names not in the cache: ${tallyText(fresh)}`,
  );
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
async function cutUpstreams(context: FaultContext): Promise<number> {
  const testbed = await startDnsmasqAlone(context);
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
    const testbed = await startDnsmasqAlone(context);
    const grown = await growth(testbed);
    await testbed.servers.call('setMode', { ...PLAIN, ...mode });
    const beginMs = monotonicMs();
    await delay(forMs);
    let otherwise: string | undefined;
    await becomesTrue(async () => {
      otherwise = happened(await testbed.servers.call('relayed'));
      return otherwise === undefined;
    });
    const seen = await testbed.seenSince(beginMs);
    context.claim(otherwise === undefined, otherwise ?? '');
    const { fresh } = claimHonesty(context, seen, LATE_MS);
    context.claimQuiet(fresh.right === fresh.asked, `names not in the cache: ${tallyText(fresh)}`);
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
const delayUpstreams = relay({
  mode: { delayMs: 200 },
  forMs: 2_500,
  tookMs: [390, 400 + LATE_MS],
  happened: () => undefined,
});

/** Each datagram takes up to 200 ms more, by chance. */
const reorderUpstreams = relay({
  mode: { jitterMs: 200 },
  forMs: 2_500,
  tookMs: [0, 400 + LATE_MS],
  happened: ({ overtaken }) => (overtaken > 10 ? undefined : `${overtaken} were overtaken`),
});

/** Each datagram comes twice, and once more long after its question is over. */
const duplicateUpstreams = relay({
  mode: { copiesAfterMs: [0, 2_000] },
  forMs: 4_000,
  tookMs: [0, LATE_MS],
  happened: ({ datagrams, copies }) => {
    return copies > datagrams / 2 ? undefined : `${copies} copies of ${datagrams} datagrams`;
  },
});

/** For how long a change is waited for. */
const WAIT_LIMIT_MS = 60_000;
/** How long other changes are made. */
const LOSS_MS = 2_000;
/** What the relay adds in each direction. */
const DELAY_MS = 200;
/** Between a question and the moment at which it is answered. */
const ASKED_BEFORE_MS = 50;
const RESTARTS = 'kubedns_watch_restarts_total';

function startKubednsAlone(context: FaultContext): Promise<NetworkTestbed> {
  return NetworkTestbed.start(context, { containers: ['kubedns'] });
}

function claimNoRestart(context: FaultContext, page: MetricPage): void {
  const restarts = page.sum(RESTARTS);
  context.claim(!(restarts > 0), `${RESTARTS} is ${restarts}`);
}

async function claimChange(context: FaultContext, testbed: NetworkTestbed): Promise<void> {
  const after = Object.fromEntries(CHANGED.map(([name, text]) => [name, [text]]));
  await claimRight(context, testbed, { after, services: NETWORK_SERVICES });
}

/** A fifth of all packets is lost. Resolves to the ms after which a change shows. */
async function loseApiPackets(context: FaultContext): Promise<number> {
  const testbed = await startKubednsAlone(context);
  const traffic = { protocol: 'tcp', ports: String(API_PORT) } as const;
  await testbed.network.lose(['pod', 'servers'], traffic, LOST_SHARE);
  const changedMs = monotonicMs();
  const change = async () => {
    await testbed.servers.call('changeCluster');
    return testbed.changesShown(WAIT_LIMIT_MS);
  };
  const [shownMs] = await Promise.all([change(), testbed.servers.call('churn', LOSS_MS)]);
  claimNoRestart(context, await claimServing(context, testbed, 0));
  context.claim((await testbed.network.lost()) > 0, 'no packet was lost');
  await testbed.network.loseNothing();
  await claimChange(context, testbed);
  return shownMs - changedMs;
}

/** Everything takes longer. Resolves to the ms after which a change shows. */
async function delayApi(context: FaultContext): Promise<number> {
  const testbed = await startKubednsAlone(context);
  await testbed.servers.call('setMode', { ...PLAIN, delayMs: DELAY_MS });
  const changedMs = monotonicMs();
  await testbed.servers.call('changeCluster');
  const tookMs = (await testbed.changesShown(WAIT_LIMIT_MS)) - changedMs;
  const early = `a change showed after ${Math.round(tookMs)} ms: nothing was delayed`;
  context.claim(tookMs >= DELAY_MS - ASKED_BEFORE_MS, early);
  claimNoRestart(context, await claimServing(context, testbed, 0));
  await claimChange(context, testbed);
  return tookMs;
}

/** The link is down for this long. Resolves to the ms from its return until a change is visible. */
function cutApi(forMs: number, isNoticed: boolean): (context: FaultContext) => Promise<number> {
  return async (context) => {
    const testbed = await startKubednsAlone(context);
    await testbed.network.cut('servers');
    await testbed.servers.call('changeCluster');
    const cutMs = monotonicMs();
    await delay(forMs);
    const page = await claimServing(context, testbed, (monotonicMs() - cutMs) * 0.9);
    if (isNoticed) {
      const restarts = page.sum(RESTARTS, { resource: 'services', reason: 'idle' });
      context.claim(restarts > 0, `${RESTARTS} of idle is ${restarts}`);
    } else claimNoRestart(context, page);
    const upMs = monotonicMs();
    await testbed.network.join('servers');
    const shownMs = await testbed.changesShown(WAIT_LIMIT_MS);
    const age = (await testbed.kubedns.metrics()).sum('kubedns_last_event_age_seconds', {
      resource: 'services',
    });
    const sinceMs = monotonicMs() - upMs;
    context.claim(age * 1_000 <= sinceMs, `kubedns_last_event_age_seconds is ${age} afterwards`);
    await claimChange(context, testbed);
    return shownMs - upMs;
  };
}

const AS_KNOWN = 'Right answers, as of the last contact';
const LATENCY = 'dnsmasq_upstream_server_latency_seconds';
const SERVING =
  '`/readiness` stays 200 and `kubedns_ready` 1; `kubedns_last_event_age_seconds` grows';

/** Faults between hosts: the pod is on one, its clients on another, its upstreams and API on a third. */
const ROWS: readonly Fault[] = [
  {
    id: 'network-loses-clients',
    happens: 'A fifth of all datagrams between clients and the pod is lost, in both directions',
    clients:
      'No answer to a third of the questions, as many as lost a datagram; right answers to all others, none of them late',
    duration:
      'As long as it lasts: the pod has nothing to wait for, and a client that asks again is answered',
    limitMs: 6_000,
    metrics: `Nothing: \`/readiness\` stays 200, and \`${UNANSWERED}\` does not grow`,
    isCommandOnly: true,
    run: loseClientsDatagrams,
  },
  {
    id: 'network-loses-upstreams',
    shows: PAGE.timeouts,
    happens:
      'A fifth of all datagrams between dnsmasq and three upstreams is lost, in both directions',
    clients:
      'Names in the cache as before; of all others a third a second late, some three seconds, and fewer than one in ten get SERVFAIL after 4.5 s',
    duration: 'Until none is lost: the next question is answered immediately',
    limitMs: 6_000,
    reasons: [EXTENDED_ERROR.NO_REACHABLE_AUTHORITY],
    haveAllReason: false,
    metrics: `\`${FAILURES}{reason="timeout"}\` grows`,
    isCommandOnly: true,
    run: loseUpstreamsDatagrams,
  },
  {
    id: 'network-loses-api',
    happens:
      'A fifth of all packets between kubedns and the API server is lost, in both directions',
    clients: 'Right answers; changes show as soon as TCP has brought them',
    duration: 'A second, seldom a few, for each change',
    limitMs: 15_000,
    metrics:
      '`/readiness` stays 200 and `kubedns_ready` 1; `kubedns_watch_restarts_total` does not grow',
    isCommandOnly: true,
    run: loseApiPackets,
  },
  {
    id: 'network-cuts-upstreams',
    shows: PAGE.serversAway,
    happens: 'The link between dnsmasq and all three upstreams is down; then it is up',
    clients:
      'Names in the cache as before; SERVFAIL for all others: after 1.8 s at first, then immediately',
    duration: 'Until it is up, and up to a second more',
    limitMs: 6_000,
    reasons: [EXTENDED_ERROR.NO_REACHABLE_AUTHORITY, EXTENDED_ERROR.NETWORK_ERROR],
    metrics: `\`${FAILURES}{reason="timeout"}\` and \`${UNANSWERED}\` grow`,
    isCommandOnly: true,
    run: cutUpstreams,
  },
  {
    id: 'network-cuts-api',
    happens: 'The link between kubedns and the API server is down for 2 s',
    clients: AS_KNOWN,
    duration:
      'Changes meanwhile show when TCP sends them again: once it has been up for as long as it was down, at most',
    limitMs: 15_000,
    metrics: `${SERVING}; \`kubedns_watch_restarts_total\` does not`,
    run: cutApi(2_000, false),
  },
  {
    id: 'network-cuts-api-long',
    shows: PAGE.idle,
    happens: 'The same for two minutes',
    clients: AS_KNOWN,
    duration: 'Changes meanwhile show up to 40 s after it is up',
    limitMs: 45_000,
    metrics: `${SERVING}; after 10 s of silence and 10 s without an answer \`kubedns_watch_restarts_total{reason="idle"}\` counts`,
    isCommandOnly: true,
    run: cutApi(120_000, true),
  },
  {
    id: 'network-delays-upstreams',
    happens: 'Each datagram between dnsmasq and three upstreams takes 200 ms more',
    clients: 'Names in the cache as before; all others 400 ms later',
    duration: 'As long as it lasts',
    limitMs: 4_400,
    metrics: `\`${LATENCY}\` moves up; \`${UNANSWERED}\` does not grow`,
    isCommandOnly: true,
    run: delayUpstreams,
  },
  {
    id: 'network-reorders-upstreams',
    happens:
      'Each datagram between dnsmasq and three upstreams takes up to 200 ms more, by chance, so that some overtake others',
    clients: 'Right answers, not later than the delay',
    duration: 'Never',
    limitMs: 0,
    metrics: `\`${LATENCY}\` moves up; \`${UNANSWERED}\` does not grow`,
    isCommandOnly: true,
    run: reorderUpstreams,
  },
  {
    id: 'network-doubles-upstreams',
    happens:
      'Each datagram between dnsmasq and three upstreams comes twice, and once more two seconds later',
    clients: 'Right answers, one to each question, and none to another',
    duration: 'Never',
    limitMs: 0,
    metrics: `Nothing: \`${LATENCY}\` counts the first reply only`,
    run: duplicateUpstreams,
  },
  {
    id: 'network-delays-api',
    happens: 'Each packet between kubedns and the API server takes 200 ms more',
    clients: 'Right answers; changes show 200 ms later',
    duration: 'As long as it lasts',
    limitMs: 6_000,
    metrics:
      '`/readiness` stays 200 and `kubedns_ready` 1; `kubedns_watch_restarts_total` does not grow',
    isCommandOnly: true,
    run: delayApi,
  },
];

/** Faults between hosts. */
export const NETWORK_ROWS: readonly Fault[] = ROWS.map((row) => {
  return { ...row, skipReason: networkSkipReason };
});
