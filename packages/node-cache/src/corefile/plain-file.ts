import { readFileSync, statSync } from 'node:fs';

const MAX_BYTES = 1024 * 1024;

/** The text of a plain file of at most a MiB. Throws the error of the file system, or one with the reason. */
export function readPlainFile(path: string): string {
  const stat = statSync(path);
  if (!stat.isFile()) throw new Error('it is no plain file');
  if (stat.size > MAX_BYTES) throw new Error(`larger than ${MAX_BYTES} bytes`);
  return readFileSync(path, 'utf8');
}
