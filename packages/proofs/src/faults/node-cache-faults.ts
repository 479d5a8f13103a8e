import { setTimeout as delay } from 'node:timers/promises';
import {
  type ConfigVolume,
  findProgram,
  nodeFlagsOf,
  isOk,
  median,
  MetricPage,
  needsPort53,
  NodeCache,
  type RunningProgram,
} from '@kube-dns/testkit';
import { EXTENDED_ERROR } from '@kube-dns/wire';
import { expectedAddress, FakeUpstream } from '../fixtures/fake-upstream.js';
import { runningMs, type Seen, SteadyClient, troubleMs } from '../fixtures/steady-client.js';
import { LIMIT_MS, QuestionKinds, waitFor } from './claims.js';
import { type Fault, type FaultContext, PAGE, questionRate } from './fault.js';
import { RESTART_MS, RESTARTED } from './process-testbed.js';

/** First bytes of the addresses that each server gives: the DNS of the cluster, as it is later, and two of the world. */
const NETWORKS = { cluster: 10, changed: 11, world: 20, other: 21 } as const;
type Whose = keyof typeof NETWORKS;

/** `known`: names of the cluster that were asked for before; `cluster`: its other names; `cached` and `world`: both of the world. */
type Kind = 'known' | 'cluster' | 'cached' | 'world';

const DNS_PORT = 53;
const RATE_PER_SECOND = 80;
/** Each is asked for more often than it expires. */
const KNOWN = Array.from({ length: 5 }, (_, i) => `known-${i}.svc.cluster.local`);
const CACHED = Array.from({ length: 5 }, (_, i) => `cached-${i}.example`);
/** More than any row asks for. */
const FRESH_COUNT = 2_000;
const NAMES = Array.from({ length: FRESH_COUNT }, (_, i) => [
  KNOWN[i % KNOWN.length]!,
  `fresh-${i}.svc.cluster.local`,
  CACHED[i % CACHED.length]!,
  `fresh-${i}.example`,
]).flat();
const CLIENT_TIMEOUT_MS = 10_000;
const SETTLED_AFTER = 60;
/** More than an answer out of memory takes on a machine whose cores are busy. */
const LATE_MS = 2_500;
const DRAIN = '300ms';

function kindOf({ name }: Pick<Seen, 'name'>): Kind {
  if (name.startsWith('known-')) return 'known';
  if (name.startsWith('cached-')) return 'cached';
  return name.endsWith('.example') ? 'world' : 'cluster';
}

/** Whether an answer is that of a server. */
function isOf(server: Whose): (seen: Seen) => boolean {
  return ({ name, text }) => text === expectedAddress(name, NETWORKS[server]);
}

/** Whether an answer is the one that the name has while all is well. */
function isRight(seen: Seen): boolean {
  const kind = kindOf(seen);
  return isOf(kind === 'known' || kind === 'cluster' ? 'cluster' : 'world')(seen);
}

/** The kinds of questions of the rows, and what is claimed of them. */
const QUESTIONS = new QuestionKinds<Kind>(kindOf, isRight, LATE_MS);

let served = 0;

/** An address of loopback that no other row has, with the port of DNS. */
function ownAddress(): { readonly address: string; readonly port: number } {
  const { pid } = process;
  const address = `127.${64 + (pid & 0x7f)}.${(pid >> 7) & 0xff}.${1 + (served++ % 250)}`;
  return { address, port: DNS_PORT };
}

/** A node-cache between the DNS of a cluster and servers of the world, and clients that ask it all the time. */
class NodeCacheTestbed {
  readonly cluster: FakeUpstream;
  readonly world: FakeUpstream;
  readonly other: FakeUpstream;
  readonly #context: FaultContext;
  readonly #cache: NodeCache;
  readonly #clients: SteadyClient[] = [];

  private constructor(
    context: FaultContext,
    cache: NodeCache,
    servers: readonly [FakeUpstream, FakeUpstream, FakeUpstream],
  ) {
    this.#context = context;
    this.#cache = cache;
    [this.cluster, this.world, this.other] = servers;
  }

  /** Makes all but the process of node-cache. */
  static async create(context: FaultContext): Promise<NodeCacheTestbed> {
    const { owned } = context;
    const serve = async (network: number) =>
      owned.add(await FakeUpstream.start({ network, at: ownAddress() }));
    const { cluster, world, other } = NETWORKS;
    const servers = [await serve(cluster), await serve(world), await serve(other)] as const;
    const testbed = new NodeCacheTestbed(context, owned.add(await NodeCache.create()), servers);
    await testbed.setTemplate(testbed.world.address);
    return testbed;
  }

  /** The ConfigMap kube-dns. */
  get config(): ConfigVolume {
    return this.#cache.config;
  }

