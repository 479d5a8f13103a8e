import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createApiServer } from '@kube-dns/apiserver';
import { ConfigVolume, type MetricPage, TemporaryFolder } from '@kube-dns/testkit';
import { expectedAddress, FakeUpstream } from '../fixtures/fake-upstream.js';
import { ManifestPod } from '../fixtures/pod-containers.js';
import { type Seen, SteadyClient } from '../fixtures/steady-client.js';
import { waitFor } from './claims.js';
import { type Fault, type FaultContext, PAGE, questionRate } from './fault.js';

/** First bytes of the addresses that the default server and the two of the stub domain give. */
const NETWORKS = { default: 10, first: 20, second: 21 } as const;
type Whose = keyof typeof NETWORKS;

const STUB_DOMAIN = 'corp.example';
const RATE_PER_SECOND = 50;
const NAME_COUNT = 2_000;

/** The ports of a follower: for DNS, and of its pages. */
type AskedPorts = Readonly<Record<'dns' | 'metrics', number>>;

/** What follows the ConfigMap: a container, and how it is seen. */
interface Follower {
  readonly what: 'dnsmasq' | 'kubedns';
  readonly client: SteadyClient;
  readonly metrics: () => Promise<MetricPage>;
}

/** The server that gave an answer; undefined for no server, or an answer to another question. */
function whose({ name, text }: Seen): Whose | undefined {
  const networks = Object.entries(NETWORKS) as [Whose, number][];
  return networks.find(([, network]) => text === expectedAddress(name, network))?.[0];
}

/** A dnsmasq and a kubedns that follow one ConfigMap volume, and a client of each. */
class ConfigTestbed {
  readonly volume: ConfigVolume;
  readonly followers: readonly Follower[];
  readonly #servers: Readonly<Record<Whose, FakeUpstream>>;

  private constructor(
    volume: ConfigVolume,
    servers: Readonly<Record<Whose, FakeUpstream>>,
    followers: readonly Follower[],
  ) {
    this.volume = volume;
    this.#servers = servers;
    this.followers = followers;
  }

  /** Starts it all with the stub domain at its first server, and waits until both ask that. */
  static async start(context: FaultContext, periodMs: number): Promise<ConfigTestbed> {
    const { node, nodeFlags, owned } = context;
    const serve = async (name: Whose) =>
      owned.add(await FakeUpstream.start({ network: NETWORKS[name] }));
    const servers = {
      default: await serve('default'),
      first: await serve('first'),
      second: await serve('second'),
    };
    const folder = owned.add(new TemporaryFolder());
    const volume = new ConfigVolume(join(folder.path, 'config'));
    const testbed = new ConfigTestbed(volume, servers, []);
    await volume.put(testbed.keys('first'));
    const api = owned.add(await createApiServer());
    const pod = owned.add(
      await ManifestPod.start({
        node,
        nodeFlags,
        apiUrl: api.url,
        configPath: volume.path,
        hasNoSidecar: true,
        kubednsFlags: [`--config-period=${periodMs}ms`],
        dnsmasqFlags: [`-syncInterval=${periodMs}ms`],
      }),
    );
    await pod.ready();
    const follow = async (what: Follower['what']): Promise<Follower> => ({
      what,
      client: owned.add(await client(pod[what].ports, context)),
      metrics: () => pod[what].metrics(),
    });
    const followers = [await follow('dnsmasq'), await follow('kubedns')];
    const started = new ConfigTestbed(volume, servers, followers);
    await started.followedSince('first', performance.now());
    return started;
  }

  /** The ConfigMap that leads the stub domain to a server, or nowhere special. */
  keys(where: 'first' | 'second' | 'default'): Readonly<Record<string, unknown>> {
    const upstreamNameservers = [`127.0.0.1:${this.#servers.default.port}`];
    if (where === 'default') return { upstreamNameservers };
    const stubDomains = { [STUB_DOMAIN]: [`127.0.0.1:${this.#servers[where].port}`] };
    return { stubDomains, upstreamNameservers };
  }

  /** Waits until both containers have asked this server for a question sent since then. */
  async followedSince(server: Whose, sinceMs: number): Promise<void> {
    const isFollowed = ({ client }: Follower) =>
      client.seen.some((seen) => seen.sentMs >= sinceMs && whose(seen) === server);
    const what = `question to the ${server} server of the stub domain`;
    await waitFor(what, () => this.followers.every(isFollowed));
  }

