import { monotonicMs } from '@kube-dns/testkit';

/** What a process answers before it is measured. */
export interface WarmUpPlan {
  /** At least; 0: there is no warm-up. */
  readonly seconds: number;
  /** At least: a compiler in the process counts calls and not seconds. */
  readonly answers: number;
}

/** Asks for so long, with each question at most so often; returns the number of answers. */
export type Ask = (seconds: number, passes: number | undefined) => Promise<number>;

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
