import { readFileSync, statSync } from 'node:fs';

const MAX_BYTES = 1024 * 1024;

/** The text of a plain file of at most a MiB; undefined for what is no file. Throws the error of the file system. */
export function readTextFile(path: string): string | undefined {
  const stat = statSync(path);
  if (!stat.isFile()) return undefined;
  if (stat.size > MAX_BYTES) throw new Error(`larger than ${MAX_BYTES} bytes`);
  return readFileSync(path, 'utf8');
}
