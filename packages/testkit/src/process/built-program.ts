import { fileURLToPath } from 'node:url';

/** The bundle of a container that this checkout has built. */
export function builtProgram(name: 'dnsmasq' | 'kubedns' | 'node-cache' | 'sidecar'): string {
  return fileURLToPath(new URL(`../../../${name}/dist/${name}.cjs`, import.meta.url));
}
