import type { LoopDetector } from '@kube-dns/resolver';
import { type Answerer, type Client, SOURCE } from '@kube-dns/transport';
import { AnswerWriter, type Query, RCODE, readUint16 } from '@kube-dns/wire';
import type { SelfProbe } from '../listen/self-probe.js';
import { NO_ZONE } from './explanations.js';
import type { QueryLines } from './query-line.js';
import type { ServedBlock } from './served-block.js';
import { TimedClient } from './timed-client.js';
import { ZoneCounters } from './zone-counters.js';
import { ZoneSet } from './zone-set.js';

const ANSWER_COUNT_AT = 6;

/** A zone at one address: the block that answers for it, and what is counted. */
export interface ServedZone {
  readonly zone: string;
  readonly block: ServedBlock;
  readonly counters: ZoneCounters;
  /** Undefined where no answer is logged. */
  readonly lines: QueryLines | undefined;
}

/** Questions that this process asks itself, or that come back to it. */
export interface OwnQuestions {
  readonly probe: Pick<SelfProbe, 'isOwn' | 'answer'>;
  readonly loops: Pick<LoopDetector, 'isOwnProbe'>;
}

/** Answers the queries at one address and port, each from the block of the longest zone that its name is in. */
export class ZoneAnswerer implements Answerer {
  /** Queries for names that are in no zone. */
  readonly unserved = new ZoneCounters();
  readonly #isIpv6: (client: Client) => boolean;
  readonly #own: OwnQuestions;
  readonly #writer = new AnswerWriter();
  readonly #client = new TimedClient();
  #zones = new ZoneSet<ServedZone>();

  /** `isIpv6` says of a client which family it came by; `own` are the questions of the process itself. */
  constructor(isIpv6: (client: Client) => boolean, own: OwnQuestions) {
    this.#isIpv6 = isIpv6;
    this.#own = own;
  }

  /** Serves these zones from now on. */
  serve(zones: Iterable<ServedZone>): void {
    const set = new ZoneSet<ServedZone>();
    for (const zone of zones) set.set(zone.zone, zone);
    this.#zones = set;
  }

  /** The longest zone that a name is in; undefined when it is in none. */
  zoneOf({ name, nameLength }: Query): ServedZone | undefined {
    return this.#zones.find(name, nameLength);
  }

  answer(query: Query, out: Uint8Array, client: Client): number {
    if (this.#own.probe.isOwn(query)) {
      client.answersFrom(SOURCE.NONE);
      return this.#own.probe.answer(query, out);
    }
    if (this.#own.loops.isOwnProbe(query)) return 0;
    const zone = this.zoneOf(query);
    const counters = zone?.counters ?? this.unserved;
    counters.countRequest(query, this.#isIpv6(client));
    const timed = this.#client;
    timed.start(client, query, counters, zone?.lines);
    const length =
      zone === undefined ? this.#refuse(query, out) : zone.block.answer(query, out, timed);
    if (zone !== undefined) countLookup(zone, out);
    if (length > 0) timed.note(out, length);
    return length;
  }

  #refuse(query: Query, out: Uint8Array): number {
    this.#writer.begin(query, out);
    this.#writer.setRcode(RCODE.REFUSED, NO_ZONE);
    return this.#writer.finish();
  }
}

function countLookup({ block, counters }: ServedZone, answer: Uint8Array): void {
  if (!block.wasLookedUp) return;
  if (!block.wasHit) counters.cacheMisses++;
  else if (readUint16(answer, ANSWER_COUNT_AT) === 0) counters.cacheHits.denial++;
  else counters.cacheHits.success++;
}