  /** The standard Corefile in short, with names of the cluster that expire after a second; `world` is a server or a file. */
  async setTemplate(world: string, more = ''): Promise<void> {
    const { dns, health } = this.#cache.ports;
    const template = `
cluster.local:${dns} {
    errors
    cache {
        success 9984 1 1
        denial 9984 5
    }
    bind __PILLAR__LOCAL__DNS__
    forward . __PILLAR__CLUSTER__DNS__ {
        prefer_udp
    }
    health 127.0.0.1:${health}
    ready 127.0.0.1:${health}
}
.:${dns} {
    errors
    cache 30
    bind __PILLAR__LOCAL__DNS__
    forward . ${world}
}
${more}`;
    await this.#cache.putTemplate(template);
  }

  /** Writes a file next to the Corefile, and returns its path. */
  file(name: string, content: string): string {
    return this.#cache.folder.file(name, content);
  }

  /** Starts a node-cache, and waits until it serves. */
  start(...flags: readonly string[]): Promise<RunningProgram> {
    const { node, nodeFlags } = this.#context;
    const { ports, config } = this.#cache;
    return this.#cache.start({
      node,
      nodeFlags: nodeFlagsOf('node-cache', nodeFlags),
      flags: [
        `-kubednscm=${config.path}`,
        `-dns.port=${ports.dns}`,
        `-drain-time=${DRAIN}`,
        ...flags,
      ],
      env: { KUBE_DNS_SERVICE_HOST: this.cluster.address },
    });
  }

  /** Starts clients that go on asking, and waits until all is well. */
  async settled(count = 1): Promise<void> {
    const { owned, signs } = this.#context;
    const questions = {
      port: this.#cache.ports.dns,
      names: NAMES,
      ratePerSecond: questionRate(this.#context, RATE_PER_SECOND) / count,
      timeoutMs: CLIENT_TIMEOUT_MS,
      pages: [`http://127.0.0.1:${this.#cache.ports.setup}`],
    };
    for (let i = 0; i < count; i++) {
      const client = await SteadyClient.start(questions, i === 0 ? signs : undefined);
      this.#clients.push(owned.add(client));
    }
    await waitFor('right answers at first', () => {
      const last = this.#clients.map(({ seen }) => seen.slice(-SETTLED_AFTER / count));
      return last.every((seen) => seen.length >= SETTLED_AFTER / count && seen.every(isRight));
    });
    await waitFor('readiness', () => this.isReady());
  }

  /** Everything that was decided so far. */
  get seen(): readonly Seen[] {
    return this.#clients.flatMap(({ seen }) => seen);
  }

  metrics(): Promise<MetricPage> {
    return MetricPage.read(`http://127.0.0.1:${this.#cache.ports.setup}/metrics`);
  }

  /** Whether `/ready` is 200. */
  isReady(): Promise<boolean> {
    return isOk(this.#cache.ports.health, '/ready', LIMIT_MS);
  }

  /** Waits until dig has read each of these Extended DNS Errors; without dig it waits for none. */
  async untilRead(...codes: readonly number[]): Promise<void> {
    if (findProgram('dig') === undefined) return;
    const { reasons } = this.#context.signs;
    const isRead = () => codes.every((code) => reasons.has(code));
    await waitFor(`Extended DNS Errors ${codes.join(' and ')}`, isRead);
  }

  /** Waits until each of these kinds was answered by a server, to questions that were sent since then. */
  async answeredBy(server: Whose, kinds: readonly Kind[], sinceMs: number): Promise<void> {
    const isSo = isOf(server);
    await waitFor(`answers of ${server}`, () => {
      const seen = this.seen.filter((each) => each.sentMs >= sinceMs && isSo(each));
      return kinds.every((kind) => seen.some((each) => kindOf(each) === kind));
    });
  }

  /** Sends no more; what became of the questions since then. */
  async finish(sinceMs: number): Promise<readonly Seen[]> {
    const all = await Promise.all(this.#clients.map((client) => client.finish()));
    return all.flat().filter(({ sentMs }) => sentMs >= sinceMs);
  }
}

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

/** The longest that a client waited for an answer of a kind. */
function slowest(seen: readonly Seen[], kind: Kind): number {
  return Math.max(...QUESTIONS.of(seen, [kind]).map(runningMs));
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
function clusterFails(behavior: 'silent' | 'gone') {
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
    const lastFailed = () => QUESTIONS.of(testbed.seen, ['cluster']).slice(-KNOWN_QUESTIONS);
    await waitFor(
      'SERVFAIL immediately',
      () =>
        lastFailed()[0]!.sentMs < performance.now() - EDGE_MS &&
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
    QUESTIONS.claimRight(context, seen, OF_WORLD);
    QUESTIONS.claimRight(context, during, ['known']);
    // A machine that stands still keeps names of the world waiting, too.
    const moreMs = slowest(during, 'known') - slowest(during, 'cached');
    claimQuiet(moreMs <= SOON_MS, `known: an expired answer took ${Math.round(moreMs)} ms more`);
    QUESTIONS.claimFailures(context, during, ['cluster'], ['SERVFAIL']);
    const failed = QUESTIONS.of(during, ['cluster']).filter((each) => each.text === 'SERVFAIL');
    const slowestMs = Math.max(...failed.map(runningMs));
    claimQuiet(slowestMs <= LOST_LIMIT_MS, `SERVFAIL came after ${Math.round(slowestMs)} ms`);
    const later = failed.filter(({ sentMs }) => sentMs >= knownMs);
    const laterMs = median((behavior === 'gone' ? failed : later).map(runningMs));
    claimQuiet(
      laterMs <= SOON_MS,
      `SERVFAIL came after ${Math.round(laterMs)} ms, half of the time`,
    );
    return untilMs(QUESTIONS.of(seen, OF_CLUSTER), backMs, isOf('changed'));
  };
}

/** node-cache is killed, without rules of the node, and started again as kubelet does it. */
async function kill(context: FaultContext): Promise<number> {
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
    waitFor('readiness', () => testbed.isReady()),
  ]);
  await claimMetric(context, testbed, STARTED, (value) => value > startedAt);
  const seen = await testbed.finish(killedMs);
  QUESTIONS.claimFailures(context, seen, EVERY_KIND, ['silence']);
  return troubleMs(seen, isRight, NOTICED_MS);
}

/** Another process takes over. */
async function replace(context: FaultContext): Promise<number> {
  const { claim, claimQuiet } = context;
  const testbed = await NodeCacheTestbed.create(context);
  const first = await testbed.start('--reuse-port');
  await testbed.settled(CLIENTS);
  const startedAt = (await testbed.metrics()).sum(STARTED);
  const startMs = performance.now();
  const second = await testbed.start('--reuse-port');
  await delay(CALM_MS);
  await testbed.answeredBy('cluster', OF_CLUSTER, startMs);
  await testbed.answeredBy('world', OF_WORLD, startMs);
  first.signal('SIGTERM');
  const end = await first.ended;
  claim(end === 0, `the first one ended with ${end}`);
  const endMs = performance.now();
  await waitFor('pages of the second one', async () => {
    const page = await testbed.metrics().catch(() => undefined);
    return page !== undefined && (await testbed.isReady());
  });
  const tookMs = performance.now() - endMs;
  claimQuiet(tookMs <= PAGES_LIMIT_MS, `its pages came after ${Math.round(tookMs)} ms`);
  claim(second.isRunning, 'the second one has ended');
  await claimMetric(context, testbed, STARTED, (value) => value > startedAt);
  const seen = await testbed.finish(startMs);
  QUESTIONS.claimRight(context, seen, EVERY_KIND);
  return 0;
}

/** Template and ConfigMap are broken in turn, each followed by a good one. */
async function breakConfig(context: FaultContext): Promise<number> {
  const testbed = await NodeCacheTestbed.create(context);
  const { world, other } = testbed;
  await testbed.start();
  await testbed.settled();
  const counts = async (refused: number, configmap: number) => {
    await waitFor('count', async () => {
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
  await testbed.answeredBy('world', OF_WORLD, brokenMs);
  const templateMs = performance.now();
  await testbed.setTemplate(other.address);
  await testbed.answeredBy('other', OF_WORLD, templateMs);
  const otherMs = performance.now();
  await testbed.config.put({ stubDomains: `{"example": ["${world.address}"` });
  await counts(1, 1);
  await delay(CALM_MS);
  await testbed.answeredBy('other', OF_WORLD, otherMs);
  const configMs = performance.now();
  await testbed.config.put({ stubDomains: { example: [world.address] } });
  await testbed.answeredBy('world', OF_WORLD, configMs);
  await counts(1, 1);
  const seen = await testbed.finish(brokenMs);
  const between = (fromMs: number, toMs: number) =>
    seen.filter(({ sentMs }) => sentMs >= fromMs && sentMs < toMs);
  const ofWorld = QUESTIONS.of(seen, OF_WORLD);
  QUESTIONS.claimRight(context, seen, OF_CLUSTER);
  QUESTIONS.claimRight(context, between(brokenMs, templateMs), OF_WORLD);
  QUESTIONS.claimRight(context, between(otherMs, configMs), OF_WORLD, isOf('other'));
  const isEither = (each: Seen) => isOf('other')(each) || isOf('world')(each);
  QUESTIONS.claimRight(context, seen, OF_WORLD, isEither);
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
async function changeResolvConf(context: FaultContext): Promise<number> {
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
  await waitFor('SERVFAIL', () => testbed.seen.some((each) => each.text === 'SERVFAIL'));
  claim(await testbed.isReady(), '/ready is not 200');
  await testbed.untilRead(EXTENDED_ERROR.NOT_READY);
  await context.signs.seen();
  const otherMs = performance.now();
  testbed.file('resolv.conf', lines(other.address));
  await testbed.answeredBy('other', ['world'], otherMs);
  const seen = await testbed.finish(emptyMs);
  QUESTIONS.claimRight(context, seen, OF_CLUSTER);
  const isEither = (each: Seen) => isRight(each) || isOf('other')(each);
  // On a busy machine they may expire meanwhile.
  QUESTIONS.claimRight(context, seen, ['cached'], context.busy ? isEither : isRight);
  QUESTIONS.claimFailures(context, seen, ['world'], ['SERVFAIL'], isEither);
  const ofWorld = QUESTIONS.of(seen, ['world']);
  const failed = ofWorld.filter((each) => each.text === 'SERVFAIL').map(runningMs);
  claimQuiet(median(failed) <= SOON_MS, `SERVFAIL came after ${Math.round(median(failed))} ms`);
  return untilMs(ofWorld, otherMs, isOf('other'));
}

const { STALE_ANSWER, NO_REACHABLE_AUTHORITY, NETWORK_ERROR, NOT_READY } = EXTENDED_ERROR;
const BACK_MS = 5_000;
const CLUSTER_METRICS =
  '`coredns_cache_served_stale_total`, `coredns_forward_healthcheck_broken_total` and `coredns_proxy_healthcheck_failures_total` of that server grow; `/ready` stays 200';

/** Faults around a node-cache, as pods of its node see them. */
export const NODE_CACHE_ROWS: readonly Fault[] = (
  [
    {
      id: 'node-cache-cluster-silent',
      shows: PAGE.serversAway,
      happens: 'The DNS of the cluster is silent; then it is back, and its answers have changed',
      clients:
        'Names of the cluster that were asked for before within 100 ms, as they were; SERVFAIL for its other names: within 2 s at first, then immediately; names of the world as before',
      duration: 'Until it is back, and up to a second more',
      limitMs: BACK_MS,
      reasons: [STALE_ANSWER, NO_REACHABLE_AUTHORITY],
      metrics: CLUSTER_METRICS,
      isCommandOnly: true,
      run: clusterFails('silent'),
    },
    {
      id: 'node-cache-cluster-gone',
      shows: PAGE.serversAway,
      happens:
        'No server listens on the port of the DNS of the cluster; then it is back, and its answers have changed',
      clients:
        'Names of the cluster that were asked for before, as they were; SERVFAIL immediately for its other names; names of the world as before',
      duration: 'Until it is back, and up to a second more',
      limitMs: BACK_MS,
      reasons: [STALE_ANSWER, NETWORK_ERROR],
      metrics: CLUSTER_METRICS,
      run: clusterFails('gone'),
    },
    {
      id: 'node-cache-killed',
      happens: 'node-cache, without rules of the node, ends by SIGKILL, and is started again',
      clients: 'Silence; afterwards right answers, with an empty cache',
      duration: RESTARTED,
      limitMs: 15_000,
      metrics: '`/health`, `/ready` and `/metrics` do not answer; the counters begin at 0',
      isCommandOnly: true,
      run: kill,
    },
    {
      id: 'node-cache-replaced',
      happens:
        'Another process with `--reuse-port` begins to answer, and the first one ends by SIGTERM',
      clients: 'Right answers',
      duration: 'Never',
      limitMs: 0,
      metrics:
        '`/ready` and `/metrics` are those of the second one, a second after the first one has ended at most; the counters begin at 0',
      run: replace,
    },
    {
      id: 'node-cache-config-broken',
      shows: PAGE.refused,
      happens:
        'The template has a directive that is not obeyed, then a good one comes; a key of the ConfigMap is no JSON, then a good one comes',
      clients: 'Right answers, by the last good ones',
      duration: 'Until a good one is written: it counts immediately',
      limitMs: BACK_MS,
      metrics:
        '`coredns_reload_failed_total` and `coredns_nodecache_setup_errors_total{errortype="configmap"}` grow by 1',
      run: breakConfig,
    },
    {
      id: 'node-cache-resolv-conf',
      shows: PAGE.noServersFile,
      happens: "The node's `resolv.conf` has no name server; then it has another one",
      clients:
        'SERVFAIL immediately for names of the world that are not in the cache; all others as before',
      duration: 'Until it has one, and up to a second more',
      limitMs: BACK_MS,
      reasons: [NOT_READY],
      metrics: '`/ready` stays 200: names of the cluster are answered',
      run: changeResolvConf,
    },
  ] satisfies readonly Fault[]
).map((row) => ({ ...row, skipReason: needsPort53 }));
