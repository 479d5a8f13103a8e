import { setTimeout as delay } from 'node:timers/promises';
import { median } from '@kube-dns/testkit';
import { EXTENDED_ERROR } from '@kube-dns/wire';
import type { Seen } from '../fixtures/steady-client.js';
import { runningMs, troubleMs } from '../fixtures/tally.js';
import type { FaultContext } from './fault.js';
import {
  isOf,
  isRight,
  type Kind,
  kindOf,
  NETWORKS,
  NodeCacheTestbed,
} from './node-cache-testbed.js';
import { RESTART_MS } from './process-testbed.js';

/** What clients notice, on a busy machine. */
const NOTICED_MS = 1_000;
/** Until it is known that a silent server is down, and what a question waits for it till then at most. */
const DOWN_AFTER_MS = 2_500;
const SILENT_MS = 3_500;
/** So many are sent in more than `EDGE_MS`. */
const KNOWN_QUESTIONS = 12;
const GONE_MS = 2_000;
const LOST_LIMIT_MS = 2_000 + 3_500;
/** Less than a client waits where no expired answer is given soon, or where it is not known that a server is down. */
const SOON_MS = 1_000;
/** Queries sent within this time before the server returns may be answered. */
const EDGE_MS = 450;
/** For this long answers must show that nothing changed. */
const CALM_MS = 500;
const EVERY_KIND: readonly Kind[] = ['known', 'cluster', 'cached', 'world'];
const OF_CLUSTER: readonly Kind[] = ['known', 'cluster'];
const OF_WORLD: readonly Kind[] = ['cached', 'world'];
const CLIENTS = 4;
/** The second process looks for the ports of the first one each second. */
const PAGES_LIMIT_MS = 10_000;
const STARTED = 'process_start_time_seconds';

/** Those of some kinds. */
function ofKinds(seen: readonly Seen[], kinds: readonly Kind[]): readonly Seen[] {
  return seen.filter((each) => kinds.includes(kindOf(each)));
}

/** The longest that a client waited for an answer of a kind. */
function slowest(seen: readonly Seen[], kind: Kind): number {
  return Math.max(...ofKinds(seen, [kind]).map(runningMs));
}

/** How long after a moment one of these was not answered by a server last. */
function untilMs(seen: readonly Seen[], sinceMs: number, isSo: (seen: Seen) => boolean): number {
  const others = seen.filter((each) => each.sentMs >= sinceMs && !isSo(each));
  return others.reduce((ms, each) => Math.max(ms, each.sentMs + runningMs(each) - sinceMs), 0);
}

/** Claims that a metric is what it should be. */
async function claimMetric(
  { claim }: FaultContext,
  testbed: NodeCacheTestbed,
  metric: string,
  isSo: (value: number) => boolean,
  labels: Readonly<Record<string, string>> = {},
): Promise<void> {
  const value = (await testbed.metrics()).sum(metric, labels);
  claim(isSo(value), `${metric} is ${value}`);
}

