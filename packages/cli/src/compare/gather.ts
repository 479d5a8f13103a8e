import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { ApiReader } from '../api-reader.js';
import { reasonOf, refusal } from '../errors.js';
import { readQuestion, type Question } from '../question.js';
import { LineSplitter } from '../up/log.js';
import { clusterQuestions, readCluster } from './cluster-questions.js';
import type { CompareOptions } from './options.js';

/** At the default rate and over three ways these take almost an hour. */
const MAX_QUESTIONS = 500_000;

/** Questions without repetition, in order of arrival, at most `max`. */
class QuestionSet implements Iterable<Question> {
  readonly #byKey = new Map<string, Question>();
  readonly #max: number;
  #leftOut = 0;

  constructor(max = MAX_QUESTIONS) {
    this.#max = max;
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** How many exceeded the limit. */
  get leftOut(): number {
    return this.#leftOut;
  }

  add(question: Question): void {
    const key = `${question.name} ${question.type}`;
    if (this.#byKey.has(key)) return;
    if (this.#byKey.size >= this.#max) this.#leftOut++;
    else this.#byKey.set(key, question);
  }

  [Symbol.iterator](): Iterator<Question> {
    return this.#byKey.values();
  }
}

/** All questions of a run, and notes about their sources. */
export interface Gathered {
  readonly questions: QuestionSet;
  /** The API server that the objects of the cluster are from. */
  readonly api: string | undefined;
  readonly logs: readonly LogLines[];
  readonly notes: readonly string[];
}

const POD_NAMESPACE = 'default';

/** Reads every source of the options; throws a refusal for one that cannot be read. */
export async function gatherQuestions(options: CompareOptions, stdin: Readable): Promise<Gathered> {
  const { kubeconfig, api, domain, external } = options;
  const questions = new QuestionSet();
  const notes: string[] = [];
  const reader =
    kubeconfig === undefined && api === undefined ? undefined : new ApiReader({ kubeconfig, api });
  if (reader !== undefined) {
    const objects = await readCluster(reader);
    if (objects.services.length === 0) notes.push('the cluster has no services');
    for (const question of clusterQuestions(objects, domain)) questions.add(question);
  }
  for (const question of externalQuestions(external, POD_NAMESPACE, domain))
    questions.add(question);
  for (const file of options.questionFiles) {
    for await (const question of readQuestionFile(file, stdin)) questions.add(question);
  }
  const logs: LogLines[] = [];
  for (const file of options.logs) {
    logs.push(await readQueryLog(file, stdin, (question) => questions.add(question)));
  }
  for (const log of logs) notes.push(logNote(log));
  if (questions.leftOut > 0)
    notes.push(`${questions.leftOut} questions exceed the limit and are left out`);
  return { questions, api: reader?.server, logs, notes };
}

function logNote({ file, lines, questions, others, strangers }: LogLines): string {
  return (
    `${file}: ${lines} lines: ${questions} with a question, ` +
    `${others} without one, ${strangers} are not of a query log`
  );
}

const TYPES = ['A', 'AAAA'] as const;

/**
 * The questions of a pod for an external name: with `ndots:5` first those with the search suffixes that the
 * kubelet writes into its resolv.conf, then the name itself.
 */
function* externalQuestions(
  names: readonly string[],
  namespace: string,
  zone: string,
): Generator<Question> {
  const suffixes = [`.${namespace}.svc.${zone}`, `.svc.${zone}`, `.${zone}`, ''];
  for (const name of names) {
    for (const suffix of suffixes) {
      for (const type of TYPES) yield { name: name + suffix, type, kind: 'external' };
    }
  }
}

/**
 * The questions of a file in the format of dnsperf: a name and a type per line, names absolute, comments
 * after `;` or `#`. Throws a refusal that names a malformed line.
 */
async function* readQuestionFile(file: string, stdin: Readable): AsyncGenerator<Question> {
  let number = 0;
  for await (const line of textLines('question file', file, stdin)) {
    number++;
    const text = line.replace(/(^|\s)[;#].*$/, '').trim();
    if (text === '') continue;
    const [name = '', type = '', ...rest] = text.split(/\s+/);
    const question = rest.length === 0 ? readQuestion(name, type, 'given') : undefined;
    if (question === undefined) {
      const shown = JSON.stringify(text.slice(0, 80));
      throw refusal(`${file}: line ${number}: ${shown} is not a name and a record type`);
    }
    yield question;
  }
}

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
async function readQueryLog(
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

/** The lines of a file (`-` is stdin), read piece by piece; throws a refusal that names it. */
async function* textLines(what: string, file: string, stdin: Readable): AsyncGenerator<string> {
  const lines: string[] = [];
  const splitter = new LineSplitter((line) => lines.push(line));
  const input = file === '-' ? stdin : createReadStream(file);
  try {
    for await (const chunk of input) {
      splitter.push(chunk as Buffer);
      yield* lines.splice(0);
    }
  } catch (cause) {
    throw refusal(`cannot read the ${what} ${file}: ${reasonOf(cause)}`, { cause });
  }
  splitter.end();
  yield* lines;
}
