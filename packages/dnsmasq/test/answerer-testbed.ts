import {
  listen,
  NO_OPTIONS,
  retryPlan,
  UpstreamServers,
  UpstreamSockets,
} from '@kube-dns/transport';
import { addressRecords, ScriptedNameServer, until } from '@kube-dns/testkit';
import { ChaosAnswerer } from '../src/answer/chaos.js';
import {
  type AnswerCache,
  type AnswerCacheOptions,
  type AnswerCounters,
  type CachingRules,
  type Dns64Options,
  type PrefetchOptions,
  Resolver,
  ServerStatistics,
} from '@kube-dns/resolver';
import {
  DnsmasqAnswerer,
  DnsmasqPolicy,
  type DnsmasqPolicyOptions,
} from '../src/answer/dnsmasq-answerer.js';
import { QueryLog } from '../src/answer/query-log.js';
import { defaultOptions } from '../src/options/option-table.js';
import type { LocalData } from '../src/local/local-data.js';
import { parseServerRule } from '../src/options/server-value.js';
import type { StaleOptions } from '../src/options/values.js';
import { Router } from '../src/routing/router.js';
import { PLAIN_RULES, SourceRecord } from '@kube-dns/resolver/testing';
import { recordedLog } from './recorded-log.js';

/** After it a client gets SERVFAIL. */
export const TIMEOUT_MS = 1_000;

export const NO_LOCAL_DATA = {
  answer: () => 0,
  answerByRule: () => 0,
  hasName: () => false,
  origins: { fileOf: () => undefined, hasPtrRecord: () => false },
};

type LocalSetup = Pick<LocalData, 'answer' | 'answerByRule' | 'hasName' | 'origins'>;

/** What an answerer has besides what all of them have. */
export interface AnswererSetup {
  readonly rules?: readonly string[];
  readonly maxTtlSeconds?: number;
  readonly caching?: Partial<CachingRules>;
  readonly cache?: Partial<AnswerCacheOptions>;
  readonly maxInFlight?: number;
  readonly replies?: Partial<DnsmasqPolicyOptions['replies']>;
  readonly options?: Partial<DnsmasqPolicyOptions> & { readonly local?: LocalSetup };
  readonly logsQueries?: boolean;
  readonly stale?: StaleOptions;
  readonly dns64?: Dns64Options;
  readonly prefetch?: PrefetchOptions;
}

/** An answerer behind a port, in front of a scripted server, with clocks that stand still. */
export class AnswererTestbed {
  readonly upstream: ScriptedNameServer;
  readonly log = recordedLog();
  /** Where the answers came from. */
  readonly sources = new SourceRecord();
  now = 1_000;
  /** There from `start` on. */
  cache!: AnswerCache;
  counters!: AnswerCounters;
  port = 0;
  /** The clock of the forwarder and of servers. */
  #clockMs = 1_000_000;
  /** Does what is due. */
  #tick: () => void = () => undefined;
  #settle: () => Promise<void> = () => Promise.resolve();
  readonly #closers: (() => unknown)[];

  private constructor(upstream: ScriptedNameServer) {
    this.upstream = upstream;
    this.#closers = [() => upstream.close()];
  }

  static async create(): Promise<AnswererTestbed> {
    return new AnswererTestbed(
      await ScriptedNameServer.start(() => ({
        isAuthoritative: true,
        answers: addressRecords(100, '10.0.0.1'),
      })),
    );
  }

  /** Ends another server with the rest. */
  own(server: ScriptedNameServer): void {
    this.#closers.push(() => server.close());
  }

  async start(setup: AnswererSetup = {}): Promise<void> {
    const { rules = [this.upstream.text], maxInFlight = 100, maxTtlSeconds = 0, stale } = setup;
    const { log } = this;
    const now = () => this.#clockMs;
    const sockets = new UpstreamSockets();
    const upstreams = new UpstreamServers(sockets, new ServerStatistics(), { now });
    const router = new Router({
      rules: rules.map(parseServerRule),
      upstreams,
      log: recordedLog(),
    });
    router.load();
    const queryLog = setup.logsQueries === true ? new QueryLog(log, true) : undefined;
    const { local = NO_LOCAL_DATA } = setup.options ?? {};
    const policy = new DnsmasqPolicy({
      caching: { ...PLAIN_RULES, ...setup.caching },
      replies: { ...defaultOptions(), ...setup.replies },
      filteredTypes: [],
      maxTtlSeconds,
      local,
      router,
      isStaleLate: stale !== undefined,
      isOfCluster: undefined,
      log,
      now,
      ...setup.options,
    });
    const resolver = new Resolver({
      cache: {
        maxRecords: 100,
        maxTtlSeconds,
        nowSeconds: () => this.now,
        ...(stale && { maxStaleSeconds: stale.maxAgeSeconds, staleTtlSeconds: stale.ttlSeconds }),
        countsHits: setup.prefetch !== undefined,
        ...setup.cache,
      },
      forwarding: { maxInFlight, plan: retryPlan(TIMEOUT_MS), maxUdpBytes: 1232, now },
      staleAfterMs: stale?.timeoutMs,
      subscriptions: {
        find: () => undefined,
        search: () => undefined,
        publisherOf: () => undefined,
        optionsFor: () => NO_OPTIONS,
      },
      policy,
      observer: queryLog,
      dns64: setup.dns64,
      prefetch: setup.prefetch,
    });
    const { cache, counters, forwarder } = resolver;
    if (queryLog !== undefined) forwarder.exchanges.add(queryLog);
    this.cache = cache;
    this.counters = counters;
    this.#settle = () => resolver.settle();
    this.#tick = () => {
      forwarder.tick();
      upstreams.probeDown();
    };
    const chaos = new ChaosAnswerer(new Map([['hits.bind', () => [String(counters.unforwarded)]]]));
    const answerer = new DnsmasqAnswerer({ chaos, local, router, resolver, queryLog });
    const listener = await listen({
      answerer,
      address: '127.0.0.1',
      port: 0,
      observer: this.sources,
      onFailure: (error) => {
        throw error;
      },
    });
    this.port = listener.port;
    this.#closers.unshift(
      () => listener.close(),
      () => resolver.close(),
      () => upstreams.close(),
      () => sockets.close(),
    );
  }

  /** Lets time go by at once for the forwarder and for servers. */
  pass(ms: number): void {
    this.#clockMs += ms;
    this.#tick();
  }

  /** What a client gets who has waited so long: the time goes by once the server has so many questions more. */
  async late<T>(ms: number, act: () => Promise<T>, questions = 1): Promise<T> {
    const { requests } = this.upstream;
    const before = requests.length;
    const result = act();
    await until('the question', () => requests.length >= before + questions);
    this.pass(ms);
    return result;
  }

  /** Waits until what is asked of servers is answered. */
  settle(): Promise<void> {
    return this.#settle();
  }

  async close(): Promise<void> {
    for (const close of this.#closers) await close();
  }
}
