import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { basename, delimiter, join, resolve } from 'node:path';
import { StartError } from '../errors.js';
import { imageName } from '../manifests/image-name.js';
import type { ContainerSpec } from './container-spec.js';

/** What is executed: `file`, with `leadingArgs` before the container's arguments. */
export interface Program {
  readonly file: string;
  readonly leadingArgs: readonly string[];
}

/** Where programs are looked for. */
export interface ProgramSearch {
  /** The repository's `packages` folder. */
  readonly packagesFolder: string;
  /** The value of PATH. */
  readonly path: string;
  /** The folder that a relative path with a slash starts from. */
  readonly folder: string;
}

/** Last segment of an image name → the program of this repository that does the same. */
const PROGRAM_OF_IMAGE: Readonly<Record<string, string>> = {
  kubedns: 'kubedns',
  'k8s-dns-kube-dns': 'kubedns',
  dnsmasq: 'dnsmasq',
  'k8s-dns-dnsmasq-nanny': 'dnsmasq',
  sidecar: 'sidecar',
  'k8s-dns-sidecar': 'sidecar',
  'node-cache': 'node-cache',
  'k8s-dns-node-cache': 'node-cache',
  apiserver: 'apiserver',
};

/** The name of the program that a container runs; it need not exist. */
export function programNameOf(container: ContainerSpec): string | undefined {
  const command = container.command[0];
  if (command !== undefined) return basename(command);
  return PROGRAM_OF_IMAGE[imageName(container.image)];
}

/** Finds the program of a container; throws a StartError that names the container if there is none. */
export function resolveContainerProgram(container: ContainerSpec, search: ProgramSearch): Program {
  const fail = (reason: string): never => {
    throw new StartError(`container ${container.name}: ${reason}`);
  };
  const command = container.command[0];
  if (command !== undefined) {
    return (
      findProgram(command, search) ?? fail(`unknown program ${command}: ${searchedPlaces(command)}`)
    );
  }
  const name = programNameOf(container);
  if (name === undefined) {
    if (container.image === '') return fail('it has neither a command nor an image');
    return fail(
      `unknown program: no command is given and the image ${container.image} is not ours`,
    );
  }
  const program = findOwnProgram(name, search.packagesFolder);
  return program ?? fail(`the program ${name} is not built: run npm run build`);
}

/** Finds a command by name (our programs first, then PATH) or by path; undefined if it does not exist. */
export function findProgram(command: string, search: ProgramSearch): Program | undefined {
  if (command.includes('/')) {
    const file = resolve(search.folder, command);
    return isExecutable(file) ? { file, leadingArgs: [] } : undefined;
  }
  const own = findOwnProgram(command, search.packagesFolder);
  if (own !== undefined) return own;
  for (const folder of search.path.split(delimiter)) {
    const file = resolve(folder, command);
    if (folder !== '' && isExecutable(file)) return { file, leadingArgs: [] };
  }
  return undefined;
}

function findOwnProgram(name: string, packagesFolder: string): Program | undefined {
  const bundle = join(packagesFolder, name, 'dist', `${name}.cjs`);
  if (!/^[a-z0-9-]+$/.test(name) || !existsSync(bundle)) return undefined;
  // The Node that runs this command is new enough; the one on PATH may not be.
  return { file: process.execPath, leadingArgs: [bundle] };
}

function searchedPlaces(command: string): string {
  if (command.includes('/')) return 'there is no such executable file';
  return 'it is neither one of ours nor on PATH';
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false; // does not exist, or we may not execute it
  }
}
