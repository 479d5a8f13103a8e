import { MeasureError, memoryBytes } from '@kube-dns/testkit';
import { manifestContainer } from './manifest.js';

/** What the manifests let a container have. */
export interface MemoryLimit {
  /** Its memory limit, in bytes. */
  readonly bytes: number;
  /** `NODE_OPTIONS` of the container: the heap that goes with the limit. */
  readonly nodeFlags: readonly string[];
}

/** The limits of a container of `manifests/kube-dns`; throws a MeasureError when they are not there. */
export function memoryLimit(name: string): MemoryLimit {
  const { resources, env } = manifestContainer(name);
  const bytes = memoryBytes(resources?.limits?.memory);
  const options = env.get('NODE_OPTIONS');
  if (Number.isNaN(bytes) || options === undefined) {
    throw new MeasureError(`the deployment has no memory limit for the container ${name}`);
  }
  return { bytes, nodeFlags: options.trim().split(/\s+/) };
}
