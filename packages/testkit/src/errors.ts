import { CodedError } from '@kube-dns/base';

/** An error that ends a command with one line on stderr and `exitCode` as its status. */
export class CommandError extends CodedError {
  readonly exitCode: number;

  constructor(code: string, message: string, exitCode: number, options?: ErrorOptions) {
    super(code, message, options);
    this.exitCode = exitCode;
  }
}

/** A test, a measurement or a proof cannot continue, or a program is missing: status 1. */
export class MeasureError extends CommandError {
  constructor(message: string, options?: ErrorOptions) {
    super('measure', message, 1, options);
  }
}
