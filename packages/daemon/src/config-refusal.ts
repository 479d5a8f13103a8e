import { ConfigError, errorText } from './errors.js';
import type { Log } from './log.js';

/** Further mistakes are only counted: a configuration can hold a megabyte of them. */
const MAX_LINES = 20;

/** Logs why a configuration is refused: a line per mistake of a ConfigError, one for any other error. */
export function logRefusedConfig(log: Log, error: unknown): void {
  const mistakes = error instanceof ConfigError ? error.mistakes : [errorText(error)];
  for (const mistake of mistakes.slice(0, MAX_LINES)) {
    log.error(`config: ${mistake}; keeping the previous configuration`);
  }
  const others = mistakes.length - MAX_LINES;
  if (others > 0) log.error(`config: ${others} more mistakes; keeping the previous configuration`);
}
