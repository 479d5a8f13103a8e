import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, createReadStream, openSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import {
  becomesTrue,
  type Closable,
  type Command,
  type CommandContext,
  type CorePlan,
  cpuUsage,
  Dnsmasq,
  numberOption,
  type OptionValues,
  Owned,
  pinProcess,
  type Remote,
  TemporaryFolder,
  textOption,
  until,
  usageSince,
  nodeFlagsOf,
} from '@kube-dns/testkit';
import { RCODE } from '@kube-dns/wire';
import type { OpenLoopMethods } from '../dns/open-loop.js';
import { startOpenLoop } from '../load/run-contest.js';
import { Series } from '../load/scores.js';
import type { Programs } from '../load/testbed.js';
import { encodeQuestionFile, inRandomOrder, namesBelow } from '../queries.js';
import { describeTools, LOAD_OPTIONS, programsOf } from './command.js';

/** What was read of a log since the last time. */
interface ReadLines {
  readonly lines: number;
  /** Lines that are no JSON. */
  readonly broken: number;
}

const LINE_FEED = 0x0a;
const BEHIND_MS = 20_000;

/** A process that reads a pipe, as a container runtime does, into a file. */
class LineReader implements Closable {
  readonly #folder = new TemporaryFolder();
  /** Where the program that is measured writes to. */
  readonly pipe = join(this.#folder.path, 'pipe');
  readonly #file = this.#folder.file('lines', '');
  readonly #child: ChildProcess;

  constructor() {
    execFileSync('mkfifo', [this.pipe]);
    const file = openSync(this.#file, 'a');
    this.#child = spawn('cat', [this.pipe], { stdio: ['ignore', file, 'ignore'] });
    closeSync(file);
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /**
   * Counts the lines that it has, and forgets them; none may be written meanwhile. It has less CPU time than the program
   * that writes, so those in the pipe are waited for: as many as `expected`, if they come.
   */
  async take(expected: number): Promise<ReadLines> {
    await becomesTrue(() => this.#count() >= expected, { limitMs: BEHIND_MS });
    let [lines, broken] = [0, 0];
    for await (const line of createInterface({ input: createReadStream(this.#file) })) {
      lines++;
      try {
        JSON.parse(line);
      } catch {
        broken++;
      }
    }
    truncateSync(this.#file);
    return { lines, broken };
  }

  #count(): number {
    return readFileSync(this.#file).filter((byte) => byte === LINE_FEED).length;
  }

  async close(): Promise<void> {
    const ended = once(this.#child, 'exit');
    if (this.#child.exitCode === null && this.#child.kill('SIGKILL')) await ended;
    await this.#folder.close();
  }
}

interface LogLoad {
  readonly programs: Programs;
  readonly cores: CorePlan | undefined;
  readonly owned: Owned;
  readonly engine: string;
  readonly rules: string;
  /** As `encodeQuestionFile` has them. */
  readonly questions: Uint8Array;
  readonly seconds: number;
  readonly rate: number;
}

const SOCKETS = 4;
const ADDRESS = '192.0.2.1';
const P99_SLOWDOWN = 0.1;

interface Pace {
  readonly queriesPerSecond: number;
  readonly p99Ms: number;
  readonly lost: number;
  readonly cpuUs: number;
  readonly sentInTimePercent: number;
}

/** Two dnsmasq, one of which writes a query log to a pipe. */
class LogTestbed {
  readonly #load: LogLoad;
  readonly #openLoop: Remote<OpenLoopMethods>;
  readonly #reader: LineReader;
  readonly #quiet: Dnsmasq;
  readonly #logging: Dnsmasq;

  private constructor(
    load: LogLoad,
    openLoop: Remote<OpenLoopMethods>,
    reader: LineReader,
    { quiet, logging }: { readonly quiet: Dnsmasq; readonly logging: Dnsmasq },
  ) {
    this.#load = load;
    this.#openLoop = openLoop;
    this.#reader = reader;
    this.#quiet = quiet;
    this.#logging = logging;
  }

  static async start(load: LogLoad): Promise<LogTestbed> {
    const { programs, cores, owned, engine, rules } = load;
    const reader = owned.add(new LineReader());
    await pinProcess(reader.pid, cores?.load);
    const start = async (flags: readonly string[], redirection: string) => {
      const { node, dnsmasq: program, dnsmasqFlags } = programs;
      const dnsmasq = await Dnsmasq.start({
        node,
        nodeFlags: nodeFlagsOf('dnsmasq', programs.nodeFlags),
        program,
        redirection,
        nannyFlags: [...dnsmasqFlags, ...flags],
        args: [`--address=/#/${ADDRESS}`, `--udp-engine=${engine}`],
      });
      owned.add(dnsmasq);
      await dnsmasq.ready();
      await pinProcess(dnsmasq.server.pid, cores?.server);
      return dnsmasq;
    };
    const quiet = await start([], '');
    const logging = await start([`--query-log=${rules}`], `>${reader.pipe}`);
    // The reader of the log has the same core.
    const openLoop = await startOpenLoop(owned, cores, true);
    return new LogTestbed(load, openLoop, reader, { quiet, logging });
  }

  /** One pair of loads; `isFirst` says which of the two begins. */
  async measure(series: Series | undefined, isFirst: boolean): Promise<void> {
    const first = isFirst ? await this.#pace(this.#logging) : undefined;
    const without = await this.#pace(this.#quiet);
    const beside = first ?? (await this.#pace(this.#logging));
    const read = await this.#readLines();
    if (series === undefined) return;
    const inTime = Math.min(without.sentInTimePercent, beside.sentInTimePercent);
    series.add('questions sent in time', inTime, { unit: '%', digits: 1 });
    const ms = { unit: 'ms', digits: 3 };
    const us = { unit: 'µs/query', digits: 2 };
    series.add('queries/s without', without.queriesPerSecond, { unit: 'queries/s' });
    series.add('queries/s with', beside.queriesPerSecond, { unit: 'queries/s' });
    series.add('p99 without', without.p99Ms, ms);
    series.add('p99 with', beside.p99Ms, ms);
    series.add('p99, with / without', beside.p99Ms / without.p99Ms, {
      unit: '×',
      digits: 3,
      bar: { atMost: 1 + P99_SLOWDOWN },
    });
    series.add('CPU without', without.cpuUs, us);
    series.add('CPU with', beside.cpuUs, us);
    series.add('lost answers without', without.lost, { unit: '' });
    series.add('lost answers with', beside.lost, { unit: '', bar: { atMost: 0 }, judged: 'max' });
    series.add('lines', read.lines, { unit: '', bar: { atLeast: 1 } });
    series.add('lines dropped', read.dropped, { unit: '' });
    const none = { unit: '', bar: { atMost: 0 }, judged: 'max' } as const;
    series.add('lines that are no JSON', read.broken, none);
    series.add('answers without a line that is counted', read.missing, none);
  }

  async #pace({ server, ports }: Dnsmasq): Promise<Pace> {
    const { questions, seconds, rate } = this.#load;
    const before = cpuUsage(server.pid);
    const plan = { port: ports.dns, rate, seconds, sockets: SOCKETS, questions };
    const result = await this.#openLoop.call('run', { ...plan, rcodes: [RCODE.NOERROR] });
    const { userMs, systemMs } = usageSince(before, cpuUsage(server.pid));
    server.check();
    const { answered, unanswered, answers, sentInTimePercent } = result;
    return {
      queriesPerSecond: answered / seconds,
      p99Ms: answers.p99Ms,
      lost: unanswered,
      cpuUs: (1_000 * (userMs + systemMs)) / answered,
      sentInTimePercent,
    };
  }

  #counted = { answers: 0, lines: 0, dropped: 0 };

  /** Waits until each answer since the last time has a line or is counted as dropped. */
  async #readLines() {
    const before = this.#counted;
    await until(
      async () => {
        this.#counted = await this.#counts();
        const { answers, lines, dropped } = this.#counted;
        return lines + dropped === answers;
      },
      { limitMs: 20_000 },
    ).catch(() => undefined);
    const written = this.#counted.lines - before.lines;
    const { lines, broken } = await this.#reader.take(written);
    const dropped = this.#counted.dropped - before.dropped;
    const missing = Math.abs(this.#counted.answers - before.answers - lines - dropped);
    return { lines, broken, dropped, missing };
  }

  async #counts() {
    const page = await this.#logging.metrics();
    return {
      answers: page.sum('dnsmasq_answers_by_source_total'),
      lines: page.sum('dnsmasq_query_log_lines_total'),
      dropped: page.sum('dnsmasq_query_log_dropped_lines_total'),
    };
  }
}

const OPTIONS = {
  runs: numberOption(7, 'pairs of loads with the log and without', { min: 1, max: 100 }),
  seconds: numberOption(2, 'seconds of each load', { min: 0.1, max: 60, isWhole: false }),
  rate: numberOption(100_000, 'queries a second, whatever is answered', { min: 1 }),
  engine: textOption(
    'auto',
    'NAME',
    'UDP engine of the dnsmasq that is measured: auto, batch, dgram',
  ),
  rules: textOption('json,sample=1', 'RULES', 'value of --query-log, which must be JSON'),
  names: numberOption(2_000, 'different names', { min: 10, max: 10_000 }),
  ...LOAD_OPTIONS,
};

type Values = OptionValues<typeof OPTIONS>;

async function run(values: Values, { report, owned, progress }: CommandContext): Promise<void> {
  const { runs, seconds, rate, engine, rules, names } = values;
  const programs = programsOf({ ...values, alone: true, 'real-dnsmasq': undefined });
  const cores = await describeTools(programs, report);
  const own = owned.add(new Owned());
  const questions = encodeQuestionFile(inRandomOrder(namesBelow('example', names)));
  const load = { programs, cores, owned: own, engine, rules, questions, seconds, rate };
  const testbed = await LogTestbed.start(load);
  progress('warm-up');
  await testbed.measure(undefined, true);
  const series = new Series();
  for (let i = 1; i <= runs; i++) {
    progress(`run ${i} of ${runs}`);
    await testbed.measure(series, i % 2 === 0);
  }
  series.addTo(report, `--query-log=${rules}, ${rate} queries a second`);
  report.note(
    'Each pair has the same load with the log and without, in turn one or the other first.',
  );
  await own.close();
}

/** What a query log of every answer costs dnsmasq under load, and whether it is whole. */
export const QUERY_LOG: Command<typeof OPTIONS> = {
  name: 'query-log',
  summary: 'dnsmasq with a line per answer and without: latency, CPU, lost answers, lines',
  options: OPTIONS,
  format: 'markdown',
  run,
};
