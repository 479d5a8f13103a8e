import { readFileSync } from 'node:fs';
import process from 'node:process';
import { setImmediate } from 'node:timers/promises';
import type { StatusFacts } from './status-sections.js';

/** The files with the memory limit of the container, of both versions of cgroups. */
const LIMIT_FILES = ['/sys/fs/cgroup/memory.max', '/sys/fs/cgroup/memory/memory.limit_in_bytes'];
/** A larger limit is none: cgroups of version 1 write 2^63 without the last page. */
const NO_LIMIT_BYTES = 2 ** 60;
const HIGH_PERCENT = 90;

/** Memory, CPU time and event loop of this process, now. */
export async function processFacts(): Promise<StatusFacts> {
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  const askedMs = performance.now();
  await setImmediate();
  const eventLoopDelayMs = performance.now() - askedMs;
  return {
    residentMemoryBytes: rss,
    memoryLimitBytes: memoryLimit(),
    heapUsedBytes: heapUsed,
    heapBytes: heapTotal,
    // Loaded here, because only this page needs it: 0.2 MiB.
    heapLimitBytes: process.getBuiltinModule('node:v8').getHeapStatistics().heap_size_limit,
    externalMemoryBytes: external,
    cpuSeconds: (user + system) / 1e6,
    eventLoopBusyPercent: performance.eventLoopUtilization().utilization * 100,
    eventLoopDelayMs,
  };
}

/** What is wrong with these facts. */
export function memoryProblems({ residentMemoryBytes, memoryLimitBytes }: StatusFacts): string[] {
  if (typeof residentMemoryBytes !== 'number' || typeof memoryLimitBytes !== 'number') return [];
  const percent = Math.round((residentMemoryBytes / memoryLimitBytes) * 100);
  return percent < HIGH_PERCENT ? [] : [`memory is at ${percent} % of the limit of the container`];
}

/** Null without a limit, and where it cannot be read. */
function memoryLimit(): number | null {
  for (const file of LIMIT_FILES) {
    try {
      const limit = Number(readFileSync(file, 'utf8'));
      if (limit > 0 && limit < NO_LIMIT_BYTES) return limit;
    } catch {
      /* no such file: the other version of cgroups, or another system */
    }
  }
  return null;
}
