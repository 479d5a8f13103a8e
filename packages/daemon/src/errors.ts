import { CodedError } from '@kube-dns/base';

/** A program that cannot start: one line on stderr, then the given exit code. */
export class StartupError extends CodedError {
  readonly exitCode: number;

  constructor(message: string, exitCode: number, options?: ErrorOptions) {
    super('startup', message, options);
    this.exitCode = exitCode;
  }
}

/** Throws a StartupError with the message of an error of this kind, and any other error as it is. */
export function failStartup(
  error: unknown,
  kind: new (...args: never[]) => Error,
  exitCode: number,
): never {
  if (error instanceof kind) throw new StartupError(error.message, exitCode);
  throw error;
}

/** A configuration directory that cannot be read; the message names the file and the reason. */
export class ConfigDirectoryError extends CodedError {
  constructor(message: string, options?: ErrorOptions) {
    super('config-directory', message, options);
  }
}

/** A configuration directory that does not exist. */
export class ConfigMissingError extends ConfigDirectoryError {}

/** A configuration directory that changed during every attempt to read it; the caller tries again. */
export class ConfigChangingError extends ConfigDirectoryError {}

/** Configuration content that is refused as a whole, with one entry per mistake. */
export class ConfigError extends CodedError {
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    super('config', mistakes.join('; '));
    this.mistakes = mistakes;
  }
}
