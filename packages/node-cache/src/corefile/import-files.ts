import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { systemReason } from '@kube-dns/base';
import { CorefileError } from './corefile-error.js';
import type { FindImports, ImportedFile } from './resolve.js';
import { readPlainFile } from './plain-file.js';

/** Imports of a Corefile on disk: files by their pattern, relative to the Corefile's folder. Throws a CorefileError. */
export function importsOnDisk(corefile: string): FindImports {
  return (pattern) => {
    const path = resolve(dirname(corefile), pattern);
    const folder = dirname(path);
    // Caddy's own limit: each further one multiplies the time that a name takes.
    if (/[*?].*[*?]/.test(path)) {
      throw new CorefileError(`import ${pattern}: it has more than one wildcard`);
    }
    const names = readable(folder, () => (existsSync(folder) ? readdirSync(folder).sort() : []));
    return names
      .filter((name) => isMatch(name, basename(path)))
      .flatMap((name): ImportedFile[] => {
        const file = join(folder, name);
        const isFile = readable(file, () => statSync(file).isFile());
        return isFile ? [{ name: file, text: readable(file, () => readPlainFile(file)) }] : [];
      });
  };
}

function readable<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new CorefileError(`cannot read ${path}: ${systemReason(error)}`, { cause: error });
  }
}

/** Whether a name matches a pattern with the wildcards that Caddy takes, `*` and `?`. */
export function isMatch(name: string, pattern: string): boolean {
  const escaped = pattern.replace(/[\\^$.+()|[\]{}]/g, '\\$&');
  const text = escaped.replaceAll('*', '[^/]*').replaceAll('?', '[^/]');
  return new RegExp(`^${text}$`).test(name);
}
