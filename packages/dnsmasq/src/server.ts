import { networkInterfaces } from 'node:os';
import { inTurns } from '@kube-dns/base';
import {
  collectGarbage,
  ConfigDirectory,
  type ConfigFiles,
  type Log,
  type MetricFamily,
  logUnknownKeys,
  parseDnsConfig,
  type ProgramFacts,
  readTlsCa,
  readTsigKey,
  type StatusSource,
} from '@kube-dns/daemon';
import { Relay, subscriberLimit, Subscriptions } from '@kube-dns/push';
import {
  type Answerer,
  type UdpEngine,
  type UpstreamServers,
  UpstreamSockets,
} from '@kube-dns/transport';
import { Resolver, ServerStatistics, watchedServers } from '@kube-dns/resolver';
import { Telemetry } from '@kube-dns/telemetry';
import { ChaosAnswerer, chaosTexts, DNSMASQ_VERSION } from './answer/chaos.js';
import { DnsmasqAnswerer, DnsmasqPolicy } from './answer/dnsmasq-answerer.js';
import { behindLocalService } from './answer/local-service.js';
import { QueryLog } from './answer/query-log.js';
import { dumpRules, StatisticsDump } from './answer/statistics-dump.js';
import type { NannyFlags } from './config/flags.js';
import type { ResolvFiles } from './config/resolv-files.js';
import { dnsmasqStatus, type Pages, pagesOf } from './status.js';
import { DnsPort, servedOpcodes } from './listen/dns-port.js';
import { LocalData } from './local/local-data.js';
import { AppliedConfig, metricFamilies } from './metrics.js';
import { NotifyAnswerer } from './notify/notify-answerer.js';
import { EXIT_BAD_FILE } from './errors.js';
import type { DnsmasqOptions } from './options/option-table.js';
import { Router } from './routing/router.js';

