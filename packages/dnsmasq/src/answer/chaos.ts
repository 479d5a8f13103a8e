import type { SubscriptionRow } from '@kube-dns/push';
import type { AnswerCounters, CacheFacts, ServerStatistics } from '@kube-dns/resolver';
import {
  appendOpt,
  CLASS,
  decodeName,
  encodeKey,
  encodeRdata,
  FLAG,
  HEADER_BYTES,
  type Query,
  RCODE,
  isInZone,
  TYPE,
  writeUint16,
} from '@kube-dns/wire';
import { UNKNOWN_CHAOS } from '../explanations.js';

/** The texts behind the names of class CHAOS (lower case, no final dot), asked for at each query. */
type ChaosTexts = ReadonlyMap<string, () => readonly string[]>;

const PARENTS = ['bind', 'server'].map(encodeKey);
const CH_TTL_SECONDS = 0;
/** Strings of 255 bytes that fit a message of 64 KiB beside the longest question. */
const MAX_TEXTS = 250;

/**
 * Answers TXT questions of class CHAOS about the server itself, as dnsmasq does (src/cache.c,
 * cache_make_stat): `hits.bind` and the other statistics. Other names below `bind` and `server` are NOTIMP.
 */
export class ChaosAnswerer {
  readonly #texts: ChaosTexts;

  constructor(texts: ChaosTexts) {
    this.#texts = texts;
  }

  /** Whether a query is about the server itself. */
  owns(query: Query): boolean {
    return (
      query.class === CLASS.CH &&
      PARENTS.some((parent) => isInZone(query.name, query.nameLength, parent))
    );
  }

  /** Writes the answer into `out` and returns its length. */
  answer(query: Query, out: Uint8Array): number {
    const isText = query.type === TYPE.TXT || query.type === TYPE.ANY;
    const texts = isText ? this.#texts.get(decodeName(query.name))?.() : undefined;
    return texts === undefined ? writeRefusal(query, out) : writeTexts(query, out, texts);
  }
}

function writeRefusal(query: Query, out: Uint8Array): number {
  const end = writeHeader(query, out, RCODE.NOTIMP);
  return appendOpt(query, out, end, RCODE.NOTIMP, UNKNOWN_CHAOS);
}

/** One TXT record of class CH, which the writer for class IN does not write. */
function writeTexts(query: Query, out: Uint8Array, texts: readonly string[]): number {
  // A TXT record has one string at least (RFC 1035 section 3.3.14), an empty one if need be.
  const data = texts.length === 0 ? [''] : texts.slice(0, MAX_TEXTS);
  const rdata = encodeRdata({ type: 'TXT', name: '.', data });
  const at = writeHeader(query, out, FLAG.AA | RCODE.NOERROR);
  writeUint16(out, 6, 1);
  writeUint16(out, at, 0xc000 | HEADER_BYTES);
  writeUint16(out, at + 2, TYPE.TXT);
  writeUint16(out, at + 4, CLASS.CH);
  out.fill(CH_TTL_SECONDS, at + 6, at + 10);
  writeUint16(out, at + 10, rdata.length);
  out.set(rdata, at + 12);
  return appendOpt(query, out, at + 12 + rdata.length);
}

/** Header and question of a response; returns the offset behind them. */
function writeHeader(query: Query, out: Uint8Array, flags: number): number {
  const end = query.questionEnd;
  out.set(query.bytes.subarray(0, end));
  writeUint16(out, 2, FLAG.QR | FLAG.RA | (query.flags & (FLAG.RD | FLAG.CD)) | flags);
  writeUint16(out, 4, 1);
  out.fill(0, 6, HEADER_BYTES);
  return end;
}

/** The version that clients, dashboards and readers of logs expect: the dnsmasq whose behaviour this is. */
export const DNSMASQ_VERSION = '2.90';

interface ChaosSources {
  readonly resolver: {
    describe(): {
      readonly answers: Pick<AnswerCounters, 'unforwarded' | 'forwarded'>;
      readonly cache: Pick<CacheFacts, 'maxRecords' | 'insertions' | 'evictions'>;
    };
  };
  readonly statistics: Pick<ServerStatistics, 'entries'>;
  readonly subscriptions: { rows(): readonly SubscriptionRow[] };
}

/** The names below `bind` and their texts, as in dnsmasq, and one more; the sidecar reads the numbers. */
export function chaosTexts(sources: ChaosSources): ChaosTexts {
  const { resolver, statistics, subscriptions } = sources;
  const number = (read: () => number) => () => [String(read())];
  return new Map<string, () => string[]>([
    ['version.bind', () => [`dnsmasq-${DNSMASQ_VERSION}`]],
    ['authors.bind', () => ['Simon Kelley']],
    ['copyright.bind', () => ['Copyright (c) 2000-2024 Simon Kelley']],
    ['cachesize.bind', number(() => resolver.describe().cache.maxRecords)],
    ['insertions.bind', number(() => resolver.describe().cache.insertions)],
    ['evictions.bind', number(() => resolver.describe().cache.evictions)],
    ['misses.bind', number(() => resolver.describe().answers.forwarded)],
    ['hits.bind', number(() => resolver.describe().answers.unforwarded)],
    ['auth.bind', number(() => 0)],
    ['servers.bind', () => serverTexts(statistics)],
    ['subscriptions.bind', () => subscriptionTexts(subscriptions.rows())],
  ]);
}

/** `ADDRESS#PORT QUERIES FAILED`, one text per server. */
function serverTexts(statistics: Pick<ServerStatistics, 'entries'>): string[] {
  return [...statistics.entries()].map(
    ([server, { queries, failed }]) => `${server} ${queries} ${failed}`,
  );
}

/** How many zones of servers are live, and how many should be. */
function subscriptionTexts(rows: readonly SubscriptionRow[]): string[] {
  return (['live', 'down'] as const).map((wanted) => {
    const zones = rows.filter(({ state }) => state === wanted).flatMap((row) => row.zones);
    return `${wanted} ${zones.length}`;
  });
}
