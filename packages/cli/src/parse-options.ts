import { parseArgs, type ParseArgsConfig } from 'node:util';
import { codeOf, reasonOf, UsageError } from './errors.js';
import { lowerFirst } from './lower-first.js';

/** `parseArgs` in strict mode; its errors become UsageErrors of one line. */
export function parseOptions<T extends ParseArgsConfig>(
  config: T,
  command?: string,
): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config);
  } catch (error) {
    if (!codeOf(error).startsWith('ERR_PARSE_ARGS_')) throw error;
    // The rest of the text explains how to pass an argument that begins with a dash.
    const reason = reasonOf(error).split(/\. /, 1)[0] ?? '';
    throw new UsageError(lowerFirst(reason), command);
  }
}
