import { basename, dirname, join } from 'node:path';
import { type FindImports, isMatch } from '@kube-dns/node-cache/corefile';
import { dataOf, type KubeObject } from './kube-objects.js';

/** Where the addon mounts the ConfigMap of CoreDNS, and a second one for what users add. */
const MOUNTS = ['/etc/coredns', '.'];
const CUSTOM_FOLDER = 'custom';
const CUSTOM_SUFFIX = '-custom';

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
