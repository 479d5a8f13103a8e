import { readFileSync } from 'node:fs';

const SELF = '/proc/self/limits';
let cachedLimit: number | undefined;

/** Descriptors that this process may have open at a time; Infinity where the system does not say. */
export function descriptorLimit(): number {
  return (cachedLimit ??= parseDescriptorLimit(readLimits()));
}

/** The soft limit of open files in the text of `/proc/PID/limits`, which Node raises to the hard limit. */
export function parseDescriptorLimit(text: string): number {
  const [, soft] = /^Max open files +(\d+) /m.exec(text) ?? [];
  return soft === undefined ? Infinity : Number(soft);
}

/** What a process has open without clients and upstream servers: files, pipes, event loops, listeners, pages of metrics. */
const OWN_DESCRIPTORS = 40;

/**
 * How many descriptors one kind of socket may use: `most`, but at most this `part` of the limit without those that the process has
 * itself, so that clients, upstream servers, files and metrics do not exhaust each other's.
 */
export function descriptorShare(most: number, part: number, limit = descriptorLimit()): number {
  return Math.max(1, Math.min(most, Math.floor((limit - OWN_DESCRIPTORS) * part)));
}

function readLimits(): string {
  try {
    return readFileSync(SELF, 'utf8');
  } catch {
    // no Linux
    return '';
  }
}
