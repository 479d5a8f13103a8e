import { statSync } from 'node:fs';
import { isAbsolute, relative } from 'node:path';

/** Whether `path` is an existing folder. */
export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** The path as a user in `cwd` would write it: relative below that folder, else unchanged. */
export function displayPath(path: string, cwd = process.cwd()): string {
  if (!isAbsolute(path)) return path;
  const short = relative(cwd, path);
  return short === '' || short.startsWith('..') ? path : short;
}
