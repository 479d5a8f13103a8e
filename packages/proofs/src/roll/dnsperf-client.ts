import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Closable, encodeQuery, exchange, MeasureError, rcodeOf } from '@kube-dns/testkit';
import { type AnswerFigures, AnswerLog } from '../soak/checking-client.js';
import { kindOf, serviceState } from '../soak/cluster-state.js';
import { dnsName } from '../soak/questions.js';

const WORLD_NAMES = 200;
/** Names of the world with TTL 0: each question goes to a name server. */
const UNCACHED_NAMES = 40;
const MISSING_NAMES = 60;
const MISSING = 'missing-';

/** The questions that dnsperf asks over and over: lines of its data file. */
export function rollQuestions(services: number): readonly string[] {
  const names = [
    ...Array.from({ length: services }, (_, i) => i)
      .filter((i) => kindOf(i) === 'address')
      .map((i) => dnsName(serviceState(i, 0))),
    ...Array.from({ length: WORLD_NAMES }, (_, i) => `w${i}.t300.world.test`),
    ...Array.from({ length: UNCACHED_NAMES }, (_, i) => `u${i}.t0.world.test`),
    // Kept in dnsmasq's cache while kubedns announces what changes (--negcache=push), else asked of kubedns each time.
    ...Array.from({ length: MISSING_NAMES }, (_, i) => `${MISSING}${i}.default.svc.cluster.local`),
  ];
  return interleaved(names).map((name) => `${name} A`);
}

/** The right answer to one of them. */
export function rightRcode(name: string): 'NOERROR' | 'NXDOMAIN' {
  return name.startsWith(MISSING) ? 'NXDOMAIN' : 'NOERROR';
}

/** The kinds among each other, in the same order each time: steps that have no divisor with the length. */
function interleaved(names: readonly string[]): readonly string[] {
  let step = Math.floor(names.length * 0.618);
  while (divisor(step, names.length) !== 1) step++;
  return names.map((_, i) => names[(i * step) % names.length]!);
}

function divisor(a: number, b: number): number {
  return b === 0 ? a : divisor(b, a % b);
}

/** A query that dnsperf has done with. */
interface DnsperfLine {
  readonly name: string;
  /** Undefined when no answer came in time. */
  readonly rcode: string | undefined;
  /** Time to the answer; NaN without one. */
  readonly ms: number;
}

const GIVEN_UP = 'T';

/** Takes what dnsperf prints with `-v` apart, in whatever pieces it comes. */
export class DnsperfLines {
  #rest = '';

  /** The queries whose lines are complete now; what else it prints is left out. */
  push(text: string): readonly DnsperfLine[] {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    return lines.filter((line) => line.startsWith('> ')).map(readLine);
  }
}

/** `> RCODE NAME TYPE SECONDS`, or `> T NAME TYPE`. */
function readLine(line: string): DnsperfLine {
  const [, rcode = '', name = '', , seconds] = line.split(' ');
  return { name, rcode: rcode === GIVEN_UP ? undefined : rcode, ms: Number(seconds) * 1_000 };
}

/** How dnsperf asks. */
interface DnsperfClientOptions {
  readonly port: number;
  readonly questions: readonly string[];
  readonly queriesPerSecond: number;
  /** Sockets, each a separate flow. */
  readonly sockets: number;
  /** After this time a query is lost, and asked once more. */
  readonly timeoutSeconds: number;
  /** A folder for its data file. */
  readonly folder: string;
}

const HARD_LIMIT_SECONDS = 3_600;
/** More than what is lost while a pod is away for the whole time-out, so that its rate never falls. */
const OUTSTANDING_SECONDS = 1.5;
const MAX_ERROR_CHARACTERS = 1_000;
const MS = 1_000;

/**
 * dnsperf with `-v`, which reports each query as soon as it is answered or timed out. One that timed out is
 * asked once more at that moment, from a new port, as a resolver's second try.
 */
export class DnsperfClient implements Closable {
  readonly #options: DnsperfClientOptions;
  readonly #child: ChildProcess;
  readonly #retries = new Set<Promise<void>>();
  readonly #lines = new DnsperfLines();
  readonly #log = new AnswerLog();
  #errors = '';
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
      this.#errors = (this.#errors + text).slice(-MAX_ERROR_CHARACTERS);
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
  take(): AnswerFigures {
    return this.#log.take();
  }

  /** Ends it, and waits for the second tries that are in flight. Its own queries in flight are not counted. */
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
    for (const { name, rcode, ms } of this.#lines.push(text)) {
      // Queries in flight at the end are reported as timed out.
      if (rcode === undefined && this.#isEnding) continue;
      this.#log.asked();
      if (rcode !== undefined) this.#judge(name, rcode, ms);
      else this.#retry(name);
    }
  }

  #retry(name: string): void {
    const { port, timeoutSeconds } = this.#options;
    const limitMs = timeoutSeconds * MS;
    this.#log.firstTryLost();
    const retry = exchange(port, encodeQuery({ name }), { limitMs }).then(
      (answer) => this.#judge(name, rcodeOf(answer), limitMs),
      () => this.#log.lost(`${name}, twice`),
    );
    void retry.finally(() => this.#retries.delete(retry));
    this.#retries.add(retry);
  }

  #judge(name: string, rcode: string, ms: number): void {
    if (rcode === rightRcode(name)) this.#log.answered(ms, false);
    else this.#log.wrong(rcode, `${name}: ${rcode}`);
  }
}
