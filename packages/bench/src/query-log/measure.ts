import {
  type CorePlan,
  cpuUsage,
  Dnsmasq,
  type Owned,
  pinProcess,
  type Remote,
  until,
  usageSince,
} from '@kube-dns/testkit';
import { RCODE } from '@kube-dns/wire';
import type { OpenLoopMethods } from '../dns/open-loop.js';
import { startOpenLoop } from '../load/start-open-loop.js';
import type { Programs } from '../load/server-testbed.js';
import type { Series } from '../load/series.js';
import { LineReader } from './line-reader.js';

export interface LogLoad {
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
export class LogTestbed {
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
      const { node, nodeFlags, dnsmasq: program, dnsmasqFlags } = programs;
      const dnsmasq = await Dnsmasq.start({
        node,
        nodeFlags,
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
