import { ConfigError, errorText } from './errors.js';
import type { Log } from './log.js';

/** More mistakes than these are counted only: a configuration can be a megabyte of them. */
const MAX_LINES = 20;

/** Says why a configuration is not used: one line per mistake of a ConfigError, one for anything else. */
export function logRefusedConfig(log: Log, error: unknown): void {
  const mistakes = error instanceof ConfigError ? error.mistakes : [errorText(error)];
  for (const mistake of mistakes.slice(0, MAX_LINES)) {
    log.error(`config: ${mistake}; keeping the previous configuration`);
  }
  const left = mistakes.length - MAX_LINES;
  if (left > 0) log.error(`config: ${left} more mistakes; keeping the previous configuration`);
}
