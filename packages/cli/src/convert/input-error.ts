import { CliError } from '../errors.js';

/** What was to be converted cannot be read or understood, status 2. */
export class InputError extends CliError {
  constructor(message: string, options?: ErrorOptions) {
    super('input', message, 2, options);
  }
}