/** The DNS of the cluster is silent or gone; when it is back, its answers are others. */
export function clusterFails(behavior: 'silent' | 'gone') {
  return async (context: FaultContext): Promise<number> => {
    const { claim, claimQuiet } = context;
    const testbed = await NodeCacheTestbed.create(context);
    await testbed.start();
    await testbed.settled();
    const faultMs = performance.now();
    if (behavior === 'gone') await testbed.cluster.close();
    else testbed.cluster.behavior = 'silent';
    await delay(behavior === 'gone' ? GONE_MS : SILENT_MS);
    const { STALE_ANSWER, NO_REACHABLE_AUTHORITY, NETWORK_ERROR } = EXTENDED_ERROR;
    const code = behavior === 'gone' ? NETWORK_ERROR : NO_REACHABLE_AUTHORITY;
    await testbed.untilRead(STALE_ANSWER, code);
    await context.signs.seen();
    // A machine that stands still knows it later; a question that waits may get an answer of the server that is back.
    const lastFailed = () => ofKinds(testbed.seen, ['cluster']).slice(-KNOWN_QUESTIONS);
    await testbed.waitFor('SERVFAIL immediately', () =>
      lastFailed().every(
        (each) =>
          each.text === 'SERVFAIL' &&
          each.sentMs >= faultMs &&
          (context.busy || runningMs(each) <= SOON_MS),
      ),
    );
    const knownMs = Math.max(faultMs + DOWN_AFTER_MS, lastFailed()[0]!.sentMs);
    const isMore = (value: number) => value > 0;
    const to = { to: `${testbed.cluster.address}:53` };
    await claimMetric(context, testbed, 'coredns_cache_served_stale_total', isMore);
    await claimMetric(context, testbed, 'coredns_forward_healthcheck_broken_total', isMore);
    await claimMetric(context, testbed, 'coredns_proxy_healthcheck_failures_total', isMore, to);
    claim(await testbed.isReady(), '/ready is not 200');

    testbed.cluster.network = NETWORKS.changed;
    if (behavior === 'gone') await testbed.cluster.open();
    else testbed.cluster.behavior = 'right';
    const backMs = performance.now();
    await testbed.answeredBy('changed', OF_CLUSTER, backMs);
    await delay(CALM_MS);
    const seen = await testbed.finish(faultMs);
    const during = seen.filter(({ sentMs }) => sentMs < backMs - EDGE_MS);
    testbed.claimRight(seen, OF_WORLD);
    testbed.claimRight(during, ['known']);
    // A machine that stands still keeps names of the world waiting, too.
    const moreMs = slowest(during, 'known') - slowest(during, 'cached');
    claimQuiet(moreMs <= SOON_MS, `known: an expired answer took ${Math.round(moreMs)} ms more`);
    testbed.claimFailure(during, 'cluster', 'SERVFAIL');
    const failed = ofKinds(during, ['cluster']).filter((each) => each.text === 'SERVFAIL');
    const slowestMs = Math.max(...failed.map(runningMs));
    claimQuiet(slowestMs <= LOST_LIMIT_MS, `SERVFAIL came after ${Math.round(slowestMs)} ms`);
    const later = failed.filter(({ sentMs }) => sentMs >= knownMs);
    const laterMs = median((behavior === 'gone' ? failed : later).map(runningMs));
    claimQuiet(
      laterMs <= SOON_MS,
      `SERVFAIL came after ${Math.round(laterMs)} ms, half of the time`,
    );
    return untilMs(ofKinds(seen, OF_CLUSTER), backMs, isOf('changed'));
  };
}

/** node-cache is killed, without rules of the node, and started again as kubelet does it. */
export async function kill(context: FaultContext): Promise<number> {
  const testbed = await NodeCacheTestbed.create(context);
  const program = await testbed.start();
  await testbed.settled();
  const startedAt = (await testbed.metrics()).sum(STARTED);
  const killedMs = performance.now();
  await program.close('SIGKILL');
  context.claim(!(await testbed.isReady()), '/ready answers');
  await delay(RESTART_MS);
  await testbed.start();
  const backMs = performance.now();
  await Promise.all([
    testbed.answeredBy('cluster', OF_CLUSTER, backMs),
    testbed.answeredBy('world', OF_WORLD, backMs),
    testbed.waitFor('readiness', () => testbed.isReady()),
  ]);
  await claimMetric(context, testbed, STARTED, (value) => value > startedAt);
  const seen = await testbed.finish(killedMs);
  for (const kind of EVERY_KIND) testbed.claimFailure(seen, kind, 'silence');
  return troubleMs(seen, isRight, NOTICED_MS);
}

/** Another process takes over. */
export async function replace(context: FaultContext): Promise<number> {
  const { claim, claimQuiet } = context;
  const testbed = await NodeCacheTestbed.create(context);
  const first = await testbed.start('--reuse-port');
  await testbed.settled(CLIENTS);
  const startedAt = (await testbed.metrics()).sum(STARTED);
  const startMs = performance.now();
  const second = await testbed.start('--reuse-port');
  await delay(CALM_MS);
  first.signal('SIGTERM');
  const end = await first.ended;
  claim(end === 0, `the first one ended with ${end}`);
  const endMs = performance.now();
  await testbed.waitFor('pages of the second one', async () => {
    const page = await testbed.metrics().catch(() => undefined);
    return page !== undefined && (await testbed.isReady());
  });
  const tookMs = performance.now() - endMs;
  claimQuiet(tookMs <= PAGES_LIMIT_MS, `its pages came after ${Math.round(tookMs)} ms`);
  claim(second.isRunning, 'the second one has ended');
  await claimMetric(context, testbed, STARTED, (value) => value > startedAt);
  const seen = await testbed.finish(startMs);
  testbed.claimRight(seen, EVERY_KIND);
  return 0;
}

