import { errorText } from '@kube-dns/base';
import { ConfigError } from './errors.js';
import type { Log } from './log.js';

/** Further mistakes are only counted: a configuration can hold a megabyte of them. */
const MAX_LINES = 20;

/** A configuration that was refused. */
export interface RefusedConfig {
  /** In ms since the epoch. */
  readonly atMs: number;
  /** One per mistake. */
  readonly reasons: readonly string[];
}

/** Logs why a configuration is refused: a line per mistake of a ConfigError, one for any other error; returns the reasons. */
export function logRefusedConfig(log: Log, error: unknown): RefusedConfig {
  const mistakes = error instanceof ConfigError ? error.mistakes : [errorText(error)];
  for (const mistake of mistakes.slice(0, MAX_LINES)) {
    log.error(`config: ${mistake}; keeping the previous configuration`);
  }
  const others = mistakes.length - MAX_LINES;
  if (others > 0) {
    log.error(`config: ${moreMistakes(others)}; keeping the previous configuration`);
  }
  return { atMs: Date.now(), reasons: mistakes.slice(0, MAX_LINES) };
}

/** `1 more mistake`. */
export function moreMistakes(count: number): string {
  return `${count} more ${count === 1 ? 'mistake' : 'mistakes'}`;
}
