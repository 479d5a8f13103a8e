import { fileURLToPath } from 'node:url';
import type { ImageName } from './dockerfile.js';

/** The bundle of a container that this checkout has built. */
export function builtProgram(name: ImageName): string {
  return fileURLToPath(new URL(`../../../${name}/dist/${name}.cjs`, import.meta.url));
}