/** Template and ConfigMap are broken in turn, each followed by a good one. */
export async function breakConfig(context: FaultContext): Promise<number> {
  const testbed = await NodeCacheTestbed.create(context);
  const { world, other } = testbed;
  await testbed.start();
  await testbed.settled();
  const counts = async (refused: number, configmap: number) => {
    await testbed.waitFor('count', async () => {
      const page = await testbed.metrics();
      const errors = { errortype: 'configmap' };
      return (
        page.sum('coredns_reload_failed_total') === refused &&
        page.sum('coredns_nodecache_setup_errors_total', errors) === configmap
      );
    });
  };
  await counts(0, 0);
  const brokenMs = performance.now();
  await testbed.setTemplate(other.address, 'x.example {\n    autopath\n}\n');
  await counts(1, 0);
  await delay(CALM_MS);
  const templateMs = performance.now();
  await testbed.setTemplate(other.address);
  await testbed.answeredBy('other', OF_WORLD, templateMs);
  const otherMs = performance.now();
  await testbed.config.put({ stubDomains: `{"example": ["${world.address}"` });
  await counts(1, 1);
  await delay(CALM_MS);
  const configMs = performance.now();
  await testbed.config.put({ stubDomains: { example: [world.address] } });
  await testbed.answeredBy('world', OF_WORLD, configMs);
  await counts(1, 1);
  const seen = await testbed.finish(brokenMs);
  const between = (fromMs: number, toMs: number) =>
    seen.filter(({ sentMs }) => sentMs >= fromMs && sentMs < toMs);
  const ofWorld = ofKinds(seen, OF_WORLD);
  testbed.claimRight(seen, OF_CLUSTER);
  testbed.claimRight(between(brokenMs, templateMs), OF_WORLD);
  testbed.claimRight(between(otherMs, configMs), OF_WORLD, isOf('other'));
  const isEither = (each: Seen) => isOf('other')(each) || isOf('world')(each);
  testbed.claimRight(seen, OF_WORLD, isEither);
  return Math.max(
    untilMs(
      ofWorld.filter(({ sentMs }) => sentMs < otherMs),
      templateMs,
      isOf('other'),
    ),
    untilMs(ofWorld, configMs, isOf('world')),
  );
}

/** The node's resolv.conf has no server for a while, goes, and comes back with another one. */
export async function changeResolvConf(context: FaultContext): Promise<number> {
  const { claim, claimQuiet } = context;
  const testbed = await NodeCacheTestbed.create(context);
  const { world, other } = testbed;
  const lines = (address: string) => `search example\nnameserver ${address}\n`;
  const file = testbed.file('resolv.conf', lines(world.address));
  await testbed.setTemplate(file);
  await testbed.start();
  await testbed.settled();
  const emptyMs = performance.now();
  testbed.file('resolv.conf', 'search example\n');
  await testbed.waitFor('SERVFAIL', () => testbed.seen.some((each) => each.text === 'SERVFAIL'));
  claim(await testbed.isReady(), '/ready is not 200');
  await testbed.untilRead(EXTENDED_ERROR.NOT_READY);
  await context.signs.seen();
  const otherMs = performance.now();
  testbed.file('resolv.conf', lines(other.address));
  await testbed.answeredBy('other', ['world'], otherMs);
  const seen = await testbed.finish(emptyMs);
  testbed.claimRight(seen, [...OF_CLUSTER, 'cached']);
  const isEither = (each: Seen) => isRight(each) || isOf('other')(each);
  testbed.claimFailure(seen, 'world', 'SERVFAIL', isEither);
  const ofWorld = ofKinds(seen, ['world']);
  const failed = ofWorld.filter((each) => each.text === 'SERVFAIL').map(runningMs);
  claimQuiet(median(failed) <= SOON_MS, `SERVFAIL came after ${Math.round(median(failed))} ms`);
  return untilMs(ofWorld, otherMs, isOf('other'));
}
