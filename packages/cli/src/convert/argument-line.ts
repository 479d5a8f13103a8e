import { InputError } from './input-error.js';

/** Splits a line into words as a shell does: blanks, both quotes and the backslash. Throws an InputError. */
export function splitLine(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (let at = 0; at < line.length; at++) {
    const char = line[at]!;
    if (quote !== '' && char === quote) quote = '';
    else if (char === '\\' && quote !== "'" && at + 1 < line.length)
      word = (word ?? '') + line[++at]!;
    else if (quote === '' && /["']/.test(char)) {
      quote = char;
      word ??= '';
    } else if (quote === '' && /\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? '') + char;
  }
  if (quote !== '') throw new InputError(`--args: the quote ${quote} does not end`);
  return word === undefined ? words : [...words, word];
}
