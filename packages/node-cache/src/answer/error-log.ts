import { TokenBucket } from '@kube-dns/base';
import type { Log } from '@kube-dns/daemon';
import {
  type ExchangeObserver,
  type FailureReason,
  type ServerAddress,
  serverText,
} from '@kube-dns/transport';
import { decodeName, HEADER_BYTES, RCODE, readUint16, skipName } from '@kube-dns/wire';
import type { ErrorPattern } from '../corefile/server-block.js';
import { typeText } from './type-text.js';

/** Lines a second: a flood of failures is one of lines otherwise. */
const LINES_PER_SECOND = 20;

interface Consolidated {
  readonly pattern: ErrorPattern;
  count: number;
  timer: NodeJS.Timeout | undefined;
}

/** The plugin `errors`: one line for each failure of a server, in the form of CoreDNS; those of a pattern together. */
export class ErrorLog implements ExchangeObserver {
  /** Lines that were left out because there were too many. */
  dropped = 0;
  readonly #log: Log;
  readonly #patterns: readonly Consolidated[];
  readonly #lines = new TokenBucket(LINES_PER_SECOND, LINES_PER_SECOND);

  constructor(patterns: readonly ErrorPattern[], log: Log) {
    this.#log = log;
    this.#patterns = patterns.map((pattern) => ({ pattern, count: 0, timer: undefined }));
  }

  /** A server had no answer to a question, whose query this is. */
  failed(server: ServerAddress, query: Uint8Array, reason: FailureReason): void {
    const end = skipName(query, HEADER_BYTES, query.length);
    const name = decodeName(query.subarray(HEADER_BYTES, end));
    const text = `${name}. ${typeText(readUint16(query, end))}: ${serverText(server)}: ${reason}`;
    const line = `plugin/errors: ${RCODE.SERVFAIL} ${text}`;
    const consolidated = this.#patterns.find(({ pattern }) => pattern.pattern.test(text));
    if (consolidated === undefined) this.#write(line);
    else this.#count(consolidated, line);
  }

  close(): void {
    for (const { timer } of this.#patterns) clearTimeout(timer);
  }

  #write(line: string): void {
    if (this.#lines.take()) this.#log.error(line);
    else this.dropped++;
  }

  #count(consolidated: Consolidated, line: string): void {
    const { pattern } = consolidated;
    if (consolidated.count++ === 0) {
      if (pattern.showsFirst) this.#write(line);
      consolidated.timer = setTimeout(() => this.#sum(consolidated), pattern.periodMs).unref();
    }
  }

  #sum(consolidated: Consolidated): void {
    const { level, pattern, periodMs } = consolidated.pattern;
    const text = `plugin/errors: ${consolidated.count} errors like '${pattern.source}' occurred in last ${periodMs / 1_000}s`;
    consolidated.count = 0;
    if (level === 'error') this.#log.error(text);
    else if (level === 'warning') this.#log.warn(text);
    else this.#log.info(text);
  }
}