import {
  cacheOptions,
  cachingRules,
  dns64Options,
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
  readonly telemetry = new Telemetry();
  readonly #flags: NannyFlags;
  readonly #options: DnsmasqOptions;
  readonly #log: Log;
  readonly #port: DnsPort;
  readonly #subscriptions: Subscriptions;
  readonly #relay: Relay;
  readonly #local: LocalData;
  readonly #statistics = new ServerStatistics();
  readonly #sockets: UpstreamSockets;
  readonly #upstreams: UpstreamServers;
  readonly #resolvFiles: ResolvFiles | undefined;
  readonly #router: Router;
  readonly #resolver: Resolver;
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
    this.#port = new DnsPort(options, engine, log, this.telemetry);

    const kubedns = kubednsServer(flags, log);
    const servers = subscribedServers(options, kubedns);
    const subscriptions = new Subscriptions({ servers, log });
    const limit = subscriberLimit();
    const relay = new Relay(subscriptions, { networks: options.subscribers, limit, log });
    this.#subscriptions = subscriptions;
    this.#relay = relay;
    this.#local = new LocalData({ options, log, onChange: () => relay.onReconfigured() });

    const ports = sourcePorts(options);
    this.#sockets = new UpstreamSockets({ engine: loggedPorts(engine, log), ports });
    this.#upstreams = watchedServers({
      sockets: this.#sockets,
      statistics: this.#statistics,
      tlsCa: readTlsCa(options.tlsCaFile, EXIT_BAD_FILE),
      usesCookies: options.asksWithCookies,
      subscriptions,
      log,
    });
    subscriptions.reportTo(this.#upstreams);
    this.#resolvFiles = resolvFiles(options, log);
    const router = new Router({
      rules: options.serverRules,
      given: options.given,
      resolvFiles: this.#resolvFiles,
      serversFile: serversFile(options, log),
      upstreams: this.#upstreams,
      order: serverOrder(options),
      own: this.#port,
      kubednsServer: kubedns,
      log,
    });
    this.#router = router;

    const { logsQueries, stale } = options;
    const queryLog = logsQueries === 'no' ? undefined : new QueryLog(log, logsQueries === 'extra');
    const resolver = new Resolver({
      cache: cacheOptions(options, subscriptions),
      forwarding: forwarderOptions(options, relay.publisher, log),
      staleAfterMs: stale?.timeoutMs,
      prefetch: options.prefetch,
      subscriptions,
      relay,
      policy: new DnsmasqPolicy({
        caching: cachingRules(options),
        replies: options,
        filteredTypes: options.filteredTypes,
        maxTtlSeconds: options.maxTtlSeconds,
        local: this.#local,
        router,
        isStaleLate: stale !== undefined,
        isOfCluster: stale && ((group) => isOfCluster(group, kubedns, subscriptions)),
        ednsOptions: ednsOptions(options, log),
        log,
      }),
      observer: queryLog,
      dns64: dns64Options(options, (name) =>
        isOfCluster(router.routes.find(name).group, kubedns, subscriptions),
      ),
      exchanges: queryLog === undefined ? [this.telemetry] : [this.telemetry, queryLog],
    });
    this.#resolver = resolver;
    subscriptions.attach(resolver);
    router.listen({
      onRulesRead: (rules) => this.#local.useServerRules(rules),
      onRoutesChanged: () => {
        resolver.configure();
        relay.onReconfigured();
      },
      onDomainsChanged: (domains) => {
        resolver.configure(domains);
        relay.onReconfigured();
      },
      onResolvFileChanged: () => {
        if (options.clearsOnReload) this.#clear();
      },
    });

    const parts = {
      options,
      log,
      resolver,
      router,
      subscriptions,
      subscribers: relay.publisher,
      local: this.#local,
      statistics: this.#statistics,
    };
    const chaos = new ChaosAnswerer(options.hasIdent ? chaosTexts(parts) : new Map());
    const answerer = new DnsmasqAnswerer({ ...parts, chaos, queryLog });
    this.#answerer = behindLocalService(answerer, options, networkInterfaces(), log);
    this.#notifies = new NotifyAnswerer({
      rules: options.notifyRules,
      key: readTsigKey(options.notifyKeyFile, EXIT_BAD_FILE),
      drop: (name, zone) => {
        resolver.invalidate({ name, zone });
        relay.onReconfigured();
      },
    });
    const hosts = () => this.#local.hosts();
    this.#dump = new StatisticsDump({ ...parts, ...dumpRules(options), hosts });
    const { publisher } = relay;
    const { telemetry } = this;
    this.pages = pagesOf({ ...parts, answerer: this.#answerer, kubedns, publisher, telemetry });
    this.#configDirectory = new ConfigDirectory({
      path: flags.configDir,
      periodMs: flags.syncInterval,
      log,
      onChange: (files) => this.#reconfigure(files),
    });
    this.status = dnsmasqStatus({
      ...parts,
      port: this.#port,
      upstreams: this.#upstreams,
      subscribers: relay.publisher,
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
    this.#subscriptions.start(this.#port.ownAddresses);
    if (this.#options.followsResolvFile) this.#router.followResolvFiles();
    this.#dump.writeEvery(this.#flags.logInterval);
  }

  /** SIGHUP: empties the cache and reads the hosts files, the resolv file and the cookie secrets again. */
  reload(): void {
    this.#clear();
    this.#router.load();
    this.#port.reload();
  }

  /** Every metric. */
  metricFamilies(facts: ProgramFacts): MetricFamily[] {
    return metricFamilies({
      ...facts,
      port: this.#port,
      resolver: this.#resolver,
      statistics: this.#statistics,
      upstreams: this.#upstreams,
      subscriptions: this.#subscriptions,
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
   * Answers the queries in flight and those that arrive meanwhile, then stops serving: 2 s later where there are subscribers to
   * changes, which go elsewhere until then, and after `--query-timeout` at most. With `--reuse-port` other processes get new queries. May be called twice.
   */
  async close(): Promise<void> {
    this.#dump.close();
    this.#configDirectory.close();
    await Promise.all([this.#port.leave(), this.#relay.publisher.leave()]);
    await this.#resolver.settle();
    this.#notifies.close();
    this.#local.close();
    this.#router.close();
    this.#subscriptions.close();
    this.#relay.close();
    await this.#port.close();
    this.#resolver.close();
    this.#sockets.close();
    await this.telemetry.close(this.#log);
  }

  /** Empties the cache and reads the hosts files again (dnsmasq src/dnsmasq.c, clear_cache_and_reload). */
  #clear(): void {
    this.#resolver.invalidate();
    this.#log.info('cleared cache');
    this.#relay.onReconfigured();
    void this.#local.reload();
  }

  /** Rejects for an invalid configuration; the last good one stays active. */
  async #reconfigure({ files, version }: ConfigFiles): Promise<void> {
    const config = parseDnsConfig(files);
    if (this.#isStarted && !this.#flags.restartDnsmasq) {
      this.#log.info('the configuration changed; not applied, as -restartDnsmasq=false says');
      return;
    }
    await inTurns(this.#router.configuring(config));
    this.telemetry.useQueryLog(config.queryLog ?? this.#flags['query-log']);
    this.#config.note(version, logUnknownKeys(this.#log, files));
  }
}

/** dnsmasq src/dnsmasq.c, main. */
const LARGE_CACHE = 10_000;

/** The first lines of the log, worded as dnsmasq does. */
function logStart(
  {
    cacheSize,
    usesResolvFile,
    resolvFiles,
  }: Pick<DnsmasqOptions, 'cacheSize' | 'usesResolvFile' | 'resolvFiles'>,
  log: Pick<Log, 'info' | 'warn'>,
): void {
  const cache = cacheSize > 0 ? `cachesize ${cacheSize}` : 'cache disabled';
  log.info(`started, version ${DNSMASQ_VERSION} ${cache}`);
  if (cacheSize > LARGE_CACHE) {
    log.warn(
      `cache size greater than ${LARGE_CACHE} may cause performance issues, and is unlikely to be useful.`,
    );
  }
  if (!usesResolvFile && resolvFiles.length > 0) {
    log.warn('warning: ignoring resolv-file flag because no-resolv is set');
  }
}
