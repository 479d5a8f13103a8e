import { readFileSync, writeFileSync } from 'node:fs';
import { MeasureError } from '../errors.js';

/** CPU time of a process since its start. */
export interface ProcessUsage {
  readonly userMs: number;
  readonly systemMs: number;
}

/** Linux counts CPU time in hundredths of a second (USER_HZ). */
const TICK_MS = 10;
const KIB = 1024;

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch (cause) {
    throw new MeasureError(
      `cannot read the usage of process ${pid}: it has ended, or this is not Linux`,
      {
        cause,
      },
    );
  }
}

function statusBytes(pid: number, field: string): number {
  const match = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(read(pid, 'status'));
  return Number(match?.[1] ?? Number.NaN) * KIB;
}

/** The current memory of a process, in bytes (VmRSS). */
export function rssBytes(pid: number): number {
  return statusBytes(pid, 'VmRSS');
}

/** The current memory of a process that belongs to no file, in bytes (RssAnon). */
export function anonymousBytes(pid: number): number {
  return statusBytes(pid, 'RssAnon');
}

/** The peak memory of a process since its start or `resetPeak`, in bytes (VmHWM). */
export function peakRssBytes(pid: number): number {
  return statusBytes(pid, 'VmHWM');
}

/** Resets the peak; returns whether the kernel allows that. */
export function resetPeak(pid: number): boolean {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
    return true;
  } catch {
    // Not allowed in some containers: then the peak is that since the start.
    return false;
  }
}

/** CPU time of all threads of a process. */
export function cpuUsage(pid: number): ProcessUsage {
  const text = read(pid, 'stat');
  // The program's name is in brackets and may have any characters; utime and stime are fields 14 and 15.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { userMs: Number(fields[11]) * TICK_MS, systemMs: Number(fields[12]) * TICK_MS };
}

/** The CPU time between two readings. */
export function usageSince(before: ProcessUsage, now: ProcessUsage): ProcessUsage {
  return { userMs: now.userMs - before.userMs, systemMs: now.systemMs - before.systemMs };
}
