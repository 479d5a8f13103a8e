import {
  ConfigDirectory,
  type DnsConfig,
  errorText,
  type Log,
  parseDnsConfig,
} from '@kube-dns/daemon';
import { Forwarder, type Listener } from '@kube-dns/transport';
import { ChaosAnswerer } from './answer/chaos.js';
import { chaosTexts } from './answer/chaos-texts.js';
import { DnsmasqAnswerer } from './answer/dnsmasq-answerer.js';
import { AnswerCache } from './cache/answer-cache.js';
import type { NannyFlags } from './config/flags.js';
import { ResolvFile } from './config/resolv-file.js';
import { openListeners } from './listeners.js';
import type { DnsmasqOptions } from './options/option-values.js';
import { Router } from './routing/router.js';
import { ServerStatistics } from './upstream/server-statistics.js';

/** Clients give up after 5 s; they hear SERVFAIL before. */
const UPSTREAM_DEADLINE_MS = 4_500;
/** Bounds of `-logInterval`: below, the log is nothing else; above, timers fire at once. */
const MIN_LOG_INTERVAL_MS = 1_000;
const MAX_LOG_INTERVAL_MS = 2 ** 31 - 1;

/** The parts of a running dnsmasq, composed from both halves of the command line. */
export class DnsmasqServer {
  readonly #flags: NannyFlags;
  readonly #options: DnsmasqOptions;
  readonly #log: Log;
  readonly #cache: AnswerCache;
  readonly #statistics = new ServerStatistics();
  readonly #forwarder: Forwarder;
  readonly #router: Router;
  readonly #answerer: DnsmasqAnswerer;
  readonly #configDirectory: ConfigDirectory;
  #listeners: readonly Listener[] = [];
  #dumpTimer: NodeJS.Timeout | undefined;
  #isStarted = false;

  constructor(flags: NannyFlags, options: DnsmasqOptions, log: Log) {
    this.#flags = flags;
    this.#options = options;
    this.#log = log;
    this.#cache = new AnswerCache({ maxRecords: options.cacheSize });
    this.#forwarder = new Forwarder({
      maxInFlight: options.maxInFlight,
      deadlineMs: UPSTREAM_DEADLINE_MS,
      onAttempt: (server, outcome) => this.#statistics.count(server, outcome),
    });
    const readsResolvFile = options.usesResolvFile && options.resolvFile !== '';
    this.#router = new Router({
      rules: options.serverRules,
      resolvFile: readsResolvFile ? new ResolvFile(options.resolvFile, log) : undefined,
      statistics: this.#statistics,
      log,
    });
    const texts = chaosTexts({
      answerer: () => this.#answerer,
      cache: this.#cache,
      statistics: this.#statistics,
    });
    this.#answerer = new DnsmasqAnswerer({
      cache: this.#cache,
      cachedTtls: {
        minSeconds: options.minCacheTtlSeconds,
        maxSeconds: options.maxCacheTtlSeconds,
      },
      sentTtls: { minSeconds: 0, maxSeconds: options.maxTtlSeconds },
      chaos: new ChaosAnswerer(texts),
      forwarder: this.#forwarder,
      router: this.#router,
    });
    this.#configDirectory = new ConfigDirectory({
      path: flags.configDir,
      periodMs: flags.syncInterval,
      log,
      onChange: ({ files }) => this.#reconfigure(parseDnsConfig(files)),
    });
  }

  /** Reads the configuration and binds; throws a StartupError with dnsmasq's exit codes. */
  async start(): Promise<void> {
    const { port, cacheSize, listenAddresses, maxUdpBytes, detectsLoops } = this.#options;
    this.#log.info(`started, cachesize ${cacheSize}`);
    await this.#configDirectory.start();
    this.#router.load();
    this.#isStarted = true;
    this.#listeners = await openListeners({
      answerer: this.#answerer,
      addresses: listenAddresses,
      port,
      maxUdpBytes,
      onFailure: (error) => this.#log.error(`answering: ${errorText(error)}`),
    });
    const listener = this.#listeners[0]!;
    this.#log.info(`serving on port ${listener.port}, UDP engine ${listener.engine}`);
    if (detectsLoops) this.#router.startProbing();
    this.#dumpAtIntervals(this.#flags.logInterval);
  }

  /** SIGHUP: empties the cache and reads the resolv file again. */
  reload(): void {
    this.#cache.clear();
    this.#log.info('cleared cache');
    this.#router.load();
  }

  /** SIGUSR1: the statistics, worded as dnsmasq does. */
  dump(): void {
    const { maxRecords, evictions, insertions } = this.#cache;
    const { hits, misses } = this.#answerer;
    this.#log.info(
      `cache size ${maxRecords}, ${evictions}/${insertions} cache insertions re-used unexpired cache entries.`,
    );
    this.#log.info(`queries forwarded ${misses}, queries answered locally ${hits}`);
    for (const [server, { queries, failed }] of this.#statistics.entries()) {
      this.#log.info(`server ${server}: queries sent ${queries}, failed ${failed}`);
    }
  }

  /** Stops serving; clients that still wait get no answer. May be called twice. */
  async close(): Promise<void> {
    clearInterval(this.#dumpTimer);
    this.#configDirectory.close();
    this.#router.close();
    await Promise.all(this.#listeners.map((listener) => listener.close()));
    this.#forwarder.close();
  }

  /** Throws for a configuration that cannot be used; the one in force then stays. */
  #reconfigure(config: DnsConfig): void {
    if (this.#isStarted && !this.#flags.restartDnsmasq) {
      this.#log.info('the configuration changed; not applied, as -restartDnsmasq=false says');
      return;
    }
    this.#router.configure(config);
    if (this.#isStarted) this.#router.load();
  }

  #dumpAtIntervals(ms: number): void {
    if (ms <= 0) return;
    const periodMs = Math.min(Math.max(ms, MIN_LOG_INTERVAL_MS), MAX_LOG_INTERVAL_MS);
    this.#dumpTimer = setInterval(() => this.dump(), periodMs).unref();
  }
}
