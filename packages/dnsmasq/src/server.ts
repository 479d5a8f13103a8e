import { networkInterfaces } from 'node:os';
import {
  collectGarbage,
  ConfigDirectory,
  type DnsConfig,
  type Log,
  type MetricFamily,
  parseDnsConfig,
  type ProgramFacts,
  readTlsCa,
  readTsigKey,
  type StatusSource,
} from '@kube-dns/daemon';
import { neverSeen, Relay, Subscriptions } from '@kube-dns/push';
import {
  type Answerer,
  QueryForwarder,
  type UdpEngine,
  UpstreamServers,
  UpstreamSockets,
} from '@kube-dns/transport';
import { AnswerCache, AnswerCounters, noteHealth, ServerStatistics } from '@kube-dns/resolver';
import { Telemetry } from '@kube-dns/telemetry';
import { ChaosAnswerer, chaosTexts } from './answer/chaos.js';
import { createAnswerer } from './answer/dnsmasq-answerer.js';
import { behindLocalService } from './answer/local-service.js';
import { QueryLog } from './answer/query-log.js';
import { dumpRules, StatisticsDump } from './answer/statistics-dump.js';
import type { NannyFlags } from './config/flags.js';
import type { ResolvFiles } from './config/resolv-files.js';
import { dnsmasqStatus, Pages } from './status.js';
import { DnsPort, servedOpcodes } from './listen/dns-port.js';
import { LocalData } from './local/local-data.js';
import { logStart } from './log/start-lines.js';
import { AppliedConfig, CacheTotals, metricFamilies } from './metrics/metric-families.js';
import { NotifyAnswerer } from './notify/notify-answerer.js';
import { EXIT_BAD_FILE } from './errors.js';
import { cacheOptions, cachingRules } from './options/answer-caching.js';
import type { DnsmasqOptions } from './options/option-table.js';
import { Reload } from './reload.js';
import { Router } from './routing/router.js';

import {
  ednsOptions,
  forwarderOptions,
  isOfCluster,
  kubednsServer,
  loggedPorts,
  resolvFiles,
  serverOrder,
  serversFile,
  sourcePorts,
  subscribedServers,
} from './upstream/upstream-options.js';

/** The parts of a running dnsmasq, composed from both halves of the command line. */
export class DnsmasqServer {
  /** What the metrics port serves in addition. */
  readonly pages: Pages;
  readonly status: StatusSource;
  readonly #flags: NannyFlags;
  readonly #options: DnsmasqOptions;
  readonly #log: Log;
  readonly telemetry = new Telemetry();
  readonly #port: DnsPort;
  readonly #cache: AnswerCache;
  readonly #cacheTotals: CacheTotals;
  readonly #local: LocalData;
  readonly #statistics = new ServerStatistics();
  readonly #sockets: UpstreamSockets;
  readonly #forwarder: QueryForwarder;
  readonly #reload: Reload;
  readonly #resolvFiles: ResolvFiles | undefined;
  readonly #upstreams: UpstreamServers;
  readonly #router: Router;
  readonly #subscriptions: Subscriptions;
  readonly #relay: Relay;
  readonly #counters = new AnswerCounters();
  /** The answerer with the filter of `--local-service`. */
  readonly #answerer: Answerer;
  readonly #notifies: NotifyAnswerer;
  readonly #dump: StatisticsDump;
  readonly #configDirectory: ConfigDirectory;
  readonly #config = new AppliedConfig();
  #isStarted = false;

