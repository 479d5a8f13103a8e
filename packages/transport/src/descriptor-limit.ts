import { readFileSync } from 'node:fs';

const SELF = '/proc/self/limits';
let known: number | undefined;

/** Descriptors that this process may have open at a time; Infinity where that is not known. */
export function descriptorLimit(): number {
  return (known ??= parseDescriptorLimit(readLimits()));
}

/** The soft limit of open files in the text of `/proc/PID/limits`, to which Node raises it: the hard one. */
export function parseDescriptorLimit(text: string): number {
  const [, soft] = /^Max open files +(\d+) /m.exec(text) ?? [];
  return soft === undefined ? Infinity : Number(soft);
}

/**
 * As many descriptors as one kind of socket may take, of those that a process has: so many that none of
 * clients, upstreams, files and metrics keeps the others from working. `most` where there are enough.
 */
export function descriptorShare(most: number, part: number, limit = descriptorLimit()): number {
  return Math.max(1, Math.min(most, Math.floor(limit * part)));
}

function readLimits(): string {
  try {
    return readFileSync(SELF, 'utf8');
  } catch {
    // no Linux
    return '';
  }
}
