import { join } from 'node:path';
import { type KubeManifest, MANIFESTS, render } from '@kube-dns/testkit/manifests';

const rendered = new Map<string, readonly KubeManifest[]>();

/** What `kubectl kustomize` makes of a folder of manifests/: a file of tests renders each folder once. */
export function kustomized(folder: string): readonly KubeManifest[] {
  let objects = rendered.get(folder);
  if (objects === undefined) rendered.set(folder, (objects = render(join(MANIFESTS, folder))));
  return objects;
}
