import {
  listen,
  NO_OPTIONS,
  QueryForwarder,
  retryPlan,
  UpstreamServers,
  UpstreamSockets,
} from '@kube-dns/transport';
import { ChaosAnswerer } from '../src/answer/chaos.js';
import {
  AnswerCache,
  type AnswerCacheOptions,
  AnswerCounters,
  type CachingRules,
  ServerStatistics,
  staleRules,
} from '@kube-dns/resolver';
import { type AnswererOptions, createAnswerer } from '../src/answer/create-answerer.js';
import { QueryLog } from '../src/answer/query-log.js';
import { defaultOptions } from '../src/options/option-values.js';
import { parseServerRule } from '../src/options/server-value.js';
import type { StaleOptions } from '../src/options/stale-value.js';
import { Router } from '../src/routing/router.js';
import { addressRecords, PLAIN_RULES, SourceRecord } from '@kube-dns/resolver/testing';
import { FakeUpstream } from './fake-upstream.js';
import { recordedLog } from './recorded-log.js';

export const NO_LOCAL_DATA = {
  answer: () => 0,
  answerByRule: () => 0,
  hasName: () => false,
  origins: { fileOf: () => undefined, hasPtrRecord: () => false },
};

/** What an answerer has besides what all of them have. */
export interface AnswererSetup {
  readonly rules?: readonly string[];
  readonly maxTtlSeconds?: number;
  readonly caching?: Partial<CachingRules>;
  readonly cache?: Partial<AnswerCacheOptions>;
  readonly maxInFlight?: number;
  readonly replies?: Partial<AnswererOptions['replies']>;
  readonly options?: Partial<AnswererOptions>;
  readonly logsQueries?: boolean;
  readonly stale?: StaleOptions;
}

/** An answerer behind a port, in front of a scripted server, with a clock that stands still. */
export class AnswererTestbed {
  readonly upstream: FakeUpstream;
  readonly log = recordedLog();
  /** Where the answers came from. */
  readonly sources = new SourceRecord();
  readonly counters = new AnswerCounters();
  now = 1_000;
  /** How far the clocks of the forwarder and of servers are ahead, in milliseconds. */
  aheadMs = 0;
  /** There from `start` on. */
  cache!: AnswerCache;
  port = 0;
  readonly #closers: (() => unknown)[];

  private constructor(upstream: FakeUpstream) {
    this.upstream = upstream;
    this.#closers = [() => upstream.close()];
  }

  static async create(): Promise<AnswererTestbed> {
    return new AnswererTestbed(
      await FakeUpstream.start(() => ({
        isAuthoritative: true,
        answers: addressRecords(100, '10.0.0.1'),
      })),
    );
  }

  /** Ends another server with the rest. */
  own(server: FakeUpstream): void {
    this.#closers.push(() => server.close());
  }

  async start(setup: AnswererSetup = {}): Promise<void> {
    const { rules = [this.upstream.text], maxInFlight = 100, maxTtlSeconds = 0, stale } = setup;
    const { log } = this;
    this.cache = new AnswerCache({
      maxRecords: 100,
      maxTtlSeconds,
      nowSeconds: () => this.now,
      ...(stale && { maxStaleSeconds: stale.maxAgeSeconds, staleTtlSeconds: stale.ttlSeconds }),
      ...setup.cache,
    });
    const now = () => performance.now() + this.aheadMs;
    const plan = retryPlan(1_000);
    const forwarder = new QueryForwarder({
      maxInFlight,
      plan,
      maxUdpBytes: 1232,
      stale: stale && staleRules(stale, this.cache),
      now,
    });
    const sockets = new UpstreamSockets();
    const router = new Router({
      rules: rules.map(parseServerRule),
      upstreams: new UpstreamServers(sockets, new ServerStatistics(), { now }),
      log: recordedLog(),
    });
    router.load();
    const answerer = createAnswerer({
      cache: this.cache,
      chaos: new ChaosAnswerer(new Map([['hits.bind', () => [String(this.counters.hits)]]])),
      forwarder,
      local: NO_LOCAL_DATA,
      counters: this.counters,
      router,
      subscriptions: {
        find: () => undefined,
        search: () => undefined,
        tellerOf: () => undefined,
        optionsFor: () => NO_OPTIONS,
      },
      caching: { ...PLAIN_RULES, ...setup.caching },
      replies: { ...defaultOptions(), ...setup.replies },
      filteredTypes: [],
      maxTtlSeconds,
      log,
      servesStaleLate: stale !== undefined,
      ...(setup.logsQueries === true && { queryLog: new QueryLog(log, true) }),
      ...setup.options,
    });
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
      () => forwarder.close(),
      () => sockets.close(),
    );
  }

  async close(): Promise<void> {
    for (const close of this.#closers) await close();
  }
}
