import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import {
  type CorePlan,
  MeasureError,
  Owned,
  parseDnsperf,
  parseLatencies,
  pinProcess,
  Remote,
  TemporaryFolder,
} from '@kube-dns/testkit';
import { errorText } from '@kube-dns/base';
import { RCODE } from '@kube-dns/wire';
import { LatencyHistogram, type OpenLoopMethods, type OpenLoopPlan } from '../dns/open-loop.js';
import type { SingleQuestionsMethods, SingleQuestionsResult } from '../dns/single-questions.js';
import {
  type AskOptions,
  askByDnsperf,
  coldNote,
  SOCKETS,
  startOpenLoop,
  warmUp,
  type WarmUpPlan,
  WINDOW_SECONDS,
} from '../load/run-contest.js';
import { type Metrics, NO_METRICS, type Score, type Trial } from '../load/scores.js';
import { encodeQuestionFile, inRandomOrder } from '../queries.js';
import type { Contestant, Start } from './contestants.js';
import { familyUsage } from './family.js';

/** One load of a scenario. */
export interface ScenarioTrial extends Trial {
  /** Over TCP: each question has a connection of its own, as fast as it is answered. */
  readonly isSingle?: boolean;
  /** Asks for each name once before each run, so that what has expired is there again. */
  readonly isPrimed?: boolean;
  /** Each answer needs a server that may have the core of the load. */
  readonly isForwarded?: boolean;
  /** Whether it is asked as fast as it answers, and at no rate. */
  readonly isFullOnly?: boolean;
  /** It is asked one question at a time and so many each second, and never as fast as it answers. */
  readonly rates?: readonly number[];
  /** Each is started anew in every run, and asked at the first of the rates from then on. */
  readonly coldStarts?: readonly Start[];
  /** Load and servers are pinned to no core. */
  readonly isUnpinned?: boolean;
}

/** How often and how long each server has each load. */
export interface MeasurePlan {
  readonly runs: number;
  /** As fast as it answers. */
  readonly seconds: number;
  /** At each part of its own rate; 0: at none. */
  readonly partSeconds: number;
  /** At each rate that all servers have. */
  readonly rateSeconds: number;
  readonly warmUp: WarmUpPlan;
  readonly cores: CorePlan | undefined;
}

/** Parts of the rate at which a server answered as fast as it can, in per cent. */
export const PARTS = [50, 100] as const;

/** The title of a load in tables. */
export function loadTitle(trial: string, percent?: number): string {
  return percent === undefined ? trial : `${trial}, ${percent} % of its rate`;
}

/** The scenario in which all servers are asked at the same rates. */
export const LATENCY = 'latency';
/** The scenarios in which a server has several processes or threads begin so. */
export const CORES = 'cores';
const ALONE = 'one question at a time';
export const COLD_SECONDS = 10;

function rateTitle(trial: string, what: string): string {
  return `${trial}, ${what}`;
}

/** Whether all servers have had the load of this title alike. */
export function isSameForAll(title: string): boolean {
  return title.startsWith(rateTitle(LATENCY, ''));
}

interface MeasureTools {
  readonly owned: Owned;
  readonly progress: (text: string) => void;
  readonly note: (text: string) => void;
}

const PRIME_SECONDS = 5;

/** Of a warm-up without a number of passes. */
const SINGLES_SECONDS = 2;

/** Another load, which needs a connection for each question: dnsperf opens few a second. */
async function startSingles(
  owned: Owned,
  cores: CorePlan | undefined,
): Promise<Remote<SingleQuestionsMethods>> {
  const entry = new URL('../dns/single-questions.js#SingleQuestions', import.meta.url);
  const remote = owned.add(new Remote<SingleQuestionsMethods>('the TCP clients', entry));
  await pinProcess(remote.pid, cores?.load);
  return remote;
}

