import { networkInterfaces } from 'node:os';
import {
  ConfigDirectory,
  type DnsConfig,
  type Log,
  MAX_TIMER_MS,
  type MetricFamily,
  parseDnsConfig,
  type ProgramFacts,
} from '@kube-dns/daemon';
import {
  type Answerer,
  QueryForwarder,
  retryPlan,
  type ServerAddress,
  type UdpEngine,
  UpstreamServers,
  UpstreamSockets,
} from '@kube-dns/transport';
import { ChaosAnswerer } from './answer/chaos.js';
import { chaosTexts } from './answer/chaos-texts.js';
import { DnsmasqAnswerer } from './answer/dnsmasq-answerer.js';
import { behindLocalService } from './answer/local-service.js';
import { QueryLog } from './answer/query-log.js';
import { StatisticsDump } from './answer/statistics-dump.js';
import { AnswerCache } from './cache/answer-cache.js';
import { cacheOptions } from './cache/answer-cache-options.js';
import { keepingRules } from './cache/keeping-rules.js';
import type { NannyFlags } from './config/flags.js';
import type { ResolvFiles } from './config/resolv-files.js';
import { ServersFile } from './config/servers-file.js';
import { listenAddresses } from './listen/listen-addresses.js';
import type { ServedPort } from './listen/listeners.js';
import { LocalData } from './local/local-data.js';
import { AppliedConfig } from './metrics/applied-config.js';
import { CacheTotals } from './metrics/cache-totals.js';
import { metricFamilies } from './metrics/metric-families.js';
import type { DnsmasqOptions } from './options/option-values.js';
import { parseServer } from './options/server-value.js';
import { Router } from './routing/router.js';
import { servePort } from './listen/served-port.js';
import { ednsOptions, resolvFiles, serverOrder, sourcePorts } from './upstream/upstream-options.js';
import { overflowLog } from './upstream/overflow-log.js';
import { ServerStatistics } from './upstream/server-statistics.js';

/** Bounds `-logInterval`: below, the log is nothing else. */
const MIN_LOG_INTERVAL_MS = 1_000;

/** The parts of a running dnsmasq, composed from both halves of the command line. */
export class DnsmasqServer {
  readonly #flags: NannyFlags;
  readonly #options: DnsmasqOptions;
  readonly #log: Log;
  readonly #cache: AnswerCache;
  readonly #sockets: UpstreamSockets;
  readonly #statistics = new ServerStatistics();
  readonly #upstreams: UpstreamServers;
  readonly #forwarder: QueryForwarder;
  readonly #resolvFiles: ResolvFiles | undefined;
  readonly #router: Router;
  readonly #local: LocalData;
  readonly #answerer: DnsmasqAnswerer;
  /** The answerer behind `--local-service`. */
  readonly #gate: Answerer;
  readonly #dump: StatisticsDump;
  readonly #configDirectory: ConfigDirectory;
  readonly #config = new AppliedConfig();
  readonly #cacheTotals: CacheTotals;
  #served: ServedPort | undefined;
  #dumpTimer: NodeJS.Timeout | undefined;
  #isStarted = false;

  readonly #engine: UdpEngine;

