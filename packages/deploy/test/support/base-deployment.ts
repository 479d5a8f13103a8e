import { join } from 'node:path';
import { renderFolder } from '@kube-dns/cli';
import { findObject, type KubeManifest, MANIFESTS } from '@kube-dns/testkit/manifests';

// manifest-fields.test.ts checks the fields of the kinds.
const objects = renderFolder(join(MANIFESTS, 'kube-dns')).objects as unknown as KubeManifest[];

/** The Deployment of manifests/kube-dns, rendered without kubectl. */
export const BASE_DEPLOYMENT = findObject(objects, 'Deployment', 'kube-dns');