  /** Waits until a metric of both containers is this at least. */
  async counted(metric: string, least: number): Promise<void> {
    const isCounted = async () => {
      const pages = await Promise.all(this.followers.map(({ metrics }) => metrics()));
      return pages.every((page, i) => page.sum(`${this.followers[i]!.what}_${metric}`) >= least);
    };
    await waitFor(`${metric} of ${least}`, isCounted);
  }
}

function client({ dns: port, metrics }: AskedPorts, context: FaultContext): Promise<SteadyClient> {
  const pages = [`http://127.0.0.1:${metrics}`];
  const names = Array.from({ length: NAME_COUNT }, (_, i) => `host-${i}.${STUB_DOMAIN}`);
  const ratePerSecond = questionRate(context, RATE_PER_SECOND);
  return SteadyClient.start({ port, names, pages, ratePerSecond }, context.signs);
}

/** The defaults are 10 s; file system events are sooner, but do not come for a folder that was away. */
const PERIOD_MS = 1_000;
const SWAPS = 100;
const SWAPPING_MS = 1_000;
const ELSEWHERE: ReadonlySet<Whose | undefined> = new Set(['second', 'default']);
/** For this long answers must show that nothing changed. */
const CALM_MS = 500;

function manyStubDomains(count: number): Readonly<Record<string, readonly string[]>> {
  const numbers = Array.from({ length: count }, (_, i) => i);
  return Object.fromEntries(numbers.map((i) => [`d${i}.example`, ['127.0.0.1']]));
}

/** What no ConfigMap should be: each is refused for another reason. */
const GARBAGE: readonly Readonly<Record<string, unknown>>[] = [
  { stubDomains: '{"corp.example": ["127.0.0.1"' },
  { stubDomains: ['corp.example'] },
  { stubDomains: { 'corp.example': 'here' } },
  { upstreamNameservers: ['ns.example'] },
  { stubDomains: '\u0000\u0001\ufffd'.repeat(1_000) },
  { stubDomains: ' '.repeat(2 * 1024 * 1024) },
  // Both would block the event loop for more than 50 ms, though the first has no mistake.
  { stubDomains: manyStubDomains(30_000) },
  { stubDomains: `${'['.repeat(500_000)}${']'.repeat(500_000)}` },
];

/** Ends a client, and claims that each of its answers is that of one of these servers. */
async function claimServers(
  context: FaultContext,
  { what, client }: Follower,
  servers: readonly Whose[],
): Promise<void> {
  const seen = await client.finish();
  const isFailure = ({ text }: Seen) => text === 'silence' || text === 'SERVFAIL';
  const failed = seen.filter(isFailure).length;
  context.claimQuiet(failed === 0, `${what}: ${failed} questions have no answer`);
  const strange = seen.filter((each) => {
    const server = whose(each);
    return !isFailure(each) && (server === undefined || !servers.includes(server));
  });
  const [first] = strange;
  const example = first && `${first.name}: ${first.text}`;
  context.claim(strange.length === 0, `${what}: ${strange.length} strange answers, ${example}`);
}

/** Claims the value of a metric of both containers. */
async function claimMetric(
  context: FaultContext,
  { followers }: ConfigTestbed,
  metric: string,
  isRight: (value: number) => boolean,
): Promise<void> {
  for (const { what, metrics } of followers) {
    const value = (await metrics()).sum(`${what}_${metric}`);
    context.claim(isRight(value), `${what}_${metric} is ${value}`);
  }
}

async function garbage(context: FaultContext): Promise<number> {
  const testbed = await ConfigTestbed.start(context, PERIOD_MS);
  for (const [i, keys] of GARBAGE.entries()) {
    // With the same keys always: what goes with a key, kubelet does a moment later than the rest.
    await testbed.volume.put({ ...testbed.keys('first'), ...keys });
    await testbed.counted('config_rejected_total', i + 1);
  }
  await delay(CALM_MS);
  await claimMetric(context, testbed, 'config_rejected_total', (value) => value === GARBAGE.length);
  await claimMetric(context, testbed, 'config_generation', (value) => value === 1);
  // What was refused is forgotten when something better comes.
  const betterMs = performance.now();
  await testbed.volume.put(testbed.keys('second'));
  await testbed.followedSince('second', betterMs);
  await claimMetric(context, testbed, 'config_generation', (value) => value === 2);
  for (const follower of testbed.followers)
    await claimServers(context, follower, ['first', 'second']);
  return 0;
}

