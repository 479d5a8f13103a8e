import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** The bundle of a container that this checkout has built. */
export function builtProgram(name: 'dnsmasq' | 'kubedns' | 'sidecar'): string {
  const manifest = createRequire(import.meta.url).resolve(`@kube-dns/${name}/package.json`);
  return join(dirname(manifest), 'dist', `${name}.cjs`);
}
