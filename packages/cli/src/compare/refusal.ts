import { CliError } from '../errors.js';

/** Why a comparison cannot be made, or not be ended: one line and status 2, which no comparison has. */
export function refusal(message: string, options?: ErrorOptions): CliError {
  return new CliError('compare', message, 2, options);
}
