import { CorefileError } from './corefile-error.js';

/** A word of a Corefile and the line that it begins on, from 1. */
export interface Token {
  readonly text: string;
  readonly line: number;
  /** Quoted braces are plain text. */
  readonly isQuoted: boolean;
}

/**
 * Splits a Corefile into words by Caddy's rules (coredns/caddy caddyfile/lexer.go): blanks separate, `#` at
 * the start of a word begins a comment, quotes join words and lines, and `\"` is a quote in them.
 * Throws a CorefileError for a quote that does not end.
 */
export function readTokens(text: string, file: string): Token[] {
  const tokens: Token[] = [];
  let line = 1;
  let at = text.startsWith('\uFEFF') ? 1 : 0;
  while (at < text.length) {
    const char = text[at]!;
    if (/\s/.test(char)) {
      if (char === '\n') line++;
      at++;
    } else if (char === '#') {
      at = endOf(text, /\n/g, at);
    } else if (char === '"') {
      const quoted = readQuoted(text, at + 1);
      if (quoted === undefined) {
        throw new CorefileError(`${file}: line ${line}: the quote that begins here does not end`);
      }
      tokens.push({ text: quoted.text, line, isQuoted: true });
      line += quoted.text.split('\n').length - 1;
      at = quoted.end;
    } else {
      const end = endOf(text, /\s/g, at);
      tokens.push({ text: text.slice(at, end), line, isQuoted: false });
      at = end;
    }
  }
  return tokens;
}

/** Writes a word so that {@link readTokens} reads it again; one with blanks must not end in a backslash. */
export function quoteToken(text: string): string {
  const isPlain = !/^$|\s|^["#]|^[{}]$/.test(text);
  return isPlain ? text : `"${text.replaceAll('"', '\\"')}"`;
}

function endOf(text: string, pattern: RegExp, start: number): number {
  pattern.lastIndex = start;
  return pattern.exec(text)?.index ?? text.length;
}

/** The text between the quotes, and the position after them. */
function readQuoted(text: string, start: number): { text: string; end: number } | undefined {
  for (let at = start; at < text.length; at++) {
    if (text[at] === '\\' && text[at + 1] === '"') at++;
    else if (text[at] === '"') {
      return { text: text.slice(start, at).replaceAll('\\"', '"'), end: at + 1 };
    }
  }
  return undefined;
}
