import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderKustomization } from '../../manifests/kustomization.js';
import { valueAt, type Draft } from '../../manifests/mapping.js';
import { readKubeObjects, unreadable } from '../kube-objects.js';

/** The rendered manifests/kube-dns. */
export interface BaseManifest {
  readonly objects: readonly Draft[];
  /** The domain of its cluster.yaml. */
  readonly domain: string;
}

/** Renders the kustomization manifests/kube-dns; throws an InputError for a file that cannot be read. */
export function readBase(repository: string): BaseManifest {
  const folder = join(repository, 'manifests', 'kube-dns');
  const { objects, local } = renderKustomization((name) => {
    const file = join(folder, name);
    try {
      return readKubeObjects(readFileSync(file, 'utf8'), file).map(({ value }) => value);
    } catch (error) {
      throw unreadable(`manifests/kube-dns/${name}`, error);
    }
  });
  return { objects, domain: String(valueAt(local[0], 'data', 'domain')) };
}
