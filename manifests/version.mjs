// `npm version VERSION` runs this: package.json has the version of the project, and what must repeat it for
// kubectl and for readers gets it from there. Needs nothing but Node.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url));
const FILES = [
  'README.md',
  'manifests/README.md',
  'manifests/kube-dns/kustomization.yaml',
  'manifests/node-cache/kustomization.yaml',
  'manifests/trial-pod.yaml',
];
/** The tag of an image of ours, behind its name or in a kustomization; the version in README.md. */
const TAG =
  /(localhost\/(?:kubedns|dnsmasq|sidecar|node-cache):|newTag: |version \*\*)\d+\.\d+\.\d+[\w.-]*/g;

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
for (const file of FILES) {
  const path = join(root, file);
  writeFileSync(path, readFileSync(path, 'utf8').replace(TAG, `$1${version}`));
}
