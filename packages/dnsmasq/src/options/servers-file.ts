import { OptionError } from '../errors.js';
import { findByName } from './find-option.js';
import { SERVERS_FILE_OPTIONS } from './forwarding-options.js';
import type { OptionDefinition } from './option-definition.js';
import { parseOptionLine } from './option-line.js';
import { defaultOptions } from './option-values.js';
import type { ServerRule } from './server-value.js';
import { UNSUPPORTED_OPTIONS } from './unsupported-options.js';

/** What a file of `--servers-file` says. */
export interface ServersFileContent {
  readonly rules: readonly ServerRule[];
  /** One line for each line that could not be obeyed; the others hold. */
  readonly complaints: readonly string[];
}

const UNSUPPORTED: ReadonlySet<string> = new Set(UNSUPPORTED_OPTIONS.map(({ name }) => name));

/** Reads the text of a servers file: `server` and `rev-server` lines, others are complained of and skipped. */
export function parseServersFile(text: string, path: string): ServersFileContent {
  const draft = defaultOptions();
  const complaints: string[] = [];
  text.split('\n').forEach((content, i) => {
    const where = `at line ${i + 1} of ${path}`;
    try {
      const line = parseOptionLine(content);
      if (line === undefined) return;
      if (UNSUPPORTED.has(line.keyword)) throw illegalOption();
      const option = findByName(line.keyword);
      checkValue(option, line.value);
      if (!SERVERS_FILE_OPTIONS.has(option.name)) throw illegalOption();
      option.apply(draft, line.value ?? '');
    } catch (error) {
      if (!(error instanceof OptionError)) throw error;
      const detail = error.message === '' ? '' : ` (${error.message})`;
      complaints.push(`${error.words ?? 'error'} ${where}${detail}`);
    }
  });
  return { rules: draft.serverRules, complaints };
}

/** dnsmasq looks at the value before it looks at what the file may have (src/option.c, read_file). */
function checkValue({ value: wanted }: OptionDefinition, value: string | undefined): void {
  if (wanted === 'none' && value !== undefined) throw new OptionError('', 'extraneous parameter');
  if (wanted === 'required' && value === undefined) throw new OptionError('', 'missing parameter');
}

function illegalOption(): OptionError {
  return new OptionError('', 'illegal option');
}
