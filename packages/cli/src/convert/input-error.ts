import { CliError } from '../errors.js';

/** The input of a conversion cannot be read or parsed: status 2. */
export class InputError extends CliError {
  constructor(message: string, options?: ErrorOptions) {
    super('input', message, 2, options);
  }
}
