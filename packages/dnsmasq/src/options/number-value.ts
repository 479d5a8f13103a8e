import { OptionError } from '../errors.js';

/** The largest number of dnsmasq's options, a signed 32-bit integer. */
const MAX_NUMBER = 2 ** 31 - 1;
const MAX_PORT = 65_535;

/** A decimal number without sign; throws an OptionError, with dnsmasq's `words` where given. */
export function wholeNumber(value: string, max = MAX_NUMBER, words?: string): number {
  const number = /^[0-9]+$/.test(value) ? Number(value) : Number.POSITIVE_INFINITY;
  if (number > max) throw new OptionError(`bad number ${JSON.stringify(value)}`, words);
  return number;
}

/** A number of 16 bits, as ports, preferences and priorities are. */
export function shortNumber(value: string, words?: string): number {
  return wholeNumber(value, MAX_PORT, words);
}
