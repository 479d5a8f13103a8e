import type { Readable } from 'node:stream';
import { type Question, readQuestion } from './question.js';
import { textLines } from './text-lines.js';

/** Counts of the lines of a log. */
export interface LogLines {
  readonly file: string;
  lines: number;
  /** Lines with a question, repeated ones included. */
  questions: number;
  /** Lines of a query log without a question to ask: replies, errors, other classes, invalid names. */
  others: number;
  /** Lines that are not of a query log. */
  strangers: number;
}

/** The log plugin of CoreDNS, "common" and "combined": `… "A IN abc. udp 21 false 512" NOERROR …`. */
const COREDNS_QUERY = /"(\S+) (\S+) (\S+) (?:udp|tcp|tls|https?|https3|quic|grpc) \d+ \S+ \d+"/;
/** Any other line of CoreDNS begins with its level. */
const COREDNS_OTHER = /(?:^|\s)\[(?:INFO|WARNING|ERROR|DEBUG|FATAL)\] /;
/** dnsmasq with `--log-queries`: `query[A] abc from 10.0.0.1`. */
const DNSMASQ_QUERY = /(?:^|\s)query\[(\S+?)\] (\S+) from \S+/;
/** Any other line of dnsmasq about a query. */
const DNSMASQ_OTHER =
  /(?:^|\s)(?:query\[|(?:forwarded|reply|cached|cached-stale|config|special|validation|rate-limited|\S*\/hosts\S*) \S.* (?:to|is) \S|dnsmasq(?:\[\d+\])?: )/;

/** The question of one line, or whether it is a line of a query log. */
export function readLogLine(line: string): Question | 'other' | 'stranger' {
  const coredns = COREDNS_QUERY.exec(line);
  if (coredns !== null) {
    const [, type = '', dnsClass = '', name = ''] = coredns;
    const question = dnsClass === 'IN' ? readQuestion(name, type, 'given') : undefined;
    return question ?? 'other';
  }
  const dnsmasq = DNSMASQ_QUERY.exec(line);
  if (dnsmasq !== null) {
    const [, type = '', name = ''] = dnsmasq;
    return readQuestion(name, type, 'given') ?? 'other';
  }
  return COREDNS_OTHER.test(line) || DNSMASQ_OTHER.test(line) ? 'other' : 'stranger';
}

/** Passes each question of a log to `onQuestion`; each line may be of CoreDNS or of dnsmasq. */
export async function readQueryLog(
  file: string,
  stdin: Readable,
  onQuestion: (question: Question) => void,
): Promise<LogLines> {
  const counts: LogLines = { file, lines: 0, questions: 0, others: 0, strangers: 0 };
  for await (const line of textLines('query log', file, stdin)) {
    if (line.trim() === '') continue;
    counts.lines++;
    const read = readLogLine(line);
    if (read === 'other') counts.others++;
    else if (read === 'stranger') counts.strangers++;
    else {
      counts.questions++;
      onQuestion(read);
    }
  }
  return counts;
}
