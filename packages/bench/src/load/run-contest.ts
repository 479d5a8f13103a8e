import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type CorePlan,
  cpuUsage,
  type DnsperfOptions,
  dnsperfOutput,
  type Owned,
  parseDnsperf,
  parseLatencies,
  rssBytes,
  spreadOf,
  TemporaryFolder,
  usageSince,
} from '@kube-dns/testkit';
import { encodeQuestionFile, inRandomOrder } from '../queries/question-file.js';
import type { Contest, Metrics, Score, Subject, Trial } from './contest.js';

/** How often and how long each subject runs each trial. */
export interface LoadPlan {
  readonly runs: number;
  /** As fast as it answers. */
  readonly seconds: number;
  /** At the fixed rate; 0 leaves both latencies out. */
  readonly latencySeconds: number;
  readonly singleSeconds: number;
  /** Before the first run. */
  readonly warmUpSeconds: number;
  /** Queries each second of the fixed rate. */
  readonly perSecond: number;
  readonly cores: CorePlan | undefined;
}

/** What a contest starts programs with. */
export interface ContestContext {
  readonly owned: Owned;
  readonly progress: (text: string) => void;
}

const MIB = 2 ** 20;

/**
 * Gives every subject each trial in turn, run after run: what drifts, drifts for all. Closing `owned`
 * ends the work in progress.
 */
export async function runContest(
  { subjects, trials }: Contest,
  plan: LoadPlan,
  { owned, progress }: ContestContext,
): Promise<readonly Score[]> {
  const folder = owned.add(new TemporaryFolder());
  const loads = trials.map((trial, i) => {
    const file = join(folder.path, String(i));
    writeFileSync(file, encodeQuestionFile(inRandomOrder(trial.questions)));
    return new Load(trial, file, plan, owned);
  });
  for (const load of loads) {
    for (const subject of subjects) {
      progress(`warming up: ${load.trial.name}, ${subject.name}`);
      await load.warmUp(subject);
    }
  }
  const scores: Score[] = [];
  for (let run = 1; run <= plan.runs; run++) {
    for (const load of loads) {
      for (const subject of subjects) {
        progress(`run ${run} of ${plan.runs}: ${load.trial.name}, ${subject.name}`);
        const metrics = await load.measure(subject);
        scores.push({ subject: subject.name, trial: load.trial.name, run, metrics });
      }
    }
  }
  return scores;
}

/** One trial, ready for every subject. */
class Load {
  readonly trial: Trial;
  readonly #file: string;
  readonly #plan: LoadPlan;
  readonly #owned: Owned;

  constructor(trial: Trial, file: string, plan: LoadPlan, owned: Owned) {
    this.trial = trial;
    this.#file = file;
    this.#plan = plan;
    this.#owned = owned;
  }

  async warmUp(subject: Subject): Promise<void> {
    const { warmUpSeconds } = this.#plan;
    if (warmUpSeconds > 0) await this.#ask(subject, { seconds: warmUpSeconds });
  }

  async measure(subject: Subject): Promise<Metrics> {
    const { pid } = subject;
    const before = cpuUsage(pid);
    const output = await this.#ask(subject, { seconds: this.#plan.seconds });
    const used = usageSince(before, cpuUsage(pid));
    subject.check();
    const { queriesPerSecond, sent, completed, rcodes, answerBytes } = parseDnsperf(output);
    const right = this.trial.rcodes.reduce((sum, rcode) => sum + (rcodes[rcode] ?? 0), 0);
    const factor = subject.isOneProcess || this.trial.isOverTcp !== true ? 1 : Number.NaN;
    const perQuery = (ms: number) => (factor * 1_000 * ms) / completed;
    return {
      queriesPerSecond,
      userUs: perQuery(used.userMs),
      systemUs: perQuery(used.systemMs),
      cpuUs: perQuery(used.userMs + used.systemMs),
      rssMib: (factor * rssBytes(pid)) / MIB,
      ...(await this.#latencies(subject)),
      answeredPercent: (100 * completed) / sent,
      wrong: completed - right,
      answerBytes,
    };
  }

  async #latencies(subject: Subject): Promise<Pick<Metrics, 'p50Ms' | 'p99Ms' | 'singleUs'>> {
    const { latencySeconds, singleSeconds, perSecond } = this.#plan;
    if (latencySeconds === 0 || this.trial.isOverTcp === true) {
      return { p50Ms: Number.NaN, p99Ms: Number.NaN, singleUs: Number.NaN };
    }
    const steady = await this.#times(subject, { seconds: latencySeconds, perSecond });
    const one = { clients: 1, outstanding: 1 };
    const single = await this.#times(subject, { seconds: singleSeconds, ...one });
    return { p50Ms: steady.p50, p99Ms: steady.p99, singleUs: single.p50 * 1_000 };
  }

  async #times(subject: Subject, options: Omit<DnsperfOptions, 'file' | 'owned'>) {
    return spreadOf(
      parseLatencies(await this.#ask(subject, { ...options, printsLatencies: true })),
    );
  }

  #ask(subject: Subject, options: Omit<DnsperfOptions, 'file' | 'owned'>): Promise<string> {
    const { cores } = this.#plan;
    return dnsperfOutput(
      { host: '127.0.0.1', port: subject.port },
      {
        ...options,
        file: this.#file,
        isBinary: true,
        isOverTcp: this.trial.isOverTcp ?? false,
        core: cores?.load,
        owned: this.#owned,
      },
    );
  }
}
