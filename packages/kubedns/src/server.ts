import {
  BucketHistogram,
  errorText,
  failStartup,
  type Log,
  type MetricFamily,
} from '@kube-dns/daemon';
import { Forwarder, listen, type Listener, ListenError, type UdpEngine } from '@kube-dns/transport';
import { bindAddress, composeAnswerer, UPSTREAM_DEADLINE_MS } from './answer/composition.js';
import type { KubednsAnswerer } from './answer/kubedns-answerer.js';
import { QueryStatistics } from './answer/query-statistics.js';
import { ApiClient } from './cluster/api-client.js';
import { ClusterWatch } from './cluster/cluster-watch.js';
import { loadKubeConfig } from './cluster/kube-config.js';
import { Configuration } from './config/configuration.js';
import type { KubednsFlags } from './config/flags.js';
import { Upstreams } from './config/upstreams.js';
import { Federations } from './federation/federations.js';
import { corednsFamilies } from './metrics/coredns-families.js';
import { metricFamilies, type MetricSources } from './metrics/metric-families.js';
import { EVENT_TO_SERVED_BOUNDS } from './metrics/metric-table.js';
import { UpstreamStatistics } from './metrics/upstream-statistics.js';
import { ThreadTotals } from './workers/thread-totals.js';
import type { Facts } from './workers/worker-messages.js';
import { ZoneFeed } from './workers/zone-feed.js';
import { ZoneWorkers } from './workers/zone-workers.js';
import { cacheJson } from './zone/cache-json.js';
import { ClusterZone } from './zone/cluster-zone.js';
import { countRecords } from './zone/record-count.js';

/** Questions that may wait for an upstream at the same time, in all threads together. */
const MAX_IN_FLIGHT = 1_500;
const EXIT_CANNOT_BIND = 1;

/** The parts of a running kubedns, composed from its flags. */
export class KubednsServer {
  readonly watch: ClusterWatch;
  readonly #zone: ClusterZone;
  readonly #flags: KubednsFlags;
  readonly #engine: UdpEngine;
  readonly #log: Log;
  readonly #client: ApiClient;
  readonly #forwarder: Forwarder;
  readonly #upstreams: Upstreams;
  readonly #federations: Federations;
  readonly #configuration: Configuration;
  readonly #statistics = new QueryStatistics();
  readonly #upstreamStatistics = new UpstreamStatistics();
  readonly #eventToServed = new BucketHistogram(EVENT_TO_SERVED_BOUNDS);
  readonly #answerer: KubednsAnswerer;
  readonly #version: string;
  /** Undefined without workers. */
  readonly #feed: ZoneFeed | undefined;
  readonly #totals: ThreadTotals;
  #pool: ZoneWorkers | undefined;
  #listener: Listener | undefined;
  #isConfigured = false;

