import { hostname, networkInterfaces } from 'node:os';
import {
  BucketHistogram,
  createRegistry,
  errorText,
  failStartup,
  isIpAddress,
  type Log,
  observeFamilies,
  type Registry,
} from '@kube-dns/daemon';
import { Forwarder, listen, type Listener, ListenError, type UdpEngine } from '@kube-dns/transport';
import { addressBytes } from '@kube-dns/wire';
import { ChaosAnswerer } from './answer/chaos-answerer.js';
import { ExternalNames } from './answer/external-name.js';
import { KubednsAnswerer } from './answer/kubedns-answerer.js';
import { QueryStatistics } from './answer/query-statistics.js';
import { ReverseAnswerer } from './answer/reverse-answerer.js';
import { ZoneAnswerer } from './answer/zone-answerer.js';
import { ApiClient } from './cluster/api-client.js';
import { ClusterWatch } from './cluster/cluster-watch.js';
import { loadKubeConfig } from './cluster/kube-config.js';
import { Configuration } from './config/configuration.js';
import type { KubednsFlags } from './config/flags.js';
import { Upstreams } from './config/upstreams.js';
import { federatedTarget } from './federation/federated-target.js';
import { Federations } from './federation/federations.js';
import { corednsFamilies } from './metrics/coredns-families.js';
import { EVENT_TO_SERVED_BOUNDS } from './metrics/metric-table.js';
import { type MetricSources, observeProgram } from './metrics/own-metrics.js';
import { observeQueries } from './metrics/skydns-metrics.js';
import { UpstreamStatistics } from './metrics/upstream-statistics.js';
import { cacheJson } from './zone/cache-json.js';
import { ClusterZone } from './zone/cluster-zone.js';
import { countRecords } from './zone/record-count.js';

/** Questions that may wait for an upstream at the same time. */
const MAX_IN_FLIGHT = 1_500;
/** Clients give up after 5 s; they hear SERVFAIL before. */
const UPSTREAM_DEADLINE_MS = 4_000;
const ANY_ADDRESS = '0.0.0.0';
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
  #listener: Listener | undefined;
  #isConfigured = false;

  /** Throws a StartupError when there is no API server to be found, or two configurations are. */
  constructor(flags: KubednsFlags, engine: UdpEngine, log: Log, version: string) {
    this.#flags = flags;
    this.#engine = engine;
    this.#log = log;
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
      own: () => this.#listener && { address: this.#address, port: this.#listener.port },
    });
    this.#federations = new Federations({ client, log });
    this.#configuration = new Configuration({
      flags,
      client,
      log,
      apply: (applied) => {
        this.#upstreams.apply(applied);
        this.#federations.apply(applied.federations);
      },
    });
    const ttls = {
      ttlSeconds: flags['record-ttl'],
      negativeTtlSeconds: flags['negative-ttl'],
    };
    const zone = new ClusterZone({ domain: flags.domain, ...ttls });
    this.#zone = zone;
    this.watch = new ClusterWatch({
      client,
      keeper: zone,
      log,
      endpointsSource: flags['endpoints-source'],
      endpointNames: flags['endpoint-names'],
      onNamespacesKnown: () => void (zone.knowsNamespaces = true),
      onNamespacesLost: () => void (zone.knowsNamespaces = false),
      onEvent: (latencyMs) => this.#eventToServed.observe(latencyMs / 1000),
    });
    this.#forwarder = new Forwarder({
      maxInFlight: MAX_IN_FLIGHT,
      deadlineMs: UPSTREAM_DEADLINE_MS,
      onAttempt: (server, outcome, ms) => this.#upstreamStatistics.count(server, outcome, ms),
    });
    const forwarder = this.#forwarder;
    const upstreams = this.#upstreams;
    const zoneAnswerer = new ZoneAnswerer({
      ...ttls,
      zone,
      pods: flags.pods,
      ownAddresses: this.#ownAddresses(),
      federate: (name) => federatedTarget(this.#federations, name, zone),
    });
    this.#answerer = new KubednsAnswerer({
      zone: zoneAnswerer,
      reverse: new ReverseAnswerer({ ...ttls, zone, mode: flags.ptr }),
      chaos: new ChaosAnswerer({ version: `kube-dns ${version}`, hostname: hostname() }),
      externalNames: new ExternalNames({ zone: zoneAnswerer, forwarder, upstreams, ...ttls }),
      forwarder,
      upstreams,
      statistics: this.#statistics,
      isSynced: () => this.watch.isSynced,
    });
  }

  /** Whether the whole cluster was seen and a configuration is in force. */
  get isReady(): boolean {
    return this.#isConfigured && this.watch.isSynced;
  }

  /** Binds the DNS port; zone questions get SERVFAIL until `follow` has come through. */
  async listen(): Promise<void> {
    this.#listener = await this.#listen();
    this.#log.info(`serving ${this.#flags.domain} on port ${this.#listener.port}`);
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
  metrics(
    prefix: string,
    about: Pick<MetricSources, 'version' | 'isReady' | 'unexpectedErrors'>,
  ): Registry {
    const registry = createRegistry();
    observeQueries(registry, prefix, this.#statistics);
    const sources: MetricSources = {
      ...about,
      zoneCounts: () => countRecords(this.#zone),
      watches: () => this.watch.statistics,
      eventToServed: this.#eventToServed,
      configuration: this.#configuration,
      forwarder: this.#forwarder,
      upstreams: this.#upstreamStatistics,
      listener: () => this.#listener,
    };
    observeProgram(registry, sources);
    if (this.#flags['coredns-metrics']) {
      const { domain, 'dns-port': port } = this.#flags;
      const statistics = this.#statistics;
      observeFamilies(registry, corednsFamilies({ ...sources, statistics, domain, port }));
    }
    return registry;
  }

  /** Ends what is under way without answers; may be called twice. */
  async close(): Promise<void> {
    await this.#listener?.close();
    this.#forwarder.close();
    this.#upstreams.close();
    this.#federations.close();
    await Promise.all([this.watch.close(), this.#configuration.close()]);
    this.#client.close();
  }

  /** As it was given, without the brackets that IPv6 addresses may have; empty is every address. */
  get #address(): string {
    return this.#flags['dns-bind-address'].replace(/^\[(.*)\]$/, '$1') || ANY_ADDRESS;
  }

  /** Where clients reach this server, as far as that can be told from here. */
  #ownAddresses(): Uint8Array[] {
    const given = this.#address;
    if (given !== '0.0.0.0' && given !== '::') return [given].filter(isIpAddress).map(addressBytes);
    return Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .filter(({ internal, address }) => !internal && !address.startsWith('fe80:'))
      .map(({ address }) => addressBytes(address));
  }

  async #listen(): Promise<Listener> {
    try {
      return await listen({
        answerer: this.#answerer,
        address: this.#address,
        port: this.#flags['dns-port'],
        engine: this.#engine,
        onFailure: (error) => this.#log.error(`answering: ${errorText(error)}`),
      });
    } catch (error) {
      failStartup(error, ListenError, EXIT_CANNOT_BIND);
    }
  }
}
