import type { BlockDraft } from '../block-draft.js';
import type { Directive } from '../corefile.js';
import { checkWords, durationMs, fail } from '../directive-words.js';
import type { ErrorPattern } from '../server-block.js';

const LEVELS = ['error', 'warning', 'info', 'debug'] as const;
const SHOW_FIRST = 'show_first';
const MAX_PATTERN = 1_000;
/** Each further one multiplies the time of a match by the length of the text, which has a client's name in it. */
const MAX_REPETITIONS = 2;

/** Reads `errors [stdout] { stacktrace; consolidate … }`. */
export function readErrors(each: Directive, draft: BlockDraft): void {
  if (each.args.join(' ') !== 'stdout') checkWords(each, 0, 0);
  draft.logsErrors = true;
  draft.errorPatterns = (each.block ?? []).flatMap((option) => {
    if (option.name === 'consolidate') return readPattern(option);
    // Go's stack traces; an unexpected error is always logged with that of Node.
    if (option.name === 'stacktrace') return [];
    return fail(option, 'errors has no such option');
  });
}

function readPattern(option: Directive): ErrorPattern {
  checkWords(option, 2, 4, `PERIOD PATTERN [${LEVELS.join('|')}] [${SHOW_FIRST}]`);
  const [period = '', source = '', ...words] = option.args;
  const showsFirst = words.at(-1) === SHOW_FIRST;
  const [word = 'error', ...rest] = showsFirst ? words.slice(0, -1) : words;
  const level = LEVELS.find((each) => each === word);
  if (level === undefined || rest.length > 0) {
    fail(option, `the words after the pattern are [${LEVELS.join('|')}] [${SHOW_FIRST}]`);
  }
  return {
    periodMs: durationMs(option, period),
    pattern: pattern(option, source),
    level,
    showsFirst,
  };
}

/** Go's expressions take linear time and Node's do not, so what could take long is refused. */
function pattern(option: Directive, source: string): RegExp {
  const plain = source.replace(/\\.|\[[^\]]*\]/gs, 'x');
  const repetitions = plain.match(/[*+{]/g)?.length ?? 0;
  if (source.length > MAX_PATTERN) fail(option, `the pattern is longer than ${MAX_PATTERN}`);
  if (/\)[*+{]/.test(plain) || repetitions > MAX_REPETITIONS || /\\[1-9k]/.test(source)) {
    fail(
      option,
      `the pattern repeats a group, or more than ${MAX_REPETITIONS} parts: make it simpler`,
    );
  }
  try {
    return new RegExp(source, 'u');
  } catch {
    return fail(option, `${JSON.stringify(source)} is not a regular expression`);
  }
}