  /** Builds the parts, each from those above it; throws a StartupError for a file of keys or certificates that is missing or broken. */
  constructor(flags: NannyFlags, options: DnsmasqOptions, engine: UdpEngine, log: Log) {
    this.#flags = flags;
    this.#options = options;
    this.#log = log;
    const queryLog =
      options.logsQueries === 'no' ? undefined : new QueryLog(log, options.logsQueries === 'extra');
    this.#port = new DnsPort(options, engine, log, this.telemetry);
    const heardAt = neverSeen();
    const lastHeardAt = options.stale && neverSeen();
    this.#cache = new AnswerCache({ ...cacheOptions(options), heardAt, lastHeardAt });
    this.#cacheTotals = new CacheTotals(this.#cache);
    this.#relay = new Relay({ subscriptions: () => this.#subscriptions, lastSeen: heardAt });
    const onChange = () => this.#relay.onReconfigured();
    this.#local = new LocalData({ options, log, onChange });
    this.#sockets = new UpstreamSockets({
      engine: loggedPorts(engine, log),
      ports: sourcePorts(options),
    });
    this.#forwarder = new QueryForwarder({
      ...forwarderOptions(options, this.#cache, log),
      instance: this.#relay.instance,
    });
    this.#forwarder.exchanges.add(this.telemetry.exchanges);
    if (queryLog !== undefined) this.#forwarder.exchanges.add(queryLog);
    this.#reload = new Reload({
      cache: this.#cache,
      cacheTotals: this.#cacheTotals,
      forwarder: this.#forwarder,
      local: this.#local,
      options,
      onChange,
      log,
    });
    this.#resolvFiles = resolvFiles(options, log);
    this.#upstreams = new UpstreamServers(this.#sockets, this.#statistics, {
      tlsCa: readTlsCa(options.tlsCaFile, EXIT_BAD_FILE),
      usesCookies: options.asksWithCookies,
      onTlsFailure: ({ text }, why) => log.warn(`nameserver ${text}: ${why.text}`),
      onHealthChange: (server) => {
        noteHealth(server, this.#statistics, log);
        if (!server.health.isDown) this.#subscriptions.retry(server);
      },
    });
    const kubedns = kubednsServer(flags, log);
    this.#router = new Router({
      rules: options.serverRules,
      given: options.given,
      resolvFiles: this.#resolvFiles,
      serversFile: serversFile(options, log),
      upstreams: this.#upstreams,
      order: serverOrder(options),
      own: this.#port,
      kubednsServer: kubedns,
      events: this.#reload,
      log,
    });
    this.#subscriptions = new Subscriptions({
      servers: subscribedServers(options.serverRules),
      own: this.#port,
      cache: this.#cache,
      lastSeen: heardAt,
      lastSeenEver: lastHeardAt,
      isEnabled: options.subscribes && options.cacheSize > 0,
      listener: this.#relay,
      log,
      onLive: (server) => this.#upstreams.noteAlive(server),
      onChange: (name, zone) => this.#forwarder.forgetQuestions(name, zone),
    });
    const rows = () => this.#subscriptions.rows();
    const parts = {
      options,
      log,
      counters: this.#counters,
      cache: this.#cache,
      local: this.#local,
      statistics: this.#statistics,
      forwarder: this.#forwarder,
      router: this.#router,
      subscriptions: this.#subscriptions,
    };
    const texts = chaosTexts({ ...parts, subscriptions: rows });
    const answerer = createAnswerer({
      ...parts,
      caching: cachingRules(options),
      replies: options,
      filteredTypes: options.filteredTypes,
      maxTtlSeconds: options.maxTtlSeconds,
      queryLog,
      prefetching: options.prefetch,
      servesStaleLate: options.stale !== undefined,
      isOfCluster: options.stale && ((group) => isOfCluster(group, kubedns, this.#subscriptions)),
      chaos: new ChaosAnswerer(options.hasIdent ? texts : new Map()),
      ednsOptions: ednsOptions(options, log),
      relayed: this.#relay,
    });
    this.#answerer = behindLocalService(answerer, options, networkInterfaces(), log);
    this.#notifies = new NotifyAnswerer({
      rules: options.notifyRules,
      key: readTsigKey(options.notifyKeyFile, EXIT_BAD_FILE),
      drop: (name, zone) => this.#reload.onNameChanged(name, zone),
    });
    const hosts = () => this.#local.hosts();
    this.#dump = new StatisticsDump({ ...parts, ...dumpRules(options), hosts });
    const { publisher } = this.#relay;
    this.pages = new Pages({ ...parts, answerer: this.#answerer, kubedns, publisher });
    this.#configDirectory = new ConfigDirectory({
      path: flags.configDir,
      periodMs: flags.syncInterval,
      log,
      onChange: ({ files, version }) => this.#reconfigure(parseDnsConfig(files), version),
    });
    this.status = dnsmasqStatus({
      ...parts,
      cacheTotals: this.#cacheTotals,
      upstreams: this.#upstreams,
      telemetry: this.telemetry,
      configDir: flags.configDir,
      config: this.#config,
      configDirectory: this.#configDirectory,
    });
  }

  /** Reads the configuration and binds; throws a StartupError with dnsmasq's exit codes. */
  async start(): Promise<void> {
    const { detectsLoops } = this.#options;
    this.#port.findAddresses();
    logStart(this.#options, this.#log);
    await this.#local.reload();
    this.#resolvFiles?.check();
    this.telemetry.useQueryLog(this.#flags['query-log']);
    await this.#configDirectory.start();
    this.#router.load();
    this.#isStarted = true;
    const others = servedOpcodes(this.#options, this.#notifies, this.#relay.sessions);
    // Before the port is open: who gets an answer takes this server for ready.
    collectGarbage();
    await this.#port.open(this.#answerer, others);
    if (detectsLoops) this.#router.startProbing();
    this.#subscriptions.start();
    if (this.#options.followsResolvFile) this.#router.followResolvFiles();
    this.#dump.writeEvery(this.#flags.logInterval);
  }

  /** SIGHUP: empties the cache and reads the hosts files, the resolv file and the cookie secrets again. */
  reload(): void {
    this.#reload.clear();
    this.#router.load();
    this.#port.reload();
  }

  /** Every metric. */
  metricFamilies(facts: ProgramFacts): MetricFamily[] {
    return metricFamilies({
      ...facts,
      counters: this.#counters,
      port: this.#port,
      cache: this.#cache,
      cacheTotals: this.#cacheTotals,
      forwarder: this.#forwarder,
      statistics: this.#statistics,
      upstreams: this.#upstreams,
      subscriptions: () => this.#subscriptions.rows(),
      subscribers: this.#relay.publisher,
      notifies: this.#notifies,
      config: this.#config,
      configDirectory: this.#configDirectory,
      telemetry: this.telemetry,
    });
  }

  /** SIGUSR1: the statistics, worded as dnsmasq does. */
  dump(): void {
    this.#dump.write();
  }

  /**
   * Answers the queries in flight and those that arrive meanwhile, then stops serving, after
   * `--query-timeout` at most. With `--reuse-port` other processes get new queries. May be called twice.
   */
  async close(): Promise<void> {
    this.#dump.close();
    this.#configDirectory.close();
    await this.#port.leave();
    await this.#forwarder.settle();
    this.#local.close();
    this.#router.close();
    this.#subscriptions.close();
    this.#relay.close();
    await this.#port.close();
    this.#forwarder.close();
    this.#cache.close();
    this.#sockets.close();
    await this.telemetry.close(this.#log);
  }

  /** Throws for an invalid configuration; the last good one stays active. */
  #reconfigure(config: DnsConfig, version: string): void {
    if (this.#isStarted && !this.#flags.restartDnsmasq) {
      this.#log.info('the configuration changed; not applied, as -restartDnsmasq=false says');
      return;
    }
    this.#router.configure(config);
    this.telemetry.useQueryLog(config.queryLog ?? this.#flags['query-log']);
    this.#config.note(version);
  }
}
