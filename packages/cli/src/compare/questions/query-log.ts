import { type Question, readQuestion } from './question.js';
import { textLines } from './text-lines.js';

/** What the lines of a log were. */
export interface LogLines {
  readonly file: string;
  lines: number;
  /** Lines with a question, repeated ones included. */
  questions: number;
  /** Lines of such a log that hold no question to ask: replies, errors, other classes, odd names. */
  others: number;
  /** Lines of no such log. */
  strangers: number;
}

/** The log plugin of CoreDNS, "common" and "combined": `… "A IN abc. udp 21 false 512" NOERROR …`. */
const COREDNS_QUERY = /"(\S+) (\S+) (\S+) (?:udp|tcp|tls|https?|https3|quic|grpc) \d+ \S+ \d+"/;
/** What else CoreDNS says begins with its level. */
const COREDNS_OTHER = /(?:^|\s)\[(?:INFO|WARNING|ERROR|DEBUG|FATAL)\] /;
/** dnsmasq with `--log-queries`: `query[A] abc from 10.0.0.1`. */
const DNSMASQ_QUERY = /(?:^|\s)query\[(\S+?)\] (\S+) from \S+/;
/** What else dnsmasq says about a query. */
const DNSMASQ_OTHER =
  /(?:^|\s)(?:query\[|(?:forwarded|reply|cached|cached-stale|config|special|validation|rate-limited|\S*\/hosts\S*) \S.* (?:to|is) \S|dnsmasq(?:\[\d+\])?: )/;

/** The question of one line, or whether it is a line of such a log at all. */
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

/** Gives each question of a log to `onQuestion`; each line may be of CoreDNS or of dnsmasq. */
export async function readQueryLog(
  file: string,
  onQuestion: (question: Question) => void,
): Promise<LogLines> {
  const counts: LogLines = { file, lines: 0, questions: 0, others: 0, strangers: 0 };
  for await (const line of textLines('query log', file)) {
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
