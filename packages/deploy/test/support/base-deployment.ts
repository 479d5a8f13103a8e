import { join } from 'node:path';
import { renderFolder } from '@kube-dns/cli';
import { findObject, type KubeManifest, MANIFESTS } from '@kube-dns/testkit/manifests';

// manifest-fields.test.ts checks the fields of the kinds.
const objectsIn = (folder: string) =>
  renderFolder(join(MANIFESTS, folder)).objects as unknown as readonly KubeManifest[];

/** The objects of manifests/kube-dns, rendered without kubectl. */
export const BASE_OBJECTS = objectsIn('kube-dns');

/** Those of manifests/node-cache. */
export const NODE_OBJECTS = objectsIn('node-cache');

/** The Deployment of {@link BASE_OBJECTS}. */
export const BASE_DEPLOYMENT = findObject(BASE_OBJECTS, 'Deployment', 'kube-dns');
