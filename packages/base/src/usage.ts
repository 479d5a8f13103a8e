import { type FlagDefinition, IGNORED_FLAGS, type Program, SHARED_FLAGS } from './flags.js';

const WIDTH = 100;
/** A longer name has its text on the next line, so that one flag does not narrow the text of all. */
const MAX_NAME_WIDTH = 40;

const HELP_FLAG: FlagDefinition<boolean> = {
  parse: () => true,
  initial: false,
  help: 'print this text and exit',
  valueName: '',
};
const SHORTHANDS: Readonly<Record<string, string>> = { v: '-v, ', help: '-h, ' };

/** What `--help` prints: usage line, summary, the flags in order with defaults, the ignored flags. */
export function usageText(program: Program): string {
  const flags = Object.entries({ ...SHARED_FLAGS, help: HELP_FLAG, ...program.flags })
    .filter(([, definition]) => definition.isHidden !== true)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, definition]) => ({ left: leftColumn(name, definition), definition }));
  const widths = flags.map(({ left }) => left.length).filter((width) => width <= MAX_NAME_WIDTH);
  const column = Math.max(...widths) + 3;
  const lines = flags.flatMap(({ left, definition }) =>
    layOut(left, rightColumn(definition), column),
  );
  const ignored = `Accepted and ignored: --${[...IGNORED_FLAGS].sort().join(', --')}.`;
  const head = [
    `Usage: ${program.usage ?? `${program.name} [flags]`}`,
    '',
    program.summary,
    '',
    'Flags:',
  ];
  return [...head, ...lines, '', ...wrap('', ignored, ''), ''].join('\n');
}

function leftColumn(name: string, definition: FlagDefinition<unknown>): string {
  const { valueName, isBoolean } = definition;
  const text = `${(SHORTHANDS[name] ?? '').padStart(6)}--${name}`;
  if (valueName === '') return text;
  return isBoolean === true ? `${text}[=${valueName}]` : `${text} ${valueName}`;
}

function rightColumn(definition: FlagDefinition<unknown>): string {
  const { initial, help } = definition;
  const text = definition.formatDefault ? definition.formatDefault(initial) : plainDefault(initial);
  return text === '' ? help : `${help} (default ${text})`;
}

/** The default of a flag without `formatDefault`: only a string or a number is printed. */
function plainDefault(initial: unknown): string {
  if (typeof initial === 'string') return initial === '' ? '' : JSON.stringify(initial);
  if (typeof initial === 'number') return initial === 0 ? '' : String(initial);
  return '';
}

/** The lines of one flag in a usage: `left`, and from `column` on the words of its text, wrapped. */
export function layOut(left: string, text: string, column: number): string[] {
  const indent = ' '.repeat(column);
  if (left.length + 3 > column) return [left, ...wrap(indent, text, indent)];
  return wrap(left.padEnd(column), text, indent);
}

/** The words of a text after `start`, in lines of at most `WIDTH`; further lines are indented. */
export function wrap(start: string, text: string, indent: string): string[] {
  const lines: string[] = [];
  let line = start;
  let isEmpty = true;
  for (const word of text.split(/\s+/)) {
    if (!isEmpty && line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = indent;
      isEmpty = true;
    }
    line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  lines.push(line.trimEnd());
  return lines;
}
