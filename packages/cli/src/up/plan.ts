import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { basename, delimiter, join, resolve } from 'node:path';
import { StartError } from '../errors.js';
import { imageName } from '../manifests/objects.js';
import type { ContainerProbes, ContainerSpec, PodSpec, PortSpec, ProbeSpec } from './manifest.js';
import type { PathTranslator, Volumes } from './volumes.js';

/** All that is needed to start and probe one container on this machine. */
export interface ContainerPlan {
  readonly name: string;
  readonly program: string;
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly ports: readonly PortSpec[];
  readonly probes: ContainerProbes;
  readonly terminationGraceMs: number;
}

interface Machine {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly packagesFolder: string;
}

/** Plans how the containers of a pod run here; throws a StartError when one cannot. */
export function planPod(pod: PodSpec, volumes: Volumes, machine: Machine): ContainerPlan[] {
  return pod.containers.map((container) => planContainer(container, pod, volumes, machine));
}

function planContainer(
  container: ContainerSpec,
  pod: PodSpec,
  volumes: Volumes,
  machine: Machine,
): ContainerPlan {
  const translate = volumes.translator(container);
  const cwd = resolve(pod.folder, translate(container.workingDir));
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new StartError(`container ${container.name}: workingDir ${cwd} is not a folder`);
  }
  const env = mergeEnv(machine.env, container.env, translate);
  const search = { packagesFolder: machine.packagesFolder, path: env.PATH ?? '', folder: cwd };
  const command = container.command.map(translate);
  const program = resolveContainerProgram({ ...container, command }, search);
  return {
    name: container.name,
    program: programNameOf(container) ?? container.name,
    file: program.file,
    args: [...program.leadingArgs, ...command.slice(1), ...container.args.map(translate)],
    env,
    cwd,
    ports: container.ports,
    probes: planProbes(container, translate, search),
    terminationGraceMs: pod.terminationGraceMs,
  };
}

/**
 * A container also gets the settings of its image and this machine's environment (PATH, HOME, credentials of
 * a kubeconfig's plug-in); what the machine sets wins over the image, and what the manifest sets over both.
 */
function mergeEnv(
  machine: Machine['env'],
  own: ReadonlyMap<string, string>,
  translate: PathTranslator,
): Record<string, string> {
  const env: Record<string, string> = { ...IMAGE_ENVIRONMENT };
  for (const [name, value] of Object.entries(machine)) if (value !== undefined) env[name] = value;
  for (const [name, value] of own) env[name] = translate(value);
  return env;
}

function planProbes(
  container: ContainerSpec,
  translate: PathTranslator,
  search: ProgramSearch,
): ContainerProbes {
  const plan = (probe: ProbeSpec | undefined): ProbeSpec | undefined => {
    if (probe?.action.kind !== 'exec') return probe;
    const [name = '', ...args] = probe.action.command.map(translate);
    const program = findProgram(name, search);
    if (program === undefined) {
      throw new StartError(`container ${container.name}: unknown program ${name} in a probe`);
    }
    const command = [program.file, ...program.leadingArgs, ...args];
    return { ...probe, action: { kind: 'exec', command } };
  };
  const { startup, readiness, liveness } = container.probes;
  return { startup: plan(startup), readiness: plan(readiness), liveness: plan(liveness) };
}

/** What is executed: `file`, with `leadingArgs` before the container's arguments. */
interface Program {
  readonly file: string;
  readonly leadingArgs: readonly string[];
}

interface ProgramSearch {
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
function resolveContainerProgram(container: ContainerSpec, search: ProgramSearch): Program {
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
function findProgram(command: string, search: ProgramSearch): Program | undefined {
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
  return { file: process.execPath, leadingArgs: ['--disable-sigusr1', bundle] };
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

/** What the images set for the C library's malloc; the reasons are in `images/README.md`. */
export const IMAGE_ENVIRONMENT: Readonly<Record<string, string>> = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_TRIM_THRESHOLD_: '65536',
  MALLOC_MMAP_THRESHOLD_: '32768',
  MALLOC_TOP_PAD_: '16384',
};