  /** Throws a StartupError when there is no API server to be found, or two configurations are. */
  constructor(flags: KubednsFlags, engine: UdpEngine, log: Log, version: string) {
    this.#flags = flags;
    this.#engine = engine;
    this.#log = log;
    this.#version = version;
    const config = loadKubeConfig({
      kubecfgFile: flags['kubecfg-file'],
      masterUrl: flags['kube-master-url'],
    });
    const userAgent = `kube-dns/${version} (${process.platform}/${process.arch})`;
    this.#client = new ApiClient(config, userAgent);
    const client = this.#client;
    this.#upstreams = new Upstreams({
      log,
      domain: flags.domain,
      own: () => this.#listener && { address: bindAddress(flags), port: this.#listener.port },
      onChange: () => this.#tellFacts(),
    });
    this.#federations = new Federations({ client, log, onLocality: () => this.#tellFacts() });
    this.#configuration = new Configuration({
      flags,
      client,
      log,
      apply: (applied) => {
        this.#upstreams.apply(applied);
        this.#federations.apply(applied.federations);
        this.#tellFacts();
      },
    });
    const zone = new ClusterZone({
      domain: flags.domain,
      negativeTtlSeconds: flags['negative-ttl'],
    });
    this.#zone = zone;
    this.#feed = flags.workers > 1 ? new ZoneFeed(zone) : undefined;
    this.watch = new ClusterWatch({
      client,
      keeper: this.#feed ?? zone,
      log,
      endpointsSource: flags['endpoints-source'],
      endpointNames: flags['endpoint-names'],
      onNamespacesKnown: () => this.#knowNamespaces(true),
      onNamespacesLost: () => this.#knowNamespaces(false),
      onSynced: () => this.#tellFacts(),
      onEvent: (latencyMs) => this.#eventToServed.observe(latencyMs / 1000),
    });
    this.#forwarder = new Forwarder({
      maxInFlight: maxInFlight(flags),
      deadlineMs: UPSTREAM_DEADLINE_MS,
      onAttempt: (server, outcome, ms) => this.#upstreamStatistics.count(server, outcome, ms),
    });
    this.#answerer = composeAnswerer({
      flags,
      version,
      zone,
      forwarder: this.#forwarder,
      upstreams: this.#upstreams,
      federations: this.#federations,
      statistics: this.#statistics,
      isSynced: () => this.watch.isSynced,
    });
    this.#totals = new ThreadTotals({
      statistics: this.#statistics,
      forwarder: this.#forwarder,
      listener: () => this.#listener,
      pool: () => this.#pool,
    });
  }

  /** Whether the whole cluster was seen and a configuration is in force. */
  get isReady(): boolean {
    return this.#isConfigured && this.watch.isSynced && this.#pool?.isSynced !== false;
  }

  /** Binds the DNS port; zone questions get SERVFAIL until `follow` has come through. */
  async listen(): Promise<void> {
    this.#listener = await this.#listen();
    this.#log.info(`serving ${this.#flags.domain} on port ${this.#listener.port}`);
  }

  /**
   * Starts the threads of `--workers` besides this one, which run `script`; rejects with a StartupError
   * when one of them cannot serve.
   */
  async startWorkers(script: string): Promise<void> {
    const { workers } = this.#flags;
    const feed = this.#feed;
    if (feed === undefined) return;
    const serial = () => this.#zone.serial;
    this.#pool = await ZoneWorkers.start({
      count: workers - 1,
      script,
      start: {
        flags: this.#flags,
        version: this.#version,
        engine: this.#engine.name,
        address: bindAddress(this.#flags),
        port: this.#listener!.port,
        maxInFlight: maxInFlight(this.#flags),
      },
      feed,
      facts: () => this.#facts(),
      serial,
      closeLeft: (descriptor) => this.#engine.closeLeft(descriptor),
      log: this.#log,
    });
    this.#log.info(`${workers} threads serve the UDP port`);
  }

  /** Starts to follow the cluster and puts the first configuration into force. */
  async follow(): Promise<void> {
    const configured = this.#configuration.start();
    // Files are there at once. The API server may hang, and is waited for in one place only.
    if (this.#configuration.source !== 'configmap') await configured;
    this.watch.start();
    this.#log.info(`following ${this.#client.server}`);
    await configured;
    this.#isConfigured = true;
  }

  /** SIGHUP: reads resolv.conf again, where it is used, and resolves servers that have names. */
  reload(): void {
    this.#upstreams.refresh();
  }

  /** The records as JSON, in pieces. */
  dump(): Iterable<string> {
    return cacheJson(this.#zone);
  }

  /** Everything there is to measure; `prefix` comes before the names of skydns. */
  metricFamilies(
    prefix: string,
    about: Pick<MetricSources, 'version' | 'isReady' | 'unexpectedErrors'>,
  ): MetricFamily[] {
    const totals = this.#totals;
    const statistics = () => totals.queries;
    const own = metricFamilies({
      ...about,
      prefix,
      statistics,
      zoneCounts: () => countRecords(this.#zone),
      watches: () => this.watch.statistics,
      eventToServed: this.#eventToServed,
      configuration: this.#configuration,
      unexpectedErrors: () => about.unexpectedErrors() + totals.unexpectedErrors,
      forwarder: () => totals.forwarder,
      upstreams: this.#upstreamStatistics,
      listener: () => {
        const counters = totals.listener;
        return counters && { engine: this.#engine.name, counters };
      },
      workerMessages: () => totals.workerMessages,
      workerRestarts: () => totals.workerRestarts,
    });
    if (!this.#flags['coredns-metrics']) return own;
    const { domain, 'dns-port': port } = this.#flags;
    return [...own, ...corednsFamilies(own, { statistics, domain, port })];
  }

  /** Ends what is under way without answers; may be called twice. */
  async close(): Promise<void> {
    await Promise.all([this.#listener?.close(), this.#pool?.close()]);
    this.#forwarder.close();
    this.#upstreams.close();
    this.#federations.close();
    await Promise.all([this.watch.close(), this.#configuration.close()]);
    this.#client.close();
  }

  #knowNamespaces(isKnown: boolean): void {
    this.#zone.knowsNamespaces = isKnown;
    this.#tellFacts();
  }

  /** Tells the workers what they need to know besides the cluster's objects. */
  #tellFacts(): void {
    this.#feed?.tell(['facts', this.#facts()]);
  }

  #facts(): Facts {
    return {
      isSynced: this.watch.isSynced,
      knowsNamespaces: this.#zone.knowsNamespaces,
      servers: this.#upstreams.servers,
      federations: this.#federations.configured,
      locality: this.#federations.locality,
    };
  }

  async #listen(): Promise<Listener> {
    try {
      return await listen({
        answerer: this.#answerer,
        address: bindAddress(this.#flags),
        port: this.#flags['dns-port'],
        sharesPort: this.#flags.workers > 1,
        engine: this.#engine,
        onFailure: (error) => this.#log.error(`answering: ${errorText(error)}`),
      });
    } catch (error) {
      failStartup(error, ListenError, EXIT_CANNOT_BIND);
    }
  }
}

/** What each thread may have of the questions that wait. */
function maxInFlight({ workers }: KubednsFlags): number {
  return Math.ceil(MAX_IN_FLIGHT / workers);
}