async function deleted(context: FaultContext): Promise<number> {
  const testbed = await ConfigTestbed.start(context, PERIOD_MS);
  // The folder is missing: nothing changes.
  await testbed.volume.remove();
  await testbed.counted('config_rejected_total', 1);
  await delay(CALM_MS);
  await claimMetric(context, testbed, 'config_rejected_total', (value) => value === 1);
  for (const { what, client } of testbed.followers) {
    const moved = client.seen.filter((seen) => ELSEWHERE.has(whose(seen))).length;
    context.claim(moved === 0, `${what}: ${moved} questions went elsewhere`);
  }
  // The folder is there, without the stub domain: it is one like all others.
  const emptyMs = performance.now();
  await testbed.volume.put(testbed.keys('default'));
  await testbed.followedSince('default', emptyMs);
  const backMs = performance.now();
  await testbed.volume.put(testbed.keys('first'));
  await testbed.followedSince('first', backMs);
  const tookMs = lastMs(testbed, backMs, 'first');
  for (const follower of testbed.followers)
    await claimServers(context, follower, ['first', 'default']);
  await claimMetric(context, testbed, 'config_generation', (value) => value === 3);
  return tookMs;
}

async function swapped(context: FaultContext): Promise<number> {
  const testbed = await ConfigTestbed.start(context, PERIOD_MS);
  const startMs = performance.now();
  for (let i = 1; i <= SWAPS; i++) {
    await testbed.volume.put(testbed.keys(i % 2 === 0 ? 'second' : 'first'));
    const leftMs = startMs + (i * SWAPPING_MS) / SWAPS - performance.now();
    if (leftMs > 0) await delay(leftMs);
  }
  const doneMs = performance.now();
  await testbed.followedSince('second', doneMs);
  await delay(CALM_MS);
  const tookMs = lastMs(testbed, doneMs, 'second');
  await claimMetric(context, testbed, 'config_rejected_total', (value) => value === 0);
  await claimMetric(
    context,
    testbed,
    'config_generation',
    (value) => value > 1 && value <= SWAPS + 1,
  );
  for (const follower of testbed.followers)
    await claimServers(context, follower, ['first', 'second']);
  return tookMs;
}

/** How long after a moment another server was asked last. */
function lastMs({ followers }: ConfigTestbed, sinceMs: number, server: Whose): number {
  const others = followers.flatMap(({ client }) =>
    client.seen.filter((seen) => seen.sentMs >= sinceMs && whose(seen) !== server),
  );
  return others.reduce((ms, { sentMs }) => Math.max(ms, sentMs - sinceMs), 0);
}

/** Faults of the ConfigMap, as clients of dnsmasq and of kubedns see them. */
export const CONFIG_ROWS: readonly Fault[] = [
  {
    id: 'config-garbage',
    shows: PAGE.refused,
    happens: 'The ConfigMap is no JSON, has wrong types, wrong servers, control characters, 2 MiB',
    clients: 'Right answers, by the last good ConfigMap',
    duration: 'Never',
    limitMs: 0,
    metrics:
      '`dnsmasq_config_rejected_total` and `kubedns_config_rejected_total` grow by 1 for each; `dnsmasq_config_generation` and `kubedns_config_generation` do not change',
    run: garbage,
  },
  {
    id: 'config-deleted',
    shows: PAGE.refused,
    happens:
      'The folder of the ConfigMap goes, comes back without its stub domain, then with it again',
    clients:
      'Right answers: as before while the folder is away, of the default servers while it has no stub domain',
    duration: 'Until it is read: immediately, or 10 s for a folder that was away',
    limitMs: 8_000,
    metrics:
      '`dnsmasq_config_rejected_total` and `kubedns_config_rejected_total` grow by 1; `dnsmasq_config_generation` and `kubedns_config_generation` by 1 for each change that is applied',
    run: deleted,
  },
  {
    id: 'config-swapped',
    happens: 'The ConfigMap changes 100 times in a second, between two servers of a stub domain',
    clients: 'Right answers, of the one or the other',
    duration: 'The last one counts within half a second',
    limitMs: 5_000 + PERIOD_MS,
    metrics:
      '`dnsmasq_config_generation` and `kubedns_config_generation` grow, at most once per change; nothing is rejected',
    run: swapped,
  },
];
