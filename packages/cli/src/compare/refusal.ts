import { CliError } from '../errors.js';

/** The error of a comparison that cannot be made or completed: one line and status 2. */
export function refusal(message: string, options?: ErrorOptions): CliError {
  return new CliError('compare', message, 2, options);
}
