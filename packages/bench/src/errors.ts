import { CodedError } from '@kube-dns/wire';

/** An error that ends the bench with one line on stderr and `exitCode` as its status. */
export class BenchError extends CodedError {
  readonly exitCode: number;

  constructor(code: string, message: string, exitCode: number, options?: ErrorOptions) {
    super(code, message, options);
    this.exitCode = exitCode;
  }
}

/** The command line is wrong: status 2. */
export class UsageError extends BenchError {
  constructor(message: string) {
    super('usage', message, 2);
  }
}

/** What was to be measured did not come about, or a program is missing: status 1. */
export class MeasureError extends BenchError {
  constructor(message: string, options?: ErrorOptions) {
    super('measure', message, 1, options);
  }
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  // Not instanceof: errors of Node's own are of another realm in some test runners.
  if (typeof error === 'object' && error !== null && 'message' in error) {
    return String(error.message);
  }
  return String(error);
}
