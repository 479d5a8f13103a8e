import { MeasureError } from '../errors.js';
import { Dockerfile, type ImageName } from './dockerfile.js';

/** How the image of a container starts it. */
export interface ImageStart {
  /** The flags between `node` and the program. */
  readonly nodeFlags: readonly string[];
  /** Its settings of the C library's malloc. */
  readonly malloc: Readonly<Record<string, string>>;
}

/** Reads the Dockerfile of a container, which alone defines this; throws a MeasureError for one without flags. */
export function imageStart(container: ImageName): ImageStart {
  const { command, environment } = new Dockerfile(container);
  const nodeFlags = command.slice(1, -1);
  if (nodeFlags.length === 0)
    throw new MeasureError(`the image of ${container} has no flags of Node`);
  const malloc = Object.entries(environment).filter(([name]) => name.startsWith('MALLOC_'));
  return { nodeFlags, malloc: Object.fromEntries(malloc) };
}
