import { errorText } from '@kube-dns/base';
import { parseTsigKey, type TsigKey } from '@kube-dns/wire';
import { StartupError } from './errors.js';
import { readStartupFile } from './startup-file.js';

/**
 * Reads the key file of `--notify-key`; undefined for the empty path. Throws a StartupError with the exit code that
 * names the file and the reason, and never the secret.
 */
export function readTsigKey(path: string, exitCode: number): TsigKey | undefined {
  if (path === '') return undefined;
  const text = readStartupFile(path, exitCode);
  try {
    return parseTsigKey(text);
  } catch (error) {
    throw new StartupError(`${path} is no TSIG key file: ${errorText(error)}`, exitCode);
  }
}
