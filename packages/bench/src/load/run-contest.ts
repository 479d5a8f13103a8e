import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import {
  type CorePlan,
  cpuUsage,
  type DnsperfOptions,
  dnsperfOutput,
  monotonicMs,
  type Owned,
  parseDnsperf,
  parseLatencies,
  pinProcess,
  type ProcessUsage,
  Remote,
  rssBytes,
  spreadOf,
  TemporaryFolder,
  usageSince,
} from '@kube-dns/testkit';
import { RCODE } from '@kube-dns/wire';
import type { OpenLoopMethods } from '../dns/open-loop.js';
import { encodeQuestionFile, inRandomOrder } from '../queries.js';
import {
  type Contest,
  type Metrics,
  NO_METRICS,
  type Score,
  type Subject,
  type Trial,
} from './scores.js';

/** What a process answers before it is measured. */
export interface WarmUpPlan {
  /** At least; 0: there is no warm-up. */
  readonly seconds: number;
  /** At least: a compiler in the process counts calls and not seconds. */
  readonly answers: number;
}

/** Asks for so long, with each question at most so often; returns the number of answers. */
type Ask = (seconds: number, passes: number | undefined) => Promise<number>;

/** It ends then, however few were answered. */
const LIMIT_SECONDS = 20;

/** Returns how many answers the process has given, with those `before`. */
export async function warmUp(
  ask: Ask,
  plan: WarmUpPlan,
  { questions, before = 0 }: { readonly questions: number; readonly before?: number },
  now: () => number = monotonicMs,
): Promise<number> {
  if (plan.seconds === 0) return before;
  const limitSeconds = Math.max(LIMIT_SECONDS, plan.seconds);
  const startMs = now();
  let answers = before + (await ask(plan.seconds, undefined));
  while (answers < plan.answers) {
    const leftSeconds = limitSeconds - (now() - startMs) / 1_000;
    if (leftSeconds <= 0) break;
    answers += await ask(leftSeconds, Math.ceil((plan.answers - answers) / questions));
  }
  return answers;
}

/** What is to be said of a process that gave too few; undefined where they were enough. */
export function coldNote(
  { seconds, answers: wanted }: WarmUpPlan,
  answers: number,
): string | undefined {
  if (seconds === 0 || answers >= wanted) return undefined;
  return `only ${answers} answers before the measurement, and not ${wanted}: what is compiled meanwhile is in its figures.`;
}

/** Its garbage is collected seldom: what it has of answers dies young. */
const LOAD_NODE_FLAGS = ['--max-semi-space-size=32'];
/** Nice: a tenth of the core where the others want all of it. */
const LOW_PRIORITY = 10;

/**
 * The open loop in its own process, on the core of the load. It never sleeps, so where something else that
 * is needed has the same core, `yields` lets that go first.
 */
export async function startOpenLoop(
  owned: Owned,
  cores: CorePlan | undefined,
  yields: boolean,
): Promise<Remote<OpenLoopMethods>> {
  const entry = new URL('../dns/open-loop.js#OpenLoop', import.meta.url);
  const options = { nodeFlags: LOAD_NODE_FLAGS };
  const remote = owned.add(new Remote<OpenLoopMethods>('the open loop', entry, options));
  await pinProcess(remote.pid, cores?.load);
  if (yields) setPriority(remote.pid, LOW_PRIORITY);
  return remote;
}

/** How often and how long each subject runs each trial. */
export interface LoadPlan {
  readonly runs: number;
  /** As fast as it answers. */
  readonly seconds: number;
  /** At the fixed rate; 0 leaves both latencies out. */
  readonly latencySeconds: number;
  readonly singleSeconds: number;
  /** Of each server with each trial, before the first run. */
  readonly warmUp: WarmUpPlan;
  /** Queries each second of the fixed rate. */
  readonly perSecond: number;
  readonly cores: CorePlan | undefined;
}

/** What a contest starts programs with. */
interface ContestContext {
  readonly owned: Owned;
  readonly progress: (text: string) => void;
  /** Takes a sentence about what was measured. */
  readonly note: (text: string) => void;
}

const MIB = 2 ** 20;
export const SOCKETS = 4;
/** Of dnsperf, as fast as the server answers; each socket has one at least. */
const IN_FLIGHT = 200;

/** What a run of dnsperf has beside its questions. */
export type AskOptions = Omit<DnsperfOptions, 'file' | 'owned' | 'core'>;

/** Asks a server the questions of a trial, which are in a file; returns what dnsperf prints. */
export function askByDnsperf(
  { port }: Pick<Subject, 'port'>,
  { sockets = SOCKETS, isOverTcp = false }: Trial,
  place: Pick<DnsperfOptions, 'file' | 'owned' | 'core'>,
  options: AskOptions,
): Promise<string> {
  const usual = { clients: sockets, outstanding: Math.max(IN_FLIGHT, sockets) };
  const whole = { ...usual, ...options, ...place, isBinary: true, isOverTcp };
  return dnsperfOutput({ host: '127.0.0.1', port }, whole);
}

/** Of the open loop: a pause of the machine spoils a window so long and not the whole run. */
export const WINDOW_SECONDS = 0.25;

/**
 * Gives every subject each trial in turn, run after run: what drifts, drifts for all. Closing `owned`
 * ends the work in progress.
 */
