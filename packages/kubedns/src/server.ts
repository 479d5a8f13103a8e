import { errorText, MAX_TIMER_MS } from '@kube-dns/base';
import {
  BucketHistogram,
  collectGarbage,
  CookieSecretFile,
  failStartup,
  type LocalPage,
  type Log,
  readTlsCa,
  readTsigKey,
} from '@kube-dns/daemon';
import {
  Notifier,
  NotifyMessages,
  Publisher,
  subscribersPage,
  VersionedAnswerer,
} from '@kube-dns/push';
import {
  listen,
  type Listener,
  ListenError,
  QueryForwarder,
  retryPlan,
  ServerCookies,
  type UdpEngine,
  UpstreamServers,
  UpstreamSockets,
} from '@kube-dns/transport';

import { explainPage, Telemetry } from '@kube-dns/telemetry';
import { bindAddress, RCODE, SAFE_UDP_BYTES } from '@kube-dns/wire';
import {
  composeAnswerer,
  type KubednsAnswerer,
  UPSTREAM_DEADLINE_MS,
} from './answer/kubedns-answerer.js';
import { QueryStatistics } from './answer/query-statistics.js';
import { ZoneHosts } from './answer/zone-hosts.js';
import { ApiClient, loadKubeConfig } from './watch/api-client.js';
import { ClusterWatch } from './watch/cluster-watch.js';
import { Configuration } from './config/configuration.js';
import type { KubednsFlags } from './config/flags.js';
import { Upstreams } from './config/upstreams.js';
import { Explainer } from './explain/explainer.js';
import { Federations } from './federation/federations.js';
import { UpstreamStatistics } from './metrics/upstream-statistics.js';

import { AnnouncedRecords, ClusterZones } from './subscription/announced-records.js';

import { cacheJson } from './zone/cache-json.js';
import { ClusterZone } from './zone/cluster-zone.js';

/** Limit of questions in flight to upstream servers. */
const MAX_IN_FLIGHT = 1_500;
/** Upper bounds in seconds of the time from an object's event until its records are served. */
const EVENT_TO_SERVED_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const EXIT_CANNOT_BIND = 1;
const EXIT_FATAL = 255;

/** The parts of a running kubedns, composed from its flags. */
export class KubednsServer {
  readonly watch: ClusterWatch;
  /** Pages for this machine and this pod alone, by path. */
  readonly localPages: ReadonlyMap<string, LocalPage>;
  readonly #zone: ClusterZone;
  readonly #flags: KubednsFlags;
  readonly #engine: UdpEngine;
  readonly #log: Log;
  readonly #client: ApiClient;
  readonly #sockets: UpstreamSockets;
  readonly #forwarder: QueryForwarder;
  readonly #upstreamServers: UpstreamServers;
  readonly #upstreams: Upstreams;
  readonly #federations: Federations;
  readonly #configuration: Configuration;
  readonly #statistics = new QueryStatistics();
  readonly #upstreamStatistics = new UpstreamStatistics();
  readonly #eventToServed = new BucketHistogram(EVENT_TO_SERVED_BOUNDS);
  readonly telemetry = new Telemetry();
  readonly #answerer: KubednsAnswerer;
  readonly #publisher: Publisher<'configuration'>;
  readonly #notifier: Notifier;
  readonly #cookies: ServerCookies;
  readonly #cookieSecrets: CookieSecretFile | undefined;
  #listener: Listener | undefined;
  #isConfigured = false;
  /** Whether the garbage of the start is collected. */
  #isCollected = false;

