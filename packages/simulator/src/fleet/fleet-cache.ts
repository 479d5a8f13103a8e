import type { AnswerCache, CachingRules, ReplyPipeline, ReplyPolicy } from '@kube-dns/resolver';
import type { Relay, ChangeSink, ChangeSource, Subscriptions } from '@kube-dns/push';
import { FLAG, isInZone, type Query, readUint16 } from '@kube-dns/wire';
import type { FleetCode } from './fleet-code.js';
import { APEX, nameOf } from './fleet-messages.js';
import { runningProcess } from './fleet-process.js';

/** Takes an answer, whose bytes are not changed later, and when it was right: as far as a server without faults can know, in microseconds. */
export type TakeAnswer = (answer: Uint8Array, rightUs: number) => void;

/** When the answer for a name was stored, and when it was right. */
interface Stored {
  readonly storedUs: number;
  readonly rightUs: number;
}

/** A question that is on its way to a server. */
export interface Flight {
  readonly waiting: TakeAnswer[];
  /** No change has come since: its reply may be cached, and others may wait for it. */
  isShared: boolean;
  isDone: boolean;
}

export interface FleetCacheOptions {
  readonly code: FleetCode;
  readonly policy: ReplyPolicy;
  readonly subscriptions: Subscriptions;
  /** Of a cache that publishes. */
  readonly relay?: Relay | undefined;
  /** Asks a server; its replies go to `take`. */
  readonly forward: (at: number, flight: Flight) => void;
}

const MAX_RECORDS = 10_000;
/** An answer while it is written. */
const out = new Uint8Array(512);

/** Questions from the cache of a program, or else on their way to its servers: as `Resolver` does, without expired answers. */
export class FleetCache implements ChangeSink {
  readonly cache: AnswerCache;
  /** Of the answer for each name that was stored last. */
  readonly stored = new Map<number, Stored>();
  readonly #options: FleetCacheOptions;
  readonly #replies: ReplyPipeline;
  readonly #flights = new Map<number, Flight>();

  constructor(options: FleetCacheOptions) {
    const { code, policy, subscriptions, relay } = options;
    this.#options = options;
    this.cache = new code.AnswerCache({
      maxRecords: MAX_RECORDS,
      lastSeen: subscriptions.lastSeen,
      zoneServers: subscriptions,
      nowSeconds: () => runningProcess().nowUs / 1e6,
    });
    this.#replies = new code.ReplyPipeline({ policy, cache: this.cache, subscriptions, relay });
    subscriptions.attach(this);
  }

  /** The answer of the cache to a question for a name, whose bytes are overwritten by the next one. */
  lookup(query: Query): { readonly answer: Uint8Array; readonly subscription: number } | undefined {
    const hit = this.cache.lookup(query, out);
    if (hit === undefined || hit.isStale) return undefined;
    const { code, relay } = this.#options;
    const { subscription } = hit;
    let length = code.appendOpt(query, out, hit.length);
    if (query.asksZoneVersion && relay !== undefined) {
      length = relay.addTo(query, out, length, subscription);
    }
    return { answer: out.subarray(0, length), subscription };
  }

  /** Asks a server, unless another one waits for the same. */
  ask(at: number, take: TakeAnswer): void {
    const known = this.#flights.get(at);
    if (known !== undefined) {
      known.waiting.push(take);
      return;
    }
    const flight = { waiting: [take], isShared: true, isDone: false };
    this.#flights.set(at, flight);
    this.#options.forward(at, flight);
  }

  /** A server has replied. */
  take(at: number, flight: Flight, reply: Uint8Array, rightUs: number): void {
    if (flight.isDone) return;
    flight.isDone = true;
    if (flight.isShared) this.#flights.delete(at);
    const { insertions } = this.cache;
    const answer = this.#replies.take(Buffer.from(reply), flight.isShared);
    const storedUs = runningProcess().nowUs;
    if (this.cache.insertions > insertions) this.stored.set(at, { storedUs, rightUs });
    if (answer !== null) for (const each of flight.waiting) each(answer, rightUs);
  }

  dropChanged(name: Uint8Array, source: ChangeSource, serial: number, zone: Uint8Array): number {
    return this.cache.dropChanged(name, source, serial, zone);
  }

  dropBelow(zone: Uint8Array): void {
    this.cache.dropBelow(zone);
  }

  pinnedAnswers(subscription: number): number {
    return this.cache.pinnedAnswers(subscription);
  }

  zoneAnswers(server: number): number {
    return this.cache.zoneAnswers(server);
  }

  forgetQuestions(domain: Uint8Array): void {
    if (this.#flights.size === 0) return;
    for (const [at, flight] of this.#flights) {
      const name = nameOf(at);
      if (!isInZone(name, name.length, domain)) continue;
      flight.isShared = false;
      this.#flights.delete(at);
    }
  }
}

const RULES: CachingRules = {
  isExtraType: () => true,
  cachesNegatives: true,
  cachesAnnouncedNegatives: true,
  negativeTtlSeconds: 0,
  minTtlSeconds: 0,
  maxTtlSeconds: 0,
  cachesZeroTtls: false,
};

/** What a program does with replies: node-cache gives answers with the AA that they came with, dnsmasq gives cached ones without. */
export function replyPolicy(code: FleetCode, keepsAuthority: boolean): ReplyPolicy {
  return {
    reader: new code.ReplyReader(RULES),
    maxTtlSeconds: undefined,
    passesErrors: true,
    endsExpired: true,
    rewrite: (reply) => reply,
    judge: () => undefined,
    mayStore: (answer, reply) => {
      answer.isOfCluster = true;
      answer.isAuthoritative = keepsAuthority && (readUint16(reply, 2) & FLAG.AA) !== 0;
      return true;
    },
    mayStoreTarget: () => false,
    finish: (reply) => reply,
  };
}

/** A server that announces changes of the cluster's zone. */
export function zoneServer(address: string, port: number) {
  return { server: { address, port }, zones: [APEX] };
}
