import { createApiServer } from '@kube-dns/apiserver';
import { join } from 'node:path';
import {
  becomesTrue,
  ConfigVolume,
  MeasureError,
  type MetricPage,
  TemporaryFolder,
} from '@kube-dns/testkit';
import { startDnsmasq, startKubedns } from '../fixtures/pod-containers.js';
import { FakeUpstream } from '../fixtures/fake-upstream.js';
import { expectedAddress } from '../fixtures/expected-address.js';
import type { FaultSigns } from '../fixtures/fault-signs.js';
import { type Seen, SteadyClient } from '../fixtures/steady-client.js';
import type { FaultContext } from './fault.js';

/** First bytes of the addresses that the default server and the two of the stub domain give. */
const NETWORKS = { default: 10, first: 20, second: 21 } as const;
export type Whose = keyof typeof NETWORKS;

const STUB_DOMAIN = 'corp.example';
const RATE_PER_SECOND = 50;
const NAME_COUNT = 2_000;
const LIMIT_MS = 60_000;
const STEP_MS = 10;

/** The ports of a follower: for DNS, and of its pages. */
type AskedPorts = Readonly<Record<'dns' | 'metrics', number>>;

/** What follows the ConfigMap: a container, and how it is seen. */
export interface Follower {
  readonly what: 'dnsmasq' | 'kubedns';
  readonly client: SteadyClient;
  readonly metrics: () => Promise<MetricPage>;
}

/** The server that gave an answer; undefined for no server, or an answer to another question. */
export function whose({ name, text }: Seen): Whose | undefined {
  const networks = Object.entries(NETWORKS) as [Whose, number][];
  return networks.find(([, network]) => text === expectedAddress(name, network))?.[0];
}

/** A dnsmasq and a kubedns that follow one ConfigMap volume, and a client of each. */
export class ConfigTestbed {
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
    const dnsmasq = owned.add(
      await startDnsmasq({
        node,
        nodeFlags,
        nannyFlags: [
          `-configDir=${volume.path}`,
          '-restartDnsmasq=true',
          `-syncInterval=${periodMs}ms`,
        ],
        args: [`--server=${servers.default.text}`],
      }),
    );
    const kubedns = owned.add(
      await startKubedns({
        node,
        nodeFlags,
        flags: [
          `--kube-master-url=${api.url}`,
          `--config-dir=${volume.path}`,
          `--config-period=${periodMs}ms`,
        ],
      }),
    );
    await Promise.all([dnsmasq.ready(), kubedns.ready()]);
    const followers: Follower[] = [
      {
        what: 'dnsmasq',
        client: owned.add(await client(dnsmasq.ports, context.signs)),
        metrics: () => dnsmasq.metrics(),
      },
      {
        what: 'kubedns',
        client: owned.add(await client(kubedns.ports, context.signs)),
        metrics: () => kubedns.metrics(),
      },
    ];
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
    if (
      await becomesTrue(() => this.followers.every(isFollowed), {
        limitMs: LIMIT_MS,
        stepMs: STEP_MS,
      })
    )
      return;
    throw new MeasureError(`the ${server} server of the stub domain is not asked`);
  }

  /** Waits until a metric of both containers is this at least. */
  async counted(metric: string, least: number): Promise<void> {
    const isCounted = async () => {
      const pages = await Promise.all(this.followers.map(({ metrics }) => metrics()));
      return pages.every((page, i) => page.sum(`${this.followers[i]!.what}_${metric}`) >= least);
    };
    if (await becomesTrue(isCounted, { limitMs: LIMIT_MS, stepMs: STEP_MS })) return;
    throw new MeasureError(`${metric} is not ${least} in time`);
  }
}

function client({ dns: port, metrics }: AskedPorts, signs: FaultSigns): Promise<SteadyClient> {
  const pages = [`http://127.0.0.1:${metrics}`];
  const names = Array.from({ length: NAME_COUNT }, (_, i) => `host-${i}.${STUB_DOMAIN}`);
  return SteadyClient.start({ port, names, pages, ratePerSecond: RATE_PER_SECOND }, signs);
}