export async function runContest(
  { subjects, trials }: Contest,
  plan: LoadPlan,
  { owned, progress, note }: ContestContext,
): Promise<readonly Score[]> {
  const folder = owned.add(new TemporaryFolder());
  const isShared = plan.cores !== undefined && plan.cores.load === plan.cores.upstream;
  const yields = isShared && subjects.some(({ behind }) => behind !== undefined);
  const openLoop = await startOpenLoop(owned, plan.cores, yields);
  const loads = trials.map((trial, i) => {
    const file = join(folder.path, String(i));
    const questions = encodeQuestionFile(inRandomOrder(trial.questions));
    writeFileSync(file, questions);
    return new Load(trial, { file, questions, openLoop, yields }, plan, owned);
  });
  for (const load of loads) {
    for (const subject of subjects.filter((each) => load.isFor(each))) {
      progress(`warming up: ${load.trial.name}, ${subject.name}`);
      const cold = coldNote(plan.warmUp, await load.warmUp(subject));
      if (cold !== undefined) note(`${load.trial.name}, ${subject.name}: ${cold}`);
    }
  }
  const scores: Score[] = [];
  for (let run = 1; run <= plan.runs; run++) {
    for (const load of loads) {
      for (const subject of subjects.filter((each) => load.isFor(each))) {
        progress(`run ${run} of ${plan.runs}: ${load.trial.name}, ${subject.name}`);
        const metrics = await load.measure(subject);
        scores.push({ subject: subject.name, trial: load.trial.name, run, metrics });
      }
    }
  }
  return scores;
}

/** What asks the questions of a trial. */
interface LoadSource {
  readonly file: string;
  readonly questions: Uint8Array;
  readonly openLoop: Remote<OpenLoopMethods>;
  /** Whether it leaves its core to a server, which then keeps it back in every window. */
  readonly yields: boolean;
}

/** One trial, ready for every subject. */
class Load {
  readonly trial: Trial;
  readonly #source: LoadSource;
  readonly #plan: LoadPlan;
  readonly #owned: Owned;

  constructor(trial: Trial, source: LoadSource, plan: LoadPlan, owned: Owned) {
    this.trial = trial;
    this.#source = source;
    this.#plan = plan;
    this.#owned = owned;
  }

  isFor({ isUdpOnly = false, trials }: Subject): boolean {
    const { name, isOverTcp = false } = this.trial;
    return !(isUdpOnly && isOverTcp) && (trials?.includes(name) ?? true);
  }

  /** Returns the number of answers. */
  warmUp(subject: Subject): Promise<number> {
    const ask = async (seconds: number, passes: number | undefined) => {
      const limits = { seconds, ...(passes !== undefined && { passes }) };
      return parseDnsperf(await this.#ask(subject, limits)).completed;
    };
    return warmUp(ask, this.#plan.warmUp, { questions: this.trial.questions.length });
  }

  async measure(subject: Subject): Promise<Metrics> {
    const { pid, behind, isEcho = false } = subject;
    const before = cpuUsage(pid);
    const beforeBehind = behind && cpuUsage(behind.pid);
    const output = await this.#ask(subject, { seconds: this.#plan.seconds });
    const used = usageSince(before, cpuUsage(pid));
    const behindMs =
      behind && beforeBehind ? totalMs(usageSince(beforeBehind, cpuUsage(behind.pid))) : Number.NaN;
    subject.check();
    behind?.check();
    const { queriesPerSecond, sent, completed, rcodes, answerBytes } = parseDnsperf(output);
    const right = this.trial.rcodes.reduce((sum, rcode) => sum + (rcodes[rcode] ?? 0), 0);
    const factor = subject.isOneProcess || this.trial.isOverTcp !== true ? 1 : Number.NaN;
    const perQuery = (ms: number) => (factor * 1_000 * ms) / completed;
    return {
      ...NO_METRICS,
      queriesPerSecond,
      userUs: perQuery(used.userMs),
      systemUs: perQuery(used.systemMs),
      cpuUs: perQuery(totalMs(used)),
      behindUs: perQuery(behindMs),
      togetherUs: perQuery(totalMs(used) + behindMs),
      rssMib: (factor * rssBytes(pid)) / MIB,
      ...(await this.#latencies(subject)),
      answeredPercent: (100 * completed) / sent,
      wrong: isEcho ? Number.NaN : completed - right,
      answerBytes,
    };
  }

  async #latencies(subject: Subject): Promise<Partial<Metrics>> {
    const { latencySeconds: seconds, singleSeconds, perSecond: rate } = this.#plan;
    if (seconds === 0 || this.trial.isOverTcp === true) return {};
    const { questions, openLoop, yields } = this.#source;
    const { sockets = SOCKETS, rcodes: names } = this.trial;
    const rcodes = names.map((name) => RCODE[name]);
    const load = { port: subject.port, rate, seconds, sockets, questions, rcodes };
    const windows = yields ? {} : { windowSeconds: WINDOW_SECONDS };
    const result = await openLoop.call('run', { ...load, ...windows });
    const { answers, answered, sent, ownDelays, sentInTimePercent, repeatedPercent } = result;
    const one = { clients: 1, outstanding: 1, printsLatencies: true };
    const single = await this.#ask(subject, { seconds: singleSeconds, ...one });
    return {
      p50Ms: answers.p50Ms,
      p99Ms: answers.p99Ms,
      p999Ms: answers.p999Ms,
      openAnsweredPercent: (100 * answered) / sent,
      ownP999Ms: ownDelays.p999Ms,
      repeatedPercent: yields ? Number.NaN : repeatedPercent,
      sentInTimePercent,
      singleUs: spreadOf(parseLatencies(single)).p50 * 1_000,
    };
  }

  #ask(subject: Subject, options: AskOptions): Promise<string> {
    const { file } = this.#source;
    const place = { file, owned: this.#owned, core: this.#plan.cores?.load };
    return askByDnsperf(subject, this.trial, place, options);
  }
}

function totalMs({ userMs, systemMs }: ProcessUsage): number {
  return userMs + systemMs;
}
