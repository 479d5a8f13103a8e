import { readFileSync } from 'node:fs';
import { MeasureError } from '@kube-dns/testkit';
import { memoryLimit } from './memory-limit.js';

/**
 * The flags of Node that a container has in a cluster: those of its image, and what the manifest adds in
 * `NODE_OPTIONS`. Throws a MeasureError when either is not there.
 */
export function containerNodeFlags(container: string): readonly string[] {
  return [...imageNodeFlags(container), ...memoryLimit(container).nodeFlags];
}

/** Those of its image alone; throws a MeasureError when they are not there. */
export function imageNodeFlags(container: string): readonly string[] {
  const dockerfile = new URL(`../../../../images/${container}/Dockerfile`, import.meta.url);
  const flags = /^ENTRYPOINT \["node", (.+), "[^"]+"\]$/m.exec(
    readFileSync(dockerfile, 'utf8'),
  )?.[1];
  if (flags === undefined) throw new MeasureError(`the image of ${container} has no flags of Node`);
  return JSON.parse(`[${flags}]`) as readonly string[];
}
