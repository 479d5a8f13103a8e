import { errorText, parseGoDuration } from '@kube-dns/base';
import { parseHttpAddress } from '../config/http-address.js';
import type { Directive } from './corefile.js';
import { DirectiveError } from './directive-error.js';
import type { HttpAddress } from './server-block.js';
import { readZone } from './zone-key.js';

/** Ends the reading of a directive with the reason. */
export function fail(each: Directive, reason: string): never {
  throw new DirectiveError(each, reason);
}

/** Throws a DirectiveError for a number of words outside of the range, which `form` describes. */
export function checkWords(
  { name, ...each }: Directive,
  min: number,
  max: number,
  form = '',
): void {
  const { length } = each.args;
  if (length >= min && length <= max) return;
  const wanted = form === '' ? `${name} has no words after it` : `it is ${name} ${form}`;
  fail({ name, ...each }, wanted);
}

/** Throws a DirectiveError for a directive with braces. */
export function checkNoBlock(each: Directive): void {
  if (each.block !== undefined && each.block.length > 0) fail(each, 'it has no options in braces');
}

/** A whole number from `min` to `max`; throws a DirectiveError for any other word. */
export function wholeNumber(each: Directive, text: string, min = 0, max = 2 ** 31 - 1): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : -1;
  if (value >= min && value <= max) return value;
  const upTo = max < 2 ** 31 - 1 ? ` to ${max}` : '';
  return fail(each, `${JSON.stringify(text)} is not a whole number from ${min}${upTo}`);
}

/** Milliseconds of a duration as Go writes it, from 0; throws a DirectiveError. */
export function durationMs(each: Directive, text: string): number {
  let ms;
  try {
    ms = parseGoDuration(text);
  } catch (error) {
    return fail(each, `${JSON.stringify(text)} ${errorText(error)}`);
  }
  return ms < 0 ? fail(each, `${text} is negative`) : ms;
}

/** Zones in lower case without their last dots; throws a DirectiveError. */
export function zones(each: Directive, texts: readonly string[]): string[] {
  return texts.map((text) => {
    const zone = readZone(text);
    return typeof zone === 'string'
      ? zone
      : fail(each, `${JSON.stringify(text)} is ${zone.reason}`);
  });
}

/** `host:port`, where the host may be missing; throws a DirectiveError. */
export function httpAddress(each: Directive, text: string): HttpAddress {
  try {
    return parseHttpAddress(text);
  } catch (error) {
    return fail(each, `${JSON.stringify(text)}: ${errorText(error)}`);
  }
}
