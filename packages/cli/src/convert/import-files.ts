import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { FindImports, ImportedFile } from './corefile/resolve.js';
import { dataOf, type KubeObject, unreadable } from './kube-objects.js';

/** Where the addon mounts the ConfigMap of CoreDNS, and a second one for what users add. */
const MOUNTS = ['/etc/coredns', '.'];
const CUSTOM_FOLDER = 'custom';
const CUSTOM_SUFFIX = '-custom';
const MAX_BYTES = 1024 * 1024;

/** Imports of a Corefile on disk: files by their pattern, relative to the Corefile's folder. */
export function importsOnDisk(corefile: string): FindImports {
  return (pattern) => {
    const path = resolve(dirname(corefile), pattern);
    const folder = dirname(path);
    const names = existsSync(folder) ? readdirSync(folder).sort() : [];
    return names
      .filter((name) => isMatch(name, basename(path)))
      .flatMap((name) => readImport(join(folder, name)));
  };
}

function readImport(name: string): ImportedFile[] {
  try {
    const stat = statSync(name);
    if (!stat.isFile()) return [];
    if (stat.size > MAX_BYTES) throw new Error(`more than ${MAX_BYTES} bytes`);
    return [{ name, text: readFileSync(name, 'utf8') }];
  } catch (error) {
    throw unreadable(name, error);
  }
}

/** Whether a name matches a pattern with the wildcards that Caddy takes, `*` and `?`. */
function isMatch(name: string, pattern: string): boolean {
  const escaped = pattern.replace(/[\\^$.+()|[\]{}]/g, '\\$&');
  const text = escaped.replaceAll('*', '[^/]*').replaceAll('?', '[^/]');
  return new RegExp(`^${text}$`).test(name);
}

/**
 * Imports of a Corefile in a ConfigMap: its other keys, and for `custom/*` those of the ConfigMap with the suffix
 * `-custom`, which the large providers mount there.
 */
export function importsInObjects(
  configMap: KubeObject,
  objects: readonly KubeObject[],
): FindImports {
  const custom = objects.find(
    ({ kind, name }) => kind === 'ConfigMap' && name === configMap.name + CUSTOM_SUFFIX,
  );
  return (pattern) => {
    const folder = dirname(pattern);
    const isOwn = MOUNTS.includes(folder);
    const isCustom = MOUNTS.some((mount) => join(mount, CUSTOM_FOLDER) === join(folder));
    const map = isOwn ? configMap : isCustom ? custom : undefined;
    if (map === undefined) return [];
    return [...dataOf(map)]
      .filter(([key]) => isMatch(key, basename(pattern)))
      .map(([key, text]) => ({ name: `${map.name}: ${key}`, text }));
  };
}