/** Gives each server each load in turn, run after run. The scores of one load have its title as trial. */
export async function measureAll(
  contestants: readonly Contestant[],
  trials: readonly ScenarioTrial[],
  plan: MeasurePlan,
  { owned, progress, note }: MeasureTools,
): Promise<readonly Score[]> {
  const folder = owned.add(new TemporaryFolder());
  const isShared = plan.cores !== undefined && plan.cores.load === plan.cores.upstream;
  const yields = isShared && trials.some(({ isForwarded = false }) => isForwarded);
  const hasRates = (trial: ScenarioTrial) =>
    trial.rates !== undefined || (plan.partSeconds > 0 && trial.isFullOnly !== true);
  const openLoop = trials.some(hasRates)
    ? await startOpenLoop(owned, plan.cores, yields)
    : undefined;
  const isSingle = trials.some((trial) => trial.isSingle === true);
  const singles = isSingle ? await startSingles(owned, plan.cores) : undefined;
  const loads = trials.map((trial, i) => {
    const file = join(folder.path, String(i));
    const questions = encodeQuestionFile(inRandomOrder(trial.questions));
    writeFileSync(file, questions);
    return new ScenarioLoad(trial, { file, questions, openLoop, singles }, plan, owned);
  });
  for (const load of loads) {
    for (const each of contestants.filter((one) => load.isFor(one))) {
      progress(`${load.trial.name}, warming up: ${each.name}`);
      const answers = await load.warmUp(each).catch((error: unknown) => {
        if (!(error instanceof MeasureError)) throw error;
        return 0;
      });
      const cold = coldNote(plan.warmUp, answers);
      if (cold !== undefined) note(`${load.trial.name}, ${each.name}: ${cold}`);
    }
  }
  const scores: Score[] = [];
  const measureOne = async (
    { trial: { name } }: ScenarioLoad,
    { name: subject }: Contestant,
    run: number,
    measure: () => Promise<Measured>,
  ) => {
    try {
      for (const [trial, metrics] of await measure()) scores.push({ subject, trial, run, metrics });
    } catch (error) {
      // dnsperf itself fails at some answers, and a server may end; the others are measured all the same.
      if (!(error instanceof MeasureError)) throw error;
      note(`${name}, run ${run}, ${subject}: not measured, ${errorText(error)}`);
    }
  };
  for (let run = 1; run <= plan.runs; run++) {
    for (const load of loads) {
      for (const each of contestants.filter((one) => load.isFor(one))) {
        progress(`${load.trial.name}, run ${run} of ${plan.runs}: ${each.name}`);
        await measureOne(load, each, run, () => load.measure(each));
      }
      for (const start of load.trial.coldStarts ?? []) {
        const own = owned.add(new Owned());
        for (const each of await start(own)) {
          progress(`${load.trial.name}, run ${run} of ${plan.runs}: ${each.name}, after a start`);
          await measureOne(load, each, run, () => load.measureCold(each));
        }
        await own.close();
      }
    }
  }
  return scores;
}

/** What asks the questions of a trial. */
interface LoadSource {
  readonly file: string;
  readonly questions: Uint8Array;
  readonly openLoop: Remote<OpenLoopMethods> | undefined;
  readonly singles: Remote<SingleQuestionsMethods> | undefined;
}

/** The metrics by the title of the load. */
type Measured = readonly (readonly [string, Metrics])[];

/** What a server answered, and the CPU time that it took. */
type CpuMetrics = Pick<Metrics, 'userUs' | 'systemUs' | 'cpuUs' | 'busiestPercent'>;

class ScenarioLoad {
  readonly trial: ScenarioTrial;
  readonly #source: LoadSource;
  readonly #plan: MeasurePlan;
  readonly #owned: Owned;

  constructor(trial: ScenarioTrial, source: LoadSource, plan: MeasurePlan, owned: Owned) {
    this.trial = trial;
    this.#source = source;
    this.#plan = plan;
    this.#owned = owned;
  }

  isFor({ trials }: Contestant): boolean {
    return trials?.includes(this.trial.name) ?? true;
  }

