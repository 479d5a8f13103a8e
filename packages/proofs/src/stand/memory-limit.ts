import { readFileSync } from 'node:fs';
import { MeasureError } from '@kube-dns/testkit';

const DEPLOYMENT = new URL('../../../../manifests/kube-dns/deployment.yaml', import.meta.url);
const MIB = 2 ** 20;

/** What the manifests let a container have. */
export interface MemoryLimit {
  /** Its memory limit, in bytes. */
  readonly bytes: number;
  /** `NODE_OPTIONS` of the container: the heap that goes with the limit. */
  readonly nodeFlags: readonly string[];
}

/** The limits of a container of `manifests/kube-dns`; throws a MeasureError when they are not there. */
export function memoryLimit(container: string): MemoryLimit {
  const text = readFileSync(DEPLOYMENT, 'utf8');
  const begin = text.search(new RegExp(`^        - name: ${container}$`, 'm'));
  const [own = ''] = text.slice(Math.max(0, begin + 1)).split(/^ {8}- name: /m);
  const mib = Number(/limits:\s+memory: (\d+)Mi/.exec(own)?.[1]);
  const options = /name: NODE_OPTIONS\s+value: (.+)/.exec(own)?.[1];
  if (begin < 0 || Number.isNaN(mib) || options === undefined) {
    throw new MeasureError(`the deployment has no memory limit for the container ${container}`);
  }
  return { bytes: mib * MIB, nodeFlags: options.trim().split(/\s+/) };
}
