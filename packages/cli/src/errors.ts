import { CodedError, systemReason } from '@kube-dns/base';

/** An error that ends the command with one line on stderr and `exitCode` as the process's status. */
export class CliError extends CodedError {
  readonly exitCode: number;

  constructor(code: string, message: string, exitCode: number, options?: ErrorOptions) {
    super(code, message, options);
    this.exitCode = exitCode;
  }
}

/** The command line is valid, but what it names cannot be run: status 1. */
export class StartError extends CliError {
  constructor(message: string, options?: ErrorOptions) {
    super('start', message, 1, options);
  }
}

/** The code of an error of Node; empty without one. */
export function codeOf(error: unknown): string {
  const { code } = Object(error) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

/** The reason of a failed system call in words, or the first line of the error's message. */
export function reasonOf(error: unknown): string {
  return systemReason(error).split('\n', 1)[0] ?? '';
}

/** The error of a comparison that cannot be made or completed: one line and status 2. */
export function refusal(message: string, options?: ErrorOptions): CliError {
  return new CliError('compare', message, 2, options);
}

/** Lower-cases the first letter: the message of a library as the second half of one of ours. */
export function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
