import { askAddress, askNothing, askPort, askReverse, askStub, askWorld } from './question.js';
import type { Question } from './question.js';
import type { Schedule } from './schedule.js';
import { kindOf, type ServiceKind } from './service-state.js';

/** A question of the load, and how it is asked. */
export interface Asking {
  readonly question: Question;
  /** Of kubedns, and not of dnsmasq. */
  readonly isStraight: boolean;
  readonly isOverTcp: boolean;
  readonly hasEdns: boolean;
}

type Ask = (source: QuestionMix) => Omit<Asking, 'hasEdns' | 'isOverTcp'>;

const CACHED_NAMES = 300;
const STUB_HOSTS = 20;
const TCP_PART = 0.02;
const EDNS_PART = 0.3;
const SEARCH = ['default.svc.cluster.local', 'svc.cluster.local', 'cluster.local'] as const;

function cached(question: Question) {
  return { question, isStraight: false };
}

/** Parts of a hundred questions; the sum is 100. */
const MIX: readonly (readonly [number, Ask])[] = [
  // What dnsmasq has: names of the world, and services.
  [28, (mix) => cached(mix.cachedName())],
  [14, (mix) => cached(askAddress(mix.settled()))],
  // Names of the cluster, of dnsmasq and of kubedns itself.
  [10, (mix) => cached(askAddress(mix.churned()))],
  [9, (mix) => ({ question: askAddress(mix.churned()), isStraight: true })],
  [3, (mix) => ({ question: askAddress(mix.ofKind('headless'), 'h0'), isStraight: true })],
  [6, (mix) => ({ question: askPort(mix.churned()), isStraight: mix.flip() })],
  [6, (mix) => ({ question: mix.reverse(), isStraight: mix.flip() })],
  // Names with TTL 0, and new names that evict others from the cache.
  [6, (mix) => cached(askWorld(mix.newName(0)))],
  [3, (mix) => cached(askWorld(mix.newName(60)))],
  [10, (mix) => cached(mix.searchPath())],
  [4, (mix) => ({ question: mix.stub(), isStraight: mix.flip() })],
  [1, (mix) => cached(askWorld(mix.cachedName().name, 'AAAA'))],
];

/** The questions of a cluster in use, in an order that looks random and is the same in each run. */
export class QuestionMix {
  readonly #schedule: Schedule;
  #state = 0x1234_5678;
  #newNames = 0;
  #nowMs = 0;

  constructor(schedule: Schedule) {
    this.#schedule = schedule;
  }

  /** The next question. `nowMs` decides which addresses are asked for their names. */
  next(nowMs: number): Asking {
    this.#nowMs = nowMs;
    let dice = this.#below(100);
    const [, ask] = MIX.find(([part]) => (dice -= part) < 0)!;
    const isOverTcp = this.#random() < TCP_PART;
    return { ...ask(this), isOverTcp, hasEdns: this.#random() < EDNS_PART };
  }

  flip(): boolean {
    return this.#random() < 0.5;
  }

  settled(): number {
    const { churned, settled } = this.#schedule.plan;
    return churned + this.#below(settled);
  }

  churned(): number {
    const { churned } = this.#schedule.plan;
    return churned === 0 ? this.settled() : this.#below(churned);
  }

  /** A churned service of a kind. */
  ofKind(kind: ServiceKind): number {
    let index = this.churned();
    while (kindOf(index) !== kind) index = this.churned();
    return index;
  }

  /** An address that a service has, or had a version ago. */
  reverse(): Question {
    const index = this.ofKind(this.flip() ? 'address' : 'headless');
    const version = this.#schedule.serviceVersion(index, this.#nowMs);
    return askReverse(index, Math.max(0, version - this.#below(2)));
  }

  stub(): Question {
    const host = `host-${this.#below(STUB_HOSTS)}`;
    return askStub(host, this.flip() ? 'corp.test' : 'lab.test');
  }

  cachedName(): Question {
    return askWorld(`w${this.#below(CACHED_NAMES)}.t300.world.test`);
  }

  newName(ttlSeconds: number): string {
    return `n${this.#newNames++}.t${ttlSeconds}.world.test`;
  }

  /** A name of the world with one of a pod's search domains appended. */
  searchPath(): Question {
    const domain = SEARCH[this.#below(SEARCH.length)]!;
    return askNothing(`${this.cachedName().name}.${domain}`);
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  /** Of the generator of Numerical Recipes. */
  #random(): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return this.#state / 2 ** 32;
  }
}
