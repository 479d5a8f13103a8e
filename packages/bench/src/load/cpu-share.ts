import { setTimeout as delay } from 'node:timers/promises';
import { cpuUsage, monotonicMs, usageSince } from '@kube-dns/testkit';
import type { Subject } from './scores.js';

/** A program that has just started is not what it is later. Not longer than what is measured after it. */
const WARM_UP_MS = 3_000;

/** The CPU time of each in the same seconds, after a warm-up and `begin`, in per cent of a core. */
export async function cpuOf(
  subjects: readonly Pick<Subject, 'pid' | 'check'>[],
  seconds: number,
  begin?: () => Promise<unknown>,
): Promise<readonly number[]> {
  await delay(Math.min(WARM_UP_MS, seconds * 1_000));
  await begin?.();
  const before = subjects.map(({ pid }) => cpuUsage(pid));
  const startMs = monotonicMs();
  await delay(seconds * 1_000);
  const elapsedMs = monotonicMs() - startMs;
  return subjects.map(({ pid, check }, i) => {
    check();
    const { userMs, systemMs } = usageSince(before[i]!, cpuUsage(pid));
    return (100 * (userMs + systemMs)) / elapsedMs;
  });
}
