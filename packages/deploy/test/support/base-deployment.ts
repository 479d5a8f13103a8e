import { join } from 'node:path';
import { renderFolder } from '@kube-dns/cli';
import { findObject, type KubeManifest, MANIFESTS } from '@kube-dns/testkit/manifests';

// What fields the kinds have is looked at by manifest-fields.test.ts.
const objects = renderFolder(join(MANIFESTS, 'kube-dns')).objects as unknown as KubeManifest[];

/** The Deployment of manifests/kube-dns, rendered without kubectl. */
export const BASE_DEPLOYMENT = findObject(objects, 'Deployment', 'kube-dns');