  /** Returns the number of answers. */
  async warmUp(each: Contestant): Promise<number> {
    const { isSingle = false } = this.trial;
    const ask = async (seconds: number, passes: number | undefined) => {
      if (isSingle)
        return (await this.#askSingly(each, Math.min(seconds, SINGLES_SECONDS))).answered;
      const limits = { seconds, ...(passes !== undefined && { passes }) };
      return parseDnsperf(await this.#dnsperf(each, limits)).completed;
    };
    return warmUp(ask, this.#plan.warmUp, { questions: this.trial.questions.length });
  }

  /** As fast as it answers, then at parts of that rate; or at the rates of the trial. */
  async measure(each: Contestant): Promise<Measured> {
    const { rates } = this.trial;
    if (rates !== undefined) return this.#atRates(each, rates);
    const { name, isPrimed = false, isFullOnly = false } = this.trial;
    const { isOverTcp = false, isSingle = false } = this.trial;
    if (isPrimed) await this.#dnsperf(each, { seconds: PRIME_SECONDS, passes: 1 });
    const full = isSingle ? await this.#singly(each) : await this.#atFullSpeed(each);
    each.check();
    const measured: (readonly [string, Metrics])[] = [[loadTitle(name), full]];
    const isKnown = full.queriesPerSecond >= 1;
    if (isFullOnly || this.#plan.partSeconds === 0 || !isKnown) return measured;
    for (const percent of PARTS) {
      const rate = (full.queriesPerSecond * percent) / 100;
      const seconds = this.#plan.partSeconds;
      const metrics = isOverTcp
        ? await this.#byDnsperf(each, { seconds, perSecond: Math.max(1, Math.round(rate)) })
        : await this.#openly(each, { rate, seconds });
      measured.push([loadTitle(name, percent), metrics]);
      each.check();
    }
    return measured;
  }

  async #atRates(each: Contestant, rates: readonly number[]): Promise<Measured> {
    const { name } = this.trial;
    const seconds = this.#plan.rateSeconds;
    const alone = await this.#byDnsperf(each, { seconds, clients: 1, outstanding: 1 });
    const measured: (readonly [string, Metrics])[] = [[rateTitle(name, ALONE), alone]];
    for (const rate of rates) {
      const title = rateTitle(name, `${rate} questions a second`);
      measured.push([title, await this.#openly(each, { rate, seconds }, WINDOW_SECONDS)]);
      each.check();
    }
    return measured;
  }

  /** From the moment it serves. */
  async measureCold(each: Contestant): Promise<Measured> {
    const { name, rates: [rate = 0] = [] } = this.trial;
    const title = rateTitle(name, `${rate} a second in the first ${COLD_SECONDS} s`);
    const metrics = await this.#openly(each, { rate, seconds: COLD_SECONDS });
    each.check();
    return [[title, metrics]];
  }

  async #atFullSpeed(each: Contestant): Promise<Metrics> {
    const seen = this.#cpuMeter(each);
    const output = await this.#dnsperf(each, { seconds: this.#plan.seconds });
    const { completed, ...result } = parseDnsperf(output);
    return { ...this.#dnsperfMetrics({ completed, ...result }), ...seen(completed) };
  }

  async #singly(each: Contestant): Promise<Metrics> {
    const seen = this.#cpuMeter(each);
    const result = await this.#askSingly(each, this.#plan.seconds);
    const { answered, sent, wrong, elapsedMs, answers } = result;
    const { p50Ms, p99Ms, p999Ms } = answers;
    const answeredPercent = (100 * answered) / sent;
    const queriesPerSecond = (1_000 * answered) / elapsedMs;
    const known = { queriesPerSecond, answeredPercent, wrong, p50Ms, p99Ms, p999Ms };
    return { ...NO_METRICS, ...seen(answered), ...known };
  }

  #askSingly({ port }: Contestant, seconds: number): Promise<SingleQuestionsResult> {
    const { singles, questions } = this.#source;
    if (singles === undefined) throw new MeasureError('the TCP clients were not started');
    const { sockets: connections = SOCKETS, rcodes: names } = this.trial;
    const rcodes = names.map((name) => RCODE[name]);
    return singles.call('run', { port, seconds, connections, questions, rcodes });
  }

  #dnsperfMetrics({
    queriesPerSecond,
    sent,
    completed,
    rcodes,
    answerBytes,
  }: ReturnType<typeof parseDnsperf>): Metrics {
    const right = this.trial.rcodes.reduce((sum, rcode) => sum + (rcodes[rcode] ?? 0), 0);
    const answeredPercent = (100 * completed) / sent;
    const wrong = completed - right;
    return { ...NO_METRICS, queriesPerSecond, answeredPercent, wrong, answerBytes };
  }

  /** dnsperf waits for answers once 200 questions are outstanding, or as many as it may have: a closed loop. */
  async #byDnsperf(each: Contestant, options: AskOptions): Promise<Metrics> {
    const seen = this.#cpuMeter(each);
    const output = await this.#dnsperf(each, { ...options, printsLatencies: true });
    const result = parseDnsperf(output);
    const cpu = seen(result.completed);
    const times = new LatencyHistogram();
    for (const ms of parseLatencies(output)) times.add(ms);
    const { p50Ms, p99Ms, p999Ms } = times.percentiles();
    const metrics = this.#dnsperfMetrics(result);
    const openAnsweredPercent = metrics.answeredPercent;
    return { ...metrics, ...cpu, p50Ms, p99Ms, p999Ms, openAnsweredPercent };
  }

