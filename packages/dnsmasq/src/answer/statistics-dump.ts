import { MAX_TIMER_MS } from '@kube-dns/base';
import { type Log } from '@kube-dns/daemon';
import {
  addressText,
  QUESTION_OFFSET,
  RecordCursor,
  readUint16,
  SECTION,
  TYPE,
} from '@kube-dns/wire';
import type { CachedAnswer, ResolverFacts, ServerStatistics } from '@kube-dns/resolver';
import type { HostsEntry } from '../local/hosts-files.js';
import type { DnsmasqOptions } from '../options/option-table.js';
import type { LocalRecord } from '../options/record-values.js';
import { addressOfReverse, nameText, valueText } from './query-log.js';

export interface StatisticsDumpOptions {
  readonly resolver: {
    describe(): Pick<ResolverFacts, 'cache' | 'answers'>;
    cachedAnswers(): Iterable<CachedAnswer>;
  };
  readonly statistics: Pick<ServerStatistics, 'entries'>;
  /** Whether each cached answer is written, too, as dnsmasq does with `--log-queries`. */
  readonly showsCache: boolean;
  /** The static records: their addresses and CNAMEs are written with the cache. */
  readonly records: readonly LocalRecord[];
  /** The addresses of hosts files, which are written with the cache, too. */
  readonly hosts: () => Iterable<HostsEntry>;
  /** Whether expired answers are served: their number is then shown. */
  readonly usesStale: boolean;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/** What the options of the command line say about it. */
export function dumpRules(
  options: Pick<DnsmasqOptions, 'logsQueries' | 'records' | 'maxStaleSeconds' | 'stale'>,
): Pick<StatisticsDumpOptions, 'showsCache' | 'records' | 'usesStale'> {
  return {
    showsCache: options.logsQueries !== 'no',
    records: options.records,
    usesStale: options.maxStaleSeconds > 0 || options.stale !== undefined,
  };
}

/** Lower bound of `-logInterval`: below it, the log has nothing else. */
const MIN_INTERVAL_MS = 1_000;
/** How many lines are written in one turn of the event loop. */
const LINES_PER_TURN = 200;

/** Widths of the columns of the cache's dump (dnsmasq src/cache.c, dump_cache_entry). */
const HOST_WIDTH = 30;
const ADDRESS_WIDTH = 40;
const FLAGS_WIDTH = 10;
const EXPIRES_WIDTH = 24;
const IPV4_BYTES = 4;

/** SIGUSR1: the statistics in the log, worded as dnsmasq does (src/cache.c, dump_cache). */
export class StatisticsDump {
  readonly #options: StatisticsDumpOptions;
  readonly #now: () => number;
  #next: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: StatisticsDumpOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /** Writes the statistics now, and the cache in slices; ends a dump in progress. */
  write(): void {
    const { resolver, statistics, showsCache, usesStale, log } = this.#options;
    const { cache, answers } = resolver.describe();
    const { maxRecords, evictions, insertions } = cache;
    log.info(`time ${Math.floor(this.#now() / 1000)}`);
    log.info(
      `cache size ${maxRecords}, ${evictions}/${insertions} cache insertions re-used unexpired cache entries.`,
    );
    const { unforwarded, forwarded, staleAnswers } = answers;
    log.info(`queries forwarded ${forwarded}, queries answered locally ${unforwarded}`);
    if (usesStale) log.info(`queries answered from stale cache ${staleAnswers}`);
    log.info('queries for authoritative zones 0');
    const { usedBytes, peakBytes, takenBytes } = cache;
    log.info(`pool memory in use ${usedBytes}, max ${peakBytes}, allocated ${takenBytes}`);
    for (const [server, counts] of statistics.entries()) {
      const { queries, retried, failed, nxdomains, meanLatencyMs } = counts;
      log.info(
        `server ${server}: queries sent ${queries}, retried ${retried}, failed ${failed}, ` +
          `nxdomain replies ${nxdomains}, avg. latency ${Math.round(meanLatencyMs)}ms`,
      );
    }
    if (showsCache) this.#writeCache();
  }

  /** Writes the statistics again and again (`-logInterval`); not with 0. */
  writeEvery(ms: number): void {
    if (ms <= 0) return;
    const periodMs = Math.min(Math.max(ms, MIN_INTERVAL_MS), MAX_TIMER_MS);
    this.#timer = setInterval(() => this.write(), periodMs).unref();
  }

