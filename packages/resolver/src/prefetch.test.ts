import { describe, expect, it } from '@jest/globals';
import { readQuery } from '@kube-dns/wire';
import { addressRecords, encodeQuery, type Question } from '@kube-dns/testkit';
import { NO_OPTIONS, retryPlan, type ServerGroup } from '@kube-dns/transport';
import { ReplyReader } from './cache/reply-reader.js';
import { Resolver } from './resolver.js';
import { PLAIN_RULES, storeReply } from './testing/cached-answers.js';

const RULES = { hits: 3, percent: 10 };
const UPSTREAM_SECONDS = 0.05;
const TTL = 10;
const NAME = 'popular.example';
/** As if replies took the time above. */
const GROUP = { replyLimitMs: 2 * 1_000 * UPSTREAM_SECONDS } as unknown as ServerGroup;
const CLIENT = {
  address: '192.0.2.1',
  port: 5_000,
  answersFrom: () => undefined,
  defer: () => undefined as never,
};

/** A resolver before a server that replies after a while, by a clock of its own. */
class Simulation {
  now = 100;
  /** Questions that were sent, and those of them that a client waits for. */
  sent = 0;
  waits = 0;
  /** Whether a prefetch is sent. */
  isSent = true;
  readonly #resolver: Resolver;
  readonly #out = new Uint8Array(65_535);
  #replies: { readonly atSecond: number; readonly question: Question }[] = [];

  constructor(prefetching: boolean, ttl = TTL) {
    this.#ttl = ttl;
    this.#resolver = new Resolver({
      cache: { maxRecords: 10, countsHits: prefetching, nowSeconds: () => this.now },
      forwarding: { maxInFlight: 1, plan: retryPlan(1_000), maxUdpBytes: 1232 },
      prefetch: prefetching ? RULES : undefined,
      subscriptions: {
        find: () => undefined,
        search: () => undefined,
        publisherOf: () => undefined,
        optionsFor: () => NO_OPTIONS,
      },
      policy: {
        replies: {
          reader: new ReplyReader(PLAIN_RULES),
          maxTtlSeconds: undefined,
          passesErrors: true,
          endsExpired: false,
          rewrite: (reply) => reply,
          judge: () => undefined,
          mayStore: () => true,
          mayStoreTarget: () => true,
          finish: (reply) => reply,
        },
        groupOf: () => GROUP,
        answerUncached: () => 0,
        answerUnrouted: () => 0,
      },
    });
    const { forwarder } = this.#resolver;
    forwarder.forward = (query) => this.#send(query.type === 28 ? 'AAAA' : 'A', true);
    forwarder.refresh = () => this.isSent && this.#send('A', false) === 0;
  }

  readonly #ttl: number;

  /** Lets time go by, and asks. */
  ask(afterSeconds: number, fields: Partial<Question> = {}): void {
    this.now += afterSeconds;
    const isDue = ({ atSecond }: { readonly atSecond: number }) => atSecond <= this.now;
    for (const { question } of this.#replies.filter(isDue)) {
      storeReply(this.#resolver.cache, question, {
        answers: addressRecords(this.#ttl, '10.0.0.1'),
      });
    }
    this.#replies = this.#replies.filter((reply) => !isDue(reply));
    this.#resolver.resolve(readQuery(encodeQuery({ name: NAME, ...fields })), this.#out, CLIENT);
  }

  #send(type: string, isWaitedFor: boolean): number {
    if (isWaitedFor) this.waits++;
    const isInFlight = this.#replies.length > 0;
    if (isInFlight) return 0;
    this.sent++;
    this.#replies.push({ atSecond: this.now + UPSTREAM_SECONDS, question: { name: NAME, type } });
    return 0;
  }
}

/** A name that is asked for 20 times a second, until its answer has expired at least once. */
function popular(prefetching: boolean, ttl = TTL): Simulation {
  const simulation = new Simulation(prefetching, ttl);
  for (let i = 0; i < Math.max(3_000, 30 * ttl); i++) simulation.ask(0.05);
  return simulation;
}

describe('prefetch', () => {
  it.each([10, 11, 30, 300])('lets no client wait, for a tenth more questions: TTL %i', (ttl) => {
    const with_ = popular(true, ttl);
    const without = popular(false, ttl);
    expect(with_.waits).toBeLessThanOrEqual(2);
    expect(with_.sent).toBeLessThanOrEqual(Math.ceil(1.1 * without.sent));
    expect(without.waits).toBeGreaterThan(with_.waits);
  });

  it('asks for a name once before its answer expires', () => {
    const simulation = new Simulation(true);
    for (let i = 0; i < 4; i++) simulation.ask(0.1);
    simulation.ask(9, {});
    for (let i = 0; i < 20; i++) simulation.ask(0.001);
    expect(simulation.sent).toBe(2);
  });

  it('asks again with the next hit when it was not sent', () => {
    const simulation = new Simulation(true);
    for (let i = 0; i < 4; i++) simulation.ask(0.1);
    simulation.isSent = false;
    simulation.ask(9);
    simulation.isSent = true;
    simulation.ask(0.01);
    expect(simulation.sent).toBe(2);
  });

  it.each<[string, (simulation: Simulation) => void]>([
    ['that was asked for once', () => undefined],
    [
      'that was asked for often, but not shortly before its end',
      (simulation) => {
        for (let i = 0; i < 85; i++) simulation.ask(0.1);
      },
    ],
    [
      'for a question whose answer is not cached',
      (simulation) => {
        for (let i = 0; i < 5; i++) simulation.ask(0.1);
        simulation.ask(8.9, { isCheckingDisabled: true });
      },
    ],
  ])('asks for no name %s', (_what, act) => {
    const simulation = new Simulation(true);
    simulation.ask(0);
    act(simulation);
    expect(simulation.sent).toBe(1);
  });

  it('asks for no answer that lives less than 10 s', () => {
    const simulation = popular(true, 9);
    expect(simulation.waits).toBeGreaterThan(10);
  });
});
