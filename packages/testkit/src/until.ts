import { setTimeout as delay } from 'node:timers/promises';
import { MeasureError } from './errors.js';

/**
 * Milliseconds on a clock that all processes of the machine share and that is never set: moments of
 * different processes can be compared.
 */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** The time limit of a wait, and the time between two checks. */
export interface WaitLimits {
  /** Default: a minute, which only a hang reaches. */
  readonly limitMs?: number;
  /** Default: 10 ms. */
  readonly stepMs?: number;
}

type Missing = undefined | null | false;
type Find<T> = () => T | Missing | Promise<T | Missing>;

const LIMIT_MS = 60_000;
const STEP_MS = 10;

async function seek<T>(find: Find<T>, limits: WaitLimits): Promise<T | Missing> {
  const { limitMs = LIMIT_MS, stepMs = STEP_MS } = limits;
  const endMs = performance.now() + limitMs;
  for (;;) {
    const found = await find();
    const isFound = found !== undefined && found !== null && found !== false;
    if (isFound || performance.now() > endMs) return found;
    await delay(stepMs);
  }
}

/**
 * Calls `find` until its result is not undefined, null or false, and returns the result. Rejects with a
 * MeasureError that names `what` is missing; a function is called at that moment. An error of `find` ends
 * the wait immediately.
 */
export function until<T>(
  what: string | (() => string),
  find: Find<T>,
  limits?: WaitLimits,
): Promise<T>;
/** Without `what` the error has the source of `find`. */
export function until<T>(find: Find<T>, limits?: WaitLimits): Promise<T>;
export async function until<T>(
  first: string | (() => string) | Find<T>,
  second?: Find<T> | WaitLimits,
  third?: WaitLimits,
): Promise<T> {
  // A single function is the search; the first of two functions names the result.
  const isNamed = typeof second === 'function';
  const find = isNamed ? second : (first as Find<T>);
  const limits = (isNamed ? third : second) ?? {};
  const found = await seek(find, limits);
  if (found !== undefined && found !== null && found !== false) return found;
  const what = isNamed && typeof first === 'function' ? (first as () => string)() : String(first);
  throw new MeasureError(`not within ${(limits.limitMs ?? LIMIT_MS) / 1_000} s: ${what}`);
}

/** Whether the condition becomes true in time, for a caller that continues in either case. */
export async function becomesTrue(
  condition: () => boolean | Promise<boolean>,
  limits: WaitLimits = {},
): Promise<boolean> {
  return (await seek(condition, limits)) === true;
}

/** Waits until `read` returns `expected`; rejects with a MeasureError that names the last value. */
export async function untilEqual<T>(
  expected: T,
  read: () => T | Promise<T>,
  limits: WaitLimits = {},
): Promise<void> {
  let last: T | undefined;
  const isEqual = async () => {
    last = await read();
    return last === expected;
  };
  await until(() => `${String(expected)}; the last value is ${String(last)}`, isEqual, limits);
}
