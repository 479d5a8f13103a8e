import { readFileSync } from 'node:fs';
import { MeasureError } from '../errors.js';

/** How the image of a container starts it. */
export interface ImageStart {
  /** The flags between `node` and the program. */
  readonly nodeFlags: readonly string[];
  /** Its settings of the C library's malloc. */
  readonly malloc: Readonly<Record<string, string>>;
}

/** Reads the Dockerfile of a container, which alone defines this; throws a MeasureError for one without flags. */
export function imageStart(container: string): ImageStart {
  const dockerfile = new URL(`../../../../images/${container}/Dockerfile`, import.meta.url);
  const text = readFileSync(dockerfile, 'utf8');
  const flags = /^ENTRYPOINT \[.*"node", (.+), "[^"]+"\]$/m.exec(text)?.[1];
  if (flags === undefined) throw new MeasureError(`the image of ${container} has no flags of Node`);
  const [environment = ''] = /^ENV .*$/m.exec(text) ?? [];
  const malloc = Array.from(environment.matchAll(/(MALLOC_\w+)=(\S+)/g), ([, name, value]) => [
    name,
    value,
  ]);
  return {
    nodeFlags: JSON.parse(`[${flags}]`) as readonly string[],
    malloc: Object.fromEntries(malloc) as Record<string, string>,
  };
}
