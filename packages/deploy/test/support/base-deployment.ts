import { join } from 'node:path';
import { renderFolder } from '@kube-dns/cli';
import { findObject, type KubeManifest, MANIFESTS } from '@kube-dns/testkit/manifests';

// manifest-fields.test.ts checks the fields of the kinds.
/** The objects of manifests/kube-dns, rendered without kubectl. */
export const BASE_OBJECTS = renderFolder(join(MANIFESTS, 'kube-dns'))
  .objects as unknown as readonly KubeManifest[];

/** Their Deployment. */
export const BASE_DEPLOYMENT = findObject(BASE_OBJECTS, 'Deployment', 'kube-dns');
