import { systemReason } from '@kube-dns/base';
import { StartupError } from './errors.js';
import { readTextFile } from './text-file.js';

/** Reads a file that the start needs; throws a StartupError with the exit code that names the file and the reason. */
export function readStartupFile(path: string, exitCode: number): string {
  try {
    return readTextFile(path);
  } catch (error) {
    throw new StartupError(`cannot read ${path}: ${systemReason(error)}`, exitCode);
  }
}
