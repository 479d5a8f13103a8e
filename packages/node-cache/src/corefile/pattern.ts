import { type CompiledRe2, compileRe2 } from './re2.js';

const MAX_PATTERN = 1_000;
/** A text costs as much time as it has bytes, times these at worst. */
const MAX_STEPS = 500;
/** Twice as long as a name without escapes, for lines of a log; only with a hostile name is one longer. */
const MAX_TEXT = 512;
/** In microseconds. Most expressions need a tenth of it; the first try is that of code which is not compiled yet. */
const MAX_CPU_US = 4_000;
const TRIES = 4;

/**
 * A regular expression as Go has them, which takes time in proportion to the text, for texts from outside: it is
 * tried on long ones when it is compiled, and longer ones than any honest name do not match.
 */
export class Pattern {
  readonly source: string;
  readonly #compiled: CompiledRe2;

  /** Throws an Error with the reason for what is no expression, or one that would take long. */
  constructor(source: string) {
    if (source.length > MAX_PATTERN) throw new Error(`the pattern is longer than ${MAX_PATTERN}`);
    const compiled = compileRe2(source);
    if (compiled === undefined) {
      throw new Error(`${JSON.stringify(source)} is not a regular expression`);
    }
    if (compiled.steps > MAX_STEPS || !isFast(compiled, source)) {
      throw new Error('the pattern takes too long for long names: make it simpler');
    }
    this.source = source;
    this.#compiled = compiled;
  }

  /** How many groups it has. */
  get groups(): number {
    return this.#compiled.groups;
  }

  /** The numbers of its groups that have names. */
  get groupNames(): Readonly<Record<string, number>> {
    return this.#compiled.groupNames;
  }

  test(text: string): boolean {
    return text.length <= MAX_TEXT && this.#compiled.test(text);
  }

  /** The whole match and its groups, '' for one without a part in it; undefined without a match. */
  find(text: string): readonly string[] | undefined {
    return this.test(text) ? this.#compiled.find(text) : undefined;
  }
}

/** Whether it takes little CPU for long texts of the letters that it looks for, in no order. */
function isFast(compiled: CompiledRe2, source: string): boolean {
  const letters = [...new Set(source.match(/[a-z0-9.-]/g) ?? []), 'a', '.'];
  let seed = 1;
  for (let i = 0; i < TRIES; i++) {
    let text = '';
    while (text.length < MAX_TEXT) {
      // The constants are those of Numerical Recipes.
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
      text += letters[(seed >>> 16) % letters.length]!;
    }
    const before = process.cpuUsage();
    compiled.test(text);
    compiled.find(text);
    const { user, system } = process.cpuUsage(before);
    if (user + system <= MAX_CPU_US) return true;
  }
  return false;
}
