import type { FuzzTarget } from '../fuzz-target.js';
import { TEXT_MUTATIONS } from '../text-mutations.js';

const MAX_BYTES = 4_096;
/** A word of a few characters becomes an object of some hundred bytes. */
const BYTES_PER_BYTE = 256;

/** What a text may allocate beyond what every input may. */
export function textAllowance({ length }: Buffer): number {
  return BYTES_PER_BYTE * length;
}

/** A parser of texts. */
export interface TextTarget {
  readonly seeds: readonly string[];
  readonly tokens: readonly string[];
  /** How the bytes become text; utf8 unless said otherwise. */
  readonly encoding?: BufferEncoding;
  readonly maxBytes?: number;
  /** See FuzzTarget; enough for words that become objects unless said otherwise. */
  readonly allowance?: (input: Buffer) => number;
  /** Parses, and returns whether the text is accepted. */
  readonly parse: (text: string) => boolean;
  /** Which errors are refusals. */
  readonly isRefusal?: (error: unknown) => boolean;
}

export function textTarget(options: TextTarget): FuzzTarget {
  const { parse, isRefusal, encoding = 'utf8', maxBytes = MAX_BYTES } = options;
  const { allowance = textAllowance } = options;
  return {
    seeds: options.seeds.map((text) => Buffer.from(text, encoding)),
    tokens: options.tokens.map((text) => Buffer.from(text, encoding)),
    mutations: TEXT_MUTATIONS,
    maxBytes,
    allowance,
    run: (input) => {
      try {
        return parse(input.toString(encoding));
      } catch (error) {
        if (isRefusal?.(error) === true) return false;
        throw error;
      }
    },
  };
}
