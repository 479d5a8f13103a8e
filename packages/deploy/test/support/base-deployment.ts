import { join } from 'node:path';
import { renderFolder } from '@kube-dns/cli';
import { findObject, type KubeManifest, MANIFESTS } from '@kube-dns/testkit/manifests';

/** The objects of manifests/kube-dns, rendered without kubectl; manifest-files.test.ts checks the fields of the kinds. */
export const BASE_OBJECTS = renderFolder(join(MANIFESTS, 'kube-dns'))
  .objects as unknown as readonly KubeManifest[];

/** The Deployment of {@link BASE_OBJECTS}. */
export const BASE_DEPLOYMENT = findObject(BASE_OBJECTS, 'Deployment', 'kube-dns');
