import { OptionError } from '../errors.js';
import { findByName } from './find-option.js';
import { SERVERS_FILE_OPTIONS } from './forwarding-options.js';
import { parseOptionLine } from './option-line.js';
import { defaultOptions } from './option-values.js';
import type { ServerRule } from './server-value.js';

/** What a file of `--servers-file` says. */
export interface ServersFileContent {
  readonly rules: readonly ServerRule[];
  /** One line for each line that could not be obeyed; the others hold. */
  readonly complaints: readonly string[];
}

/** Reads the text of a servers file: `server` and `rev-server` lines, others are complained of and skipped. */
export function parseServersFile(text: string, path: string): ServersFileContent {
  const draft = defaultOptions();
  const complaints: string[] = [];
  text.split('\n').forEach((content, i) => {
    const where = `at line ${i + 1} of ${path}`;
    try {
      const line = parseOptionLine(content);
      if (line === undefined) return;
      const option = findByName(line.keyword);
      if (!SERVERS_FILE_OPTIONS.has(option.name)) throw new OptionError('', 'illegal option');
      if (line.value === undefined) throw new OptionError('', 'missing parameter');
      option.apply(draft, line.value);
    } catch (error) {
      if (!(error instanceof OptionError)) throw error;
      const detail = error.message === '' ? '' : ` (${error.message})`;
      complaints.push(`${error.words ?? 'error'} ${where}${detail}`);
    }
  });
  return { rules: draft.serverRules, complaints };
}
