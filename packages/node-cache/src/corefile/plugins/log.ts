import type { BlockDraft } from '../block-draft.js';
import type { Directive } from '../corefile.js';
import { checkWords, fail, zones } from '../directive-words.js';
import type { LogRules } from '../server-block.js';

/** coredns plugin/log, CommonLogFormat and what CombinedLogFormat adds. */
const COMMON =
  '{remote}:{port} - {>id} "{type} {class} {name} {proto} {size} {>do} {>bufsize}" {rcode} {>rflags} {rsize} {duration}';
const COMBINED = `${COMMON} "{>opcode}"`;

const CLASSES = ['all', 'success', 'denial', 'error'] as const;

/** Reads `log [ZONES…] [FORMAT] { class … }`. */
export function readLog(each: Directive, draft: BlockDraft): void {
  if (draft.log !== undefined)
    fail(each, 'there is one log in a block: name its zones in one line');
  const { args } = each;
  const hasFormat = args.length > 0 && args.at(-1)!.includes('{');
  if (hasFormat && args.length === 1)
    fail(each, 'a format has a zone before it: write log . FORMAT');
  const format = hasFormat ? args.at(-1)! : '{common}';
  if (format.includes('{/')) fail(each, 'metadata cannot be logged: leave out what begins with {/');
  draft.log = {
    zones: args.length === 0 ? ['.'] : zones(each, hasFormat ? args.slice(0, -1) : args),
    format: format.replaceAll('{common}', COMMON).replaceAll('{combined}', COMBINED),
    classes: readClasses(each.block ?? []),
  };
}

function readClasses(options: readonly Directive[]): LogRules['classes'] {
  const classes = options.flatMap((option) => {
    if (option.name !== 'class') fail(option, 'log has no such option');
    checkWords(option, 1, Infinity, `${CLASSES.join('|')}…`);
    return option.args.map(
      (word) =>
        CLASSES.find((each) => each === word) ??
        fail(option, `${JSON.stringify(word)} is no class`),
    );
  });
  return classes.length === 0 ? ['all'] : [...new Set(classes)];
}
