import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  asMapping,
  mappingsOf,
  readKubeObjects,
  textsOf,
  unreadable,
  valueAt,
  type Mapping,
} from '../kube-objects.js';

/** A mapping that is being put together. */
export type Draft = Record<string, unknown>;

/** What manifests/kube-dns makes, but for its place in a cluster. */
export interface BaseManifest {
  readonly objects: readonly Draft[];
  readonly clusterIP: string;
  readonly domain: string;
}

const CLUSTER_KINDS = ['ClusterRole', 'ClusterRoleBinding'];

/**
 * Reads the kustomization manifests/kube-dns with namespace and images put in, and the address and the
 * domain of its cluster.yaml beside it. Throws an InputError when the repository is not whole.
 */
export function readBase(repository: string): BaseManifest {
  const folder = join(repository, 'manifests', 'kube-dns');
  const read = (name: string) => {
    const file = join(folder, name);
    try {
      return readKubeObjects(readFileSync(file, 'utf8'), file).map(({ value }) => value);
    } catch (error) {
      throw unreadable(`manifests/kube-dns/${name}`, error);
    }
  };
  const [kustomization = {}] = read('kustomization.yaml');
  const all = textsOf(kustomization.resources).flatMap(read);
  const isLocal = ({ metadata }: Mapping) =>
    valueAt(metadata, 'annotations', 'config.kubernetes.io/local-config') === 'true';
  const cluster = asMapping(all.find(isLocal)?.data) ?? {};
  const objects = all
    .filter((each) => !isLocal(each))
    .map((each) => structuredClone(each) as Draft);
  for (const each of objects) placeObject(each, kustomization);
  return { objects, clusterIP: String(cluster.clusterIP), domain: String(cluster.domain) };
}

function placeObject(each: Draft, kustomization: Mapping): void {
  const { namespace } = kustomization;
  if (!CLUSTER_KINDS.includes(String(each.kind))) draftAt(each, 'metadata').namespace = namespace;
  for (const subject of mappingsOf(each.subjects)) (subject as Draft).namespace = namespace;
  const images = mappingsOf(kustomization.images);
  const containers = valueAt(each, 'spec', 'template', 'spec', 'containers');
  for (const container of mappingsOf(containers)) {
    const image = images.find(({ name }) => name === container.image);
    if (image === undefined) continue;
    (container as Draft).image = `${String(image.newName)}:${String(image.newTag)}`;
  }
}

/** The mapping below the keys, made where there is none. */
export function draftAt(draft: Draft, ...keys: readonly string[]): Draft {
  return keys.reduce<Draft>((inner, key) => {
    inner[key] = asMapping(inner[key]) ?? {};
    return inner[key] as Draft;
  }, draft);
}

/** The list below a key, made where there is none. */
export function listAt(draft: Draft, key: string): unknown[] {
  const list = Array.isArray(draft[key]) ? (draft[key] as unknown[]) : [];
  draft[key] = list;
  return list;
}
