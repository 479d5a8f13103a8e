import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { MeasureError } from '../errors.js';

export const IMAGES = ['kubedns', 'dnsmasq', 'sidecar', 'node-cache'] as const;
export type ImageName = (typeof IMAGES)[number];
/** The program of an image, and the API server, which has none. */
export type BundleName = ImageName | 'apiserver';

/** One line of a Dockerfile, continuation lines joined. */
interface Instruction {
  readonly keyword: string;
  readonly value: string;
}

/** The Dockerfile of an image in this checkout, parsed, and how the image is started. */
export class Dockerfile {
  readonly instructions: readonly Instruction[];

  constructor(name: ImageName) {
    const path = new URL(`../../../../images/${name}/Dockerfile`, import.meta.url);
    const text = readFileSync(path, 'utf8');
    this.instructions = text
      .replaceAll(/^#.*\n/gm, '')
      .replaceAll(/\s*\\\n\s*/g, ' ')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const [keyword = '', ...words] = line.split(' ');
        return { keyword, value: words.join(' ') };
      });
  }

  /** The build stage, with the lines before it. */
  get build(): readonly Instruction[] {
    return this.instructions.slice(0, this.#stageStarts[1]);
  }

  /** The stage that becomes the image. */
  get run(): readonly Instruction[] {
    return this.instructions.slice(this.#stageStarts.at(-1));
  }

  /** The values of one keyword in the stage that becomes the image. */
  all(keyword: string): readonly string[] {
    return this.run.filter((each) => each.keyword === keyword).map(({ value }) => value);
  }

  /** The ENTRYPOINT's words; throws when it is not in exec form. */
  get entrypoint(): readonly string[] {
    return JSON.parse(this.all('ENTRYPOINT').join('')) as string[];
  }

  /** The words of the ENTRYPOINT from `node` on. */
  get command(): readonly string[] {
    return this.entrypoint.slice(this.entrypoint.indexOf('node'));
  }

  /** The ENV lines as an object. */
  get environment(): Readonly<Record<string, string>> {
    const words = this.all('ENV').flatMap((line) => line.split(' '));
    const pairs = words.map((word) => word.split('=', 2) as [string, string]);
    return Object.fromEntries(pairs);
  }

  /** User and group as numbers; NaN for names. */
  get user(): { readonly uid: number; readonly gid: number } {
    const [uid, gid] = this.all('USER').join('').split(':').map(Number);
    return { uid: uid ?? Number.NaN, gid: gid ?? Number.NaN };
  }

  get #stageStarts(): readonly number[] {
    return this.instructions.flatMap(({ keyword }, at) => (keyword === 'FROM' ? [at] : []));
  }
}

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

/** The flags of the Node of an image, and further ones; Node takes the last where two say the same. */
export function nodeFlagsOf(container: ImageName, more: readonly string[] = []): readonly string[] {
  return [...imageStart(container).nodeFlags, ...more];
}

/** A bundle that this checkout has built. */
export function builtProgram(name: BundleName): string {
  return fileURLToPath(new URL(`../../../${name}/dist/${name}.cjs`, import.meta.url));
}