  /** Throws a StartupError when no API server is configured, two configuration sources are, or a file of a key or certificates is broken. */
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
    this.#sockets = new UpstreamSockets({ engine });
    this.#forwarder = new QueryForwarder({
      maxInFlight: MAX_IN_FLIGHT,
      plan: retryPlan(UPSTREAM_DEADLINE_MS),
      maxUdpBytes: SAFE_UDP_BYTES,
      unsentRcode: RCODE.SERVFAIL,
    });
    this.#forwarder.exchanges.add(this.telemetry);
    const zone = new ClusterZone({
      domain: flags.domain,
      negativeTtlSeconds: flags['negative-ttl'],
      onServiceChange: (key) => this.#upstreams.serviceChanged(key),
    });
    this.#zone = zone;
    this.#publisher = new Publisher({
      zones: new ClusterZones(zone.apex, () => this.watch.isSynced),
      reasons: ['configuration'],
    });
    const { feed } = this.#publisher;
    const key = readTsigKey(flags['notify-key'], EXIT_FATAL);
    const messages = new NotifyMessages(zone, flags['record-ttl'], key);
    this.#notifier = new Notifier({ servers: flags.notify, feed, messages, log });
    const zoneHosts = new ZoneHosts(zone);
    this.#upstreamServers = new UpstreamServers(this.#sockets, this.#upstreamStatistics, {
      tlsCa: readTlsCa(flags['tls-ca'], EXIT_FATAL),
      usesCookies: flags['upstream-cookies'],
      onTlsFailure: ({ text }, why) => log.warn(`name server ${text}: ${why.text}`),
    });
    this.#upstreams = new Upstreams({
      log,
      servers: this.#upstreamServers,
      onChange: () => this.#forwarder.forgetQuestions(),
      domain: flags.domain,
      resolveOwn: (host) => zoneHosts.resolve(host),
      ownAddress: () => this.#listener && { address: this.#bindAddress, port: this.#listener.port },
    });
    this.#federations = new Federations({ client, log });
    this.#configuration = new Configuration({
      flags,
      client,
      log,
      apply: (applied) => {
        this.#upstreams.apply(applied);
        this.#federations.apply(applied.federations);
        this.#zone.hasFederations = this.#federations.isActive;
        this.telemetry.useQueryLog(applied.queryLog ?? flags['query-log']);
        feed.flush('configuration');
      },
    });
    this.watch = new ClusterWatch({
      client,
      records: new AnnouncedRecords(zone, feed),
      log,
      endpointsSource: flags['endpoints-source'],
      endpointNames: flags['endpoint-names'],
      limits: { maxObjects: flags['max-objects'], maxBytes: flags['max-stored-bytes'] },
      onNamespacesListed: () => this.#setNamespacesListed(true),
      onNamespacesLost: () => this.#setNamespacesListed(false),
      onEvent: (latencyMs) => this.#eventToServed.observe(latencyMs / 1000),
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
    const explainer = new Explainer({
      flags,
      zone,
      client,
      answerer: this.#answerer,
      watch: this.watch,
    });
    this.localPages = new Map([['/explain', explainPage((asked) => explainer.explain(asked))]]);
    this.#cookies = new ServerCookies({ requiredAbove: flags['require-cookie'] });
    const path = flags['cookie-secret-file'];
    if (path === '') return;
    this.#cookieSecrets = new CookieSecretFile({
      path,
      exitCode: EXIT_FATAL,
      log,
      onChange: (secrets) => this.#cookies.use(secrets),
    });
  }

  /** Whether DNS is served, the whole cluster was listed, within the limits, and a configuration is active. */
  get isReady(): boolean {
    const isServing = this.#listener !== undefined && this.#isConfigured;
    return isServing && this.#isCollected && this.watch.isSynced && !this.watch.isOverLimit;
  }

  /** Binds the DNS port; questions about the zone get SERVFAIL until `follow` has resolved. */
  async listen(): Promise<void> {
    this.#listener = await this.#listen();
    this.#log.info(`serving ${this.#flags.domain} on port ${this.#listener.port}`);
  }

  /** Starts to follow the cluster and applies the first configuration. */
  async follow(): Promise<void> {
    const configured = this.#configuration.start();
    // Files can be read immediately. The API server may hang, and only one place waits for it.
    if (this.#configuration.source !== 'configmap') await configured;
    this.watch.start();
    void this.watch.waitForSync(MAX_TIMER_MS).then((isSynced) => {
      if (!isSynced) return;
      this.#notifier.start();
      collectGarbage();
      this.#isCollected = true;
    });
    this.#log.info(`following ${this.#client.server}`);
    await configured;
    this.#isConfigured = true;
  }

  /** SIGHUP: reads resolv.conf, where it is used, and the cookie secrets again, and resolves the names of servers again. */
  reload(): void {
    this.#upstreams.refresh();
    this.#cookieSecrets?.reload();
  }

  /** The records as JSON, in pieces. */
  dump(): Iterable<string> {
    return cacheJson(this.#zone);
  }

  /** Who is notified which names change, as JSON. */
  subscribersPage(): string {
    return subscribersPage(this.#publisher);
  }

  /** The parts that metrics and the status page read. */
  get parts() {
    return {
      flags: this.#flags,
      watch: this.watch,
      zone: this.#zone,
      servers: this.#upstreams,
      federations: this.#federations,
      subscribers: this.#publisher,
      configuration: this.#configuration,
      upstreams: this.#upstreamStatistics,
      upstreamServers: this.#upstreamServers,
      telemetry: this.telemetry,
      eventToServed: this.#eventToServed,
      notified: this.#notifier.targets,
      statistics: () => this.#statistics,
      forwarder: () => this.#forwarder,
      listener: () => this.#listener,
      isConfigured: () => this.#isConfigured,
      more: () => this.telemetry.top.sections(),
    };
  }

  /** Ends questions in flight without answers, except with `--reuse-port`; may be called twice. */
  async close(): Promise<void> {
    this.#publisher.close();
    this.#notifier.close();
    this.#cookieSecrets?.close();
    await this.#listener?.leave();
    await this.#listener?.close();
    this.#forwarder.close();
    this.#upstreams.close();
    this.#sockets.close();
    this.#federations.close();
    await Promise.all([this.watch.close(), this.#configuration.close()]);
    this.#client.close();
    await this.telemetry.close(this.#log);
  }

  get #bindAddress(): string {
    return bindAddress(this.#flags['dns-bind-address']);
  }

  /** Whether a namespace without services exists is known or not: names of pods depend on it. */
  #setNamespacesListed(areListed: boolean): void {
    this.#zone.hasAllNamespaces = areListed;
    this.#publisher.feed.flush('configuration');
  }

  async #listen(): Promise<Listener> {
    try {
      return await listen({
        answerer: new VersionedAnswerer(this.#answerer, this.#publisher),
        address: this.#bindAddress,
        port: this.#flags['dns-port'],
        reusesPort: this.#flags['reuse-port'],
        engine: this.#engine,
        sessions: this.#publisher,
        cookies: this.#cookies,
        observer: this.telemetry,
        onFailure: (error) => this.#log.error(`answering: ${errorText(error)}`),
      });
    } catch (error) {
      failStartup(error, ListenError, EXIT_CANNOT_BIND);
    }
  }
}
