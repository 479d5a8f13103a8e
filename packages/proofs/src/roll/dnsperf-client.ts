import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Closable, MeasureError } from '@kube-dns/bench';
import { encodeQuery } from '@kube-dns/wire';
import { percentile } from '../soak/answer-book.js';
import { askOnce } from './ask-once.js';
import { rightRcode } from './roll-questions.js';

/** How dnsperf asks. */
export interface DnsperfClientOptions {
  readonly port: number;
  readonly questions: readonly string[];
  readonly queriesPerSecond: number;
  /** Sockets, each a flow of its own. */
  readonly sockets: number;
  /** After so long a query is lost, and asked once more. */
  readonly timeoutSeconds: number;
  /** A folder for its data file. */
  readonly folder: string;
}

/** What became of the queries of a phase. */
export interface DnsperfPhase {
  readonly answered: number;
  readonly wrong: number;
  /** Not answered within the time at the first try. */
  readonly firstTryLost: number;
  /** Not answered at the second try either. */
  readonly lost: number;
  /** Of answers to first tries, in ms. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly examples: readonly string[];
}

const HARD_LIMIT_SECONDS = 3_600;
/** More than what is lost while a pod is away for the whole time-out, so that its rate never falls. */
const OUTSTANDING_SECONDS = 1.5;
const MAX_EXAMPLES = 5;
const RCODES = ['NOERROR', 'FORMERR', 'SERVFAIL', 'NXDOMAIN', 'NOTIMP', 'REFUSED'] as const;
const RCODE_MASK = 0x0f;
const MS = 1_000;

/**
 * dnsperf with `-v`, which tells of each query as soon as it is answered or given up. What it gives up is
 * asked once more at that moment, from a port of its own, as a resolver's second try.
 */
export class DnsperfClient implements Closable {
  readonly #options: DnsperfClientOptions;
  readonly #child: ChildProcess;
  readonly #retries = new Set<Promise<void>>();
  #rest = '';
  #errors = '';
  #counts = { answered: 0, wrong: 0, firstTryLost: 0, lost: 0 };
  #latenciesMs: number[] = [];
  #examples: string[] = [];
  #isEnding = false;

  /** Starts it. */
  constructor(options: DnsperfClientOptions) {
    this.#options = options;
    const { port, queriesPerSecond, sockets, timeoutSeconds, folder } = options;
    const file = join(folder, 'questions');
    writeFileSync(file, `${options.questions.join('\n')}\n`);
    const outstanding = Math.ceil(queriesPerSecond * timeoutSeconds * OUTSTANDING_SECONDS);
    const flags = {
      '-s': '127.0.0.1',
      '-p': port,
      '-d': file,
      '-c': sockets,
      '-q': Math.min(outstanding, 60_000),
      '-t': timeoutSeconds,
      '-Q': queriesPerSecond,
      '-b': 4_096,
      '-l': HARD_LIMIT_SECONDS,
    };
    const args = Object.entries(flags).flatMap(([flag, value]) => [flag, String(value)]);
    this.#child = spawn('dnsperf', [...args, '-v'], { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#read(text));
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#errors = (this.#errors + text).slice(-MS);
    });
    this.#child.once('error', (error) => (this.#errors = error.message));
  }

  /** Throws a MeasureError when it has ended by itself, or is not installed. */
  check(): void {
    const { exitCode, pid } = this.#child;
    if (pid !== undefined && exitCode === null) return;
    throw new MeasureError(`dnsperf does not run: ${this.#errors.trim()}`);
  }

  /** What became of the queries since the last look. */
  take(): DnsperfPhase {
    const sorted = Float64Array.from(this.#latenciesMs).sort();
    const phase = {
      ...this.#counts,
      p50Ms: percentile(sorted, 0.5),
      p99Ms: percentile(sorted, 0.99),
      examples: this.#examples,
    };
    this.#counts = { answered: 0, wrong: 0, firstTryLost: 0, lost: 0 };
    this.#latenciesMs = [];
    this.#examples = [];
    return phase;
  }

  /** Ends it, and waits for the second tries that are under way. What it has under way then is nobody's. */
  async finish(): Promise<void> {
    this.#isEnding = true;
    await this.close();
    await Promise.all(this.#retries);
  }

  async close(): Promise<void> {
    const { exitCode, signalCode, pid } = this.#child;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    const exit = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exit;
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line.startsWith('> ')) this.#readQuery(line);
    }
  }

  /** `> RCODE NAME TYPE SECONDS`, or `> T NAME TYPE` of what was given up. */
  #readQuery(line: string): void {
    const [, rcode = '', name = '', , seconds] = line.split(' ');
    if (rcode === 'T') {
      if (this.#isEnding) return;
      this.#counts.firstTryLost++;
      const retry = this.#retry(name).finally(() => this.#retries.delete(retry));
      this.#retries.add(retry);
      return;
    }
    this.#judge(name, rcode);
    this.#latenciesMs.push(Number(seconds) * MS);
  }

  async #retry(name: string): Promise<void> {
    const { port, timeoutSeconds } = this.#options;
    const query = encodeQuery({ id: 1, name, type: 'A' });
    const answer = await askOnce(port, query, timeoutSeconds * MS);
    if (answer === undefined) {
      this.#counts.lost++;
      this.#remember(`no answer at the second try: ${name}`);
      return;
    }
    this.#judge(name, RCODES[answer[3]! & RCODE_MASK] ?? '?');
  }

  #judge(name: string, rcode: string): void {
    if (rcode === rightRcode(name)) {
      this.#counts.answered++;
      return;
    }
    this.#counts.wrong++;
    this.#remember(`${name}: ${rcode}`);
  }

  #remember(example: string): void {
    if (this.#examples.length < MAX_EXAMPLES) this.#examples.push(example);
  }
}
