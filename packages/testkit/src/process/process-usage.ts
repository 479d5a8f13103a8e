import { readFileSync, writeFileSync } from 'node:fs';
import { MeasureError } from '../errors.js';

/** What a process used so far. */
export interface ProcessUsage {
  readonly userMs: number;
  readonly systemMs: number;
}

/** Linux counts CPU time in hundredths of a second for everybody (USER_HZ). */
const TICK_MS = 10;
const KIB = 1024;

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch (cause) {
    throw new MeasureError(`cannot look at process ${pid}: it ended, or this is no Linux`, {
      cause,
    });
  }
}

function statusBytes(pid: number, field: string): number {
  const match = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(read(pid, 'status'));
  return Number(match?.[1] ?? Number.NaN) * KIB;
}

/** The memory that a process has now, in bytes (VmRSS). */
export function rssBytes(pid: number): number {
  return statusBytes(pid, 'VmRSS');
}

/** The most memory that it ever had, or since `resetPeak` (VmHWM). */
export function peakRssBytes(pid: number): number {
  return statusBytes(pid, 'VmHWM');
}

/** Lets the peak begin anew; says whether the kernel does that. */
export function resetPeak(pid: number): boolean {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
    return true;
  } catch {
    // Not all containers may: then the peak is that of the whole life.
    return false;
  }
}

/** CPU time of all threads of a process. */
export function cpuUsage(pid: number): ProcessUsage {
  const text = read(pid, 'stat');
  // The program's name stands in brackets and may hold anything; utime and stime are fields 14, 15.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { userMs: Number(fields[11]) * TICK_MS, systemMs: Number(fields[12]) * TICK_MS };
}

/** The CPU time between two looks. */
export function usageSince(before: ProcessUsage, now: ProcessUsage): ProcessUsage {
  return { userMs: now.userMs - before.userMs, systemMs: now.systemMs - before.systemMs };
}