  async #openly(
    each: Contestant,
    { rate, seconds }: Pick<OpenLoopPlan, 'rate' | 'seconds'>,
    windowSeconds?: number,
  ): Promise<Metrics> {
    const { openLoop, questions } = this.#source;
    if (openLoop === undefined) return NO_METRICS;
    const { sockets = SOCKETS, rcodes: names } = this.trial;
    const rcodes = names.map((name) => RCODE[name]);
    const seen = this.#cpuMeter(each);
    const load = { port: each.port, rate, seconds, sockets, questions, rcodes };
    const windows = windowSeconds === undefined ? {} : { windowSeconds };
    const result = await openLoop.call('run', { ...load, ...windows });
    const { answers, answered, sent, wrong, ownDelays, sentInTimePercent } = result;
    const { repeatedPercent } = result;
    // Those of windows that do not count have cost CPU time, too.
    const all = answered / (1 - repeatedPercent / 100);
    return {
      ...NO_METRICS,
      ...seen(all),
      queriesPerSecond: answered / seconds,
      p50Ms: answers.p50Ms,
      p99Ms: answers.p99Ms,
      p999Ms: answers.p999Ms,
      openAnsweredPercent: (100 * answered) / sent,
      ownP999Ms: ownDelays.p999Ms,
      repeatedPercent,
      sentInTimePercent,
      wrong,
    };
  }

  #dnsperf(each: Contestant, options: AskOptions): Promise<string> {
    const core = this.trial.isUnpinned === true ? undefined : this.#plan.cores?.load;
    const place = { file: this.#source.file, owned: this.#owned, core };
    return askByDnsperf(each, this.trial, place, options);
  }

  /** From now on; the function it returns divides what was used since then by the number of answers. */
  #cpuMeter({ pids }: Contestant): (answers: number) => CpuMetrics {
    const before = familyUsage(pids);
    return (answers) => {
      const now = familyUsage(pids);
      if (answers === 0) return NO_METRICS;
      const [userMs, systemMs] = [now.userMs - before.userMs, now.systemMs - before.systemMs];
      const threadMs = [...now.threadMs].map(
        ([thread, ms]) => ms - (before.threadMs.get(thread) ?? 0),
      );
      const runMs = threadMs.reduce((sum, ms) => sum + ms, 0);
      // A server may have a process for each connection, which has ended.
      const isExact = this.trial.isOverTcp !== true && runMs > 0;
      const cpuUs = (1_000 * (isExact ? runMs : userMs + systemMs)) / answers;
      const userUs = (cpuUs * userMs) / (userMs + systemMs);
      const busiestPercent = (100 * Math.max(...threadMs)) / runMs;
      return { userUs, systemUs: cpuUs - userUs, cpuUs, busiestPercent };
    };
  }
}