  constructor(flags: NannyFlags, options: DnsmasqOptions, engine: UdpEngine, log: Log) {
    this.#engine = engine;
    this.#flags = flags;
    this.#options = options;
    this.#log = log;
    this.#cache = new AnswerCache(cacheOptions(options));
    this.#cacheTotals = new CacheTotals(this.#cache);
    this.#sockets = new UpstreamSockets({ engine, ports: sourcePorts(options) });
    this.#upstreams = new UpstreamServers(this.#sockets, this.#statistics);
    this.#forwarder = new QueryForwarder({
      maxInFlight: options.maxInFlight,
      plan: retryPlan(options.queryTimeoutMs, options.fastRetry),
      portLimit: options.portLimit,
      maxUdpBytes: options.maxUdpBytes,
      passesAd: options.passesAd,
      onOverflow: overflowLog(options.maxInFlight, log),
    });
    const { serversFile } = options;
    this.#resolvFiles = resolvFiles(options, log);
    this.#router = new Router({
      rules: options.serverRules,
      resolvFiles: this.#resolvFiles,
      serversFile: serversFile === '' ? undefined : new ServersFile(serversFile, log),
      upstreams: this.#upstreams,
      order: serverOrder(options),
      log,
      own: () => this.#ownAddresses(),
      kubednsServer: this.#kubednsServer(),
      onRulesRead: (rules) => this.#local.useServerRules(rules),
      onResolvFileChanged: () => {
        if (options.clearsOnReload) this.#clear();
      },
      onRoutesChanged: () => this.#forwarder.forgetQuestions(),
      onDomainsChanged: (domains) => {
        for (const domain of domains) this.#cache.dropBelow(domain);
      },
    });
    this.#local = new LocalData({ options, log });
    const texts = chaosTexts({
      answerer: () => this.#answerer,
      cache: this.#cache,
      statistics: this.#statistics,
    });
    this.#answerer = new DnsmasqAnswerer({
      cache: this.#cache,
      keeping: keepingRules(options),
      replies: options,
      filteredTypes: options.filteredTypes,
      knows: (name) => this.#local.knows(name),
      maxTtlSeconds: options.maxTtlSeconds,
      log,
      queryLog:
        options.logsQueries === 'no'
          ? undefined
          : new QueryLog(log, options.logsQueries === 'extra'),
      chaos: new ChaosAnswerer(options.hasIdent ? texts : new Map()),
      forwarder: this.#forwarder,
      ednsOptions: ednsOptions(options, log),
      local: this.#local,
      router: this.#router,
    });
    this.#gate = behindLocalService(this.#answerer, options, networkInterfaces(), log);
    this.#dump = new StatisticsDump({
      cache: this.#cache,
      answerer: this.#answerer,
      statistics: this.#statistics,
      showsCache: options.logsQueries !== 'no',
      usesStale: options.maxStaleSeconds > 0,
      log,
    });
    this.#configDirectory = new ConfigDirectory({
      path: flags.configDir,
      periodMs: flags.syncInterval,
      log,
      onChange: ({ files, version }) => this.#reconfigure(parseDnsConfig(files), version),
    });
  }

  /** Reads the configuration and binds; throws a StartupError with dnsmasq's exit codes. */
  async start(): Promise<void> {
    const { cacheSize, detectsLoops } = this.#options;
    const addresses = listenAddresses(this.#options, networkInterfaces, this.#log);
    this.#log.info(`started, cachesize ${cacheSize}`);
    await this.#local.reload();
    this.#resolvFiles?.check();
    await this.#configDirectory.start();
    this.#router.load();
    this.#isStarted = true;
    this.#served = await servePort({
      options: this.#options,
      addresses,
      answerer: this.#gate,
      engine: this.#engine,
      log: this.#log,
    });
    this.#log.info(`serving on port ${this.#served.port}`);
    if (detectsLoops) this.#router.startProbing();
    if (this.#options.followsResolvFile) this.#router.followResolvFiles();
    this.#dumpAtIntervals(this.#flags.logInterval);
  }

  /** SIGHUP: empties the cache and reads the hosts files and the resolv file again. */
  reload(): void {
    this.#clear();
    this.#router.load();
  }

  /** Everything there is to measure. */
  metricFamilies(facts: ProgramFacts): MetricFamily[] {
    return metricFamilies({
      ...facts,
      answerer: this.#answerer,
      listeners: () => this.#served?.listeners ?? [],
      cache: this.#cache,
      cacheTotals: this.#cacheTotals,
      forwarder: this.#forwarder,
      statistics: this.#statistics,
      config: this.#config,
      configDirectory: this.#configDirectory,
    });
  }

  /** SIGUSR1: the statistics, worded as dnsmasq does. */
  dump(): void {
    this.#dump.write();
  }

  /**
   * Answers what is under way and what comes meanwhile, then stops serving; `--query-timeout` is the
   * longest that this takes. With `--reuse-port` others get what comes meanwhile. May be called twice.
   */
  async close(): Promise<void> {
    clearInterval(this.#dumpTimer);
    this.#configDirectory.close();
    await this.#served?.leave();
    await this.#forwarder.settle();
    this.#local.close();
    this.#router.close();
    await this.#served?.close();
    this.#forwarder.close();
    this.#dump.close();
    this.#cache.close();
    this.#sockets.close();
  }

  /** Empties the cache and reads the hosts files again (dnsmasq src/dnsmasq.c, clear_cache_and_reload). */
  #clear(): void {
    this.#cacheTotals.keep();
    this.#cache.clear();
    this.#log.info('cleared cache');
    void this.#local.reload();
  }

  /** Throws for a configuration that cannot be used; the one in force then stays. */
  #reconfigure(config: DnsConfig, version: string): void {
    if (this.#isStarted && !this.#flags.restartDnsmasq) {
      this.#log.info('the configuration changed; not applied, as -restartDnsmasq=false says');
      return;
    }
    this.#router.configure(config);
    this.#config.note(version);
  }

  /** Where this server listens, or is about to. */
  #ownAddresses(): readonly ServerAddress[] {
    const { listenAddresses } = this.#options;
    const port = this.#served?.port ?? this.#options.port;
    if (port === 0) return [];
    const addresses = listenAddresses.length === 0 ? ['::'] : listenAddresses;
    return addresses.map((address) => ({ address, port }));
  }

  #kubednsServer(): ServerAddress | undefined {
    const { kubednsServer } = this.#flags;
    const server = parseServer(kubednsServer);
    if (server === undefined) {
      const text = JSON.stringify(kubednsServer);
      this.#log.warn(`-kubednsServer: ${text} is no IP address with a port; not used`);
    }
    return server;
  }

  #dumpAtIntervals(ms: number): void {
    if (ms <= 0) return;
    const periodMs = Math.min(Math.max(ms, MIN_LOG_INTERVAL_MS), MAX_TIMER_MS);
    this.#dumpTimer = setInterval(() => this.dump(), periodMs).unref();
  }
}