  /** Ends the dump in progress, and writes no more. May be called twice. */
  close(): void {
    clearInterval(this.#timer);
    clearImmediate(this.#next);
  }

  #writeCache(): void {
    clearImmediate(this.#next);
    const { log } = this.#options;
    log.info(row('Host', 'Address', 'Flags', 'Expires', 'Source'));
    const widths = [HOST_WIDTH, ADDRESS_WIDTH, FLAGS_WIDTH, EXPIRES_WIDTH, 12];
    log.info(widths.map((width) => '-'.repeat(width)).join(' '));
    this.#writeLines(this.#lines());
  }

  *#lines(): Generator<string, void> {
    const { resolver, records, hosts } = this.#options;
    yield* staticLines(records);
    for (const entry of hosts()) yield hostsLine(entry);
    for (const answer of resolver.cachedAnswers()) {
      yield* answerLines(answer, expiryText(this.#now() + answer.secondsLeft * 1000));
    }
  }

  #writeLines(lines: Iterator<string, void>): void {
    for (let i = 0; i < LINES_PER_TURN; i++) {
      const next = lines.next();
      if (next.done === true) return;
      this.#options.log.info(next.value);
    }
    this.#next = setImmediate(() => this.#writeLines(lines));
  }
}

/** A line per address and CNAME of the command line; dnsmasq keeps other types elsewhere. */
function staticLines(records: readonly LocalRecord[]): string[] {
  const reverses = new Set(
    records
      .filter(({ isReverseOfHost }) => isReverseOfHost === true)
      .map(({ owner, rdata }) => reverseKey(addressOfReverse(nameText(owner, 0)), rdata)),
  );
  return records.flatMap(({ owner, type, rdata, isOfHost = false }) => {
    const host = nameText(owner, 0);
    if (type === TYPE.CNAME) return row(host, nameText(rdata, 0), 'CF I    C', '');
    if (!isOfHost) return [];
    const isReversed = reverses.has(reverseKey(addressText(rdata), owner));
    const flags = `${typeLetter(type)}F${isReversed ? 'R' : ' '}I   HC`;
    return row(host, addressText(rdata), flags, '', 'config');
  });
}

function hostsLine({ name, address, isReverse, file }: HostsEntry): string {
  const family = typeLetter(address.length === IPV4_BYTES ? TYPE.A : TYPE.AAAA);
  const flags = `${family}F${isReverse ? 'R' : ' '}I   H`;
  return row(nameText(name, 0), addressText(address), flags, '', file);
}

function reverseKey(address: string, name: Uint8Array): string {
  return `${address} ${nameText(name, 0).toLowerCase()}`;
}

/** A line per record, or one for a negative answer. */
function answerLines({ message }: CachedAnswer, expires: string): string[] {
  const lines: string[] = [];
  const cursor = new RecordCursor().reset(message, message.length);
  const questionType = readUint16(message, cursor.end - 4);
  let nameAt = QUESTION_OFFSET;
  let isNegative = true;
  while (cursor.next() && cursor.section !== SECTION.ADDITIONAL) {
    const { type } = cursor;
    const isAnswer = cursor.section === SECTION.ANSWER;
    const isCname = isAnswer && type === TYPE.CNAME;
    const owner = nameText(message, cursor.start);
    if (isCname) nameAt = cursor.rdataStart;
    else if (isAnswer) isNegative = false;
    const isReverse = type === TYPE.PTR;
    // dnsmasq has reverse entries under the name, with the address beside it.
    const value = isCname ? nameText(message, nameAt) : valueText(message, cursor);
    const [host, address] = isReverse ? [value, addressOfReverse(owner)] : [owner, value];
    lines.push(row(host, address, `${typeLetter(type)}${isReverse ? ' R' : 'F'}`, expires));
  }
  if (!isNegative) return lines;
  const flags = questionType === 0 ? ' F   NX' : `${typeLetter(questionType)}F   N`;
  const isReverse = questionType === TYPE.PTR;
  const name = nameText(message, nameAt);
  lines.push(row(isReverse ? '' : name, isReverse ? addressOfReverse(name) : '', flags, expires));
  return lines;
}

function typeLetter(type: number): string {
  if (type === TYPE.A || type === TYPE.PTR) return '4';
  if (type === TYPE.AAAA) return '6';
  return type === TYPE.CNAME ? 'C' : 'T';
}

function row(host: string, address: string, flags: string, expires: string, source = ''): string {
  const columns = [host.padEnd(HOST_WIDTH), address.padEnd(ADDRESS_WIDTH)];
  return [...columns, flags.padEnd(FLAGS_WIDTH), expires.padEnd(EXPIRES_WIDTH), source]
    .join(' ')
    .trimEnd();
}

/** As ctime(3): `Sat Nov 21 07:28:00 2026`. */
function expiryText(ms: number): string {
  const date = new Date(ms);
  const [day, month, number, year] = date.toDateString().split(' ');
  return `${day} ${month} ${number} ${date.toTimeString().slice(0, 8)} ${year}`;
}
