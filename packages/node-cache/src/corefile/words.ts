import { CodedError, errorText, parseGoDuration, shownUrl } from '@kube-dns/base';
import { type Directive, directiveText, placeOf } from './corefile.js';
import {
  type Draft,
  type HttpAddress,
  parseHttpAddress,
  readZone,
  type ServerBlock,
} from './server-block.js';

/** A directive that is not obeyed; `readServerBlocks` adds its file, its line and its words. */
export class DirectiveError extends CodedError {
  readonly directive: Directive;

  constructor(directive: Directive, reason: string) {
    super('directive', reason);
    this.directive = directive;
  }
}

/** Notes in a draft that a directive is accepted and changes nothing. */
export function ignore(each: Directive, why: string, draft: Draft<ServerBlock>): void {
  const text = shownUrl(directiveText(each));
  draft.ignored = [...draft.ignored, `${placeOf(each)}: ${text}: it changes nothing: ${why}`];
}

export function fail(each: Directive, reason: string): never {
  throw new DirectiveError(each, reason);
}

/** Throws for a number of words outside of the range, which `form` describes. */
export function checkWords(
  { name, ...each }: Directive,
  min: number,
  max: number,
  form = '',
): void {
  const { length } = each.args;
  if (length >= min && length <= max) return;
  // Another object than the directive: who reads the block names it in front, too.
  fail({ name, ...each }, form === '' ? `${name} has no words after it` : `it is ${name} ${form}`);
}

/** A directive of one word. */
export function checkAlone(each: Directive): void {
  checkWords(each, 0, 0);
  checkNoBlock(each);
}

export function checkNoBlock(each: Directive): void {
  if (each.block !== undefined && each.block.length > 0) fail(each, 'it has no options in braces');
}

export function oneWord(option: Directive, form: string): string {
  checkWords(option, 1, 1, form);
  return option.args[0]!;
}

/** A whole number from `min` to `max`; throws for any other word. */
export function wholeNumber(each: Directive, text: string, min = 0, max = 2 ** 31 - 1): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : -1;
  if (value >= min && value <= max) return value;
  const upTo = max < 2 ** 31 - 1 ? ` to ${max}` : '';
  return fail(each, `${JSON.stringify(text)} is not a whole number from ${min}${upTo}`);
}

/** Milliseconds of a duration as Go writes it, from 0; throws. */
export function durationMs(each: Directive, text: string): number {
  let ms;
  try {
    ms = parseGoDuration(text);
  } catch (error) {
    return fail(each, `${JSON.stringify(text)} ${errorText(error)}`);
  }
  return ms < 0 ? fail(each, `${text} is negative`) : ms;
}

/** Zones in lower case without their last dots; throws. */
export function zones(each: Directive, texts: readonly string[]): string[] {
  return texts.map((text) => {
    const zone = readZone(text);
    return typeof zone === 'string'
      ? zone
      : fail(each, `${JSON.stringify(text)} is ${zone.reason}`);
  });
}

/** `host:port`, where the host may be missing; throws. */
export function httpAddress(each: Directive, text: string): HttpAddress {
  try {
    return parseHttpAddress(text);
  } catch (error) {
    return fail(each, `${JSON.stringify(text)}: ${errorText(error)}`);
  }
}
