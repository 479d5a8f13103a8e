import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import type { Container, Deployment, KubeManifest, ManifestKinds } from './manifest-kinds.js';

/** The repository's `manifests` folder. */
export const MANIFESTS = fileURLToPath(new URL('../../../../manifests', import.meta.url));

/** What is applied to a cluster: folders with a kustomization, from {@link MANIFESTS}. */
export const KUSTOMIZATIONS = [
  'kube-dns',
  'overlays/autoscaler',
  'overlays/beside',
  'overlays/gke-like',
  'overlays/monitoring',
] as const;

/** As {@link KUSTOMIZATIONS}, what runs a DNS cache on every node. */
export const NODE_KUSTOMIZATIONS = [
  'overlays/node-cache-cilium',
  'overlays/node-cache-iptables',
  'overlays/node-cache-ipvs',
  'overlays/node-cache-nftables',
] as const;

/** The objects of a YAML text; throws what the parser finds wrong. */
export function readObjects(text: string): KubeManifest[] {
  return [...parseAllDocuments(text)].map((document) => {
    const error = document.errors[0];
    if (error !== undefined) throw error;
    return document.toJS() as KubeManifest;
  });
}

/** The objects that a kustomization makes, by `kubectl kustomize`, which asks no server. */
export function render(folder: string): KubeManifest[] {
  return readObjects(renderText(folder));
}

/** As {@link render}, as YAML. */
export function renderText(folder: string): string {
  return execFileSync('kubectl', ['kustomize', folder], { encoding: 'utf8' });
}

/** The objects of one kind. */
export function objectsOf<K extends keyof ManifestKinds>(
  objects: readonly KubeManifest[],
  kind: K,
): ManifestKinds[K][] {
  // What fields a kind has is looked at by manifest-files.test.ts.
  return objects.filter((each) => each.kind === kind) as ManifestKinds[K][];
}

/** The one object of this kind and name; throws where there is none or more. */
export function findObject<K extends keyof ManifestKinds>(
  objects: readonly KubeManifest[],
  kind: K,
  name: string,
): ManifestKinds[K] {
  const [found, ...others] = objectsOf(objects, kind).filter((each) => each.metadata.name === name);
  if (found === undefined || others.length > 0) throw new Error(`not one ${kind} ${name}`);
  return found;
}

/** The containers of a deployment or a daemon set. */
export function containersOf({ spec }: Pick<Deployment, 'spec'>): readonly Container[] {
  return spec.template.spec.containers;
}

/** The container of this name. */
export function containerOf(deployment: Pick<Deployment, 'spec'>, name: string): Container {
  const found = containersOf(deployment).find((each) => each.name === name);
  if (found === undefined) throw new Error(`no container ${name}`);
  return found;
}

/** The YAML of the legacy addon, and the objects in it. */
export const STOCK_FILE = fileURLToPath(
  new URL('../../fixtures/stock-kube-dns.yaml', import.meta.url),
);
export const STOCK_OBJECTS: readonly KubeManifest[] = readObjects(readFileSync(STOCK_FILE, 'utf8'));
