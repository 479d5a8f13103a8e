/** The bytes that make the structure of a JSON text. */
export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;

/** Objects of the API nest some 15 deep. */
const MAX_DEPTH = 100;
/**
 * Brackets, commas and colons outside of strings. A slice with the 1,000 endpoints that the API allows has
 * 32,000; the time of JSON.parse depends on them more than on the bytes.
 */
const MAX_TOKENS = 100_000;

/** Measures a JSON text before it is parsed, as its bytes arrive: parsing cannot be interrupted. */
export class JsonShape {
  #depth = 0;
  #tokens = 0;
  #isInString = false;
  #isEscaped = false;

  /** Measures further bytes; returns why the text must not be parsed, if it must not. */
  add(bytes: Uint8Array): string | undefined {
    let depth = this.#depth;
    let tokens = this.#tokens;
    let isInString = this.#isInString;
    let isEscaped = this.#isEscaped;
    for (const byte of bytes) {
      if (isInString) {
        if (isEscaped) isEscaped = false;
        else if (byte === BACKSLASH) isEscaped = true;
        else if (byte === QUOTE) isInString = false;
      } else if (byte === QUOTE) {
        isInString = true;
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        tokens++;
        if (++depth > MAX_DEPTH) return `it is nested more than ${MAX_DEPTH} deep`;
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        tokens++;
        depth--;
      } else if (byte === COMMA || byte === COLON) {
        tokens++;
      }
    }
    this.#depth = depth;
    this.#tokens = tokens;
    this.#isInString = isInString;
    this.#isEscaped = isEscaped;
    return tokens > MAX_TOKENS ? `it has more than ${MAX_TOKENS} brackets and commas` : undefined;
  }
}
