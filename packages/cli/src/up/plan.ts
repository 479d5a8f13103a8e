import { resolve } from 'node:path';
import { StartError } from '../errors.js';
import type { ContainerProbes, ContainerSpec } from './container-spec.js';
import { IMAGE_ENVIRONMENT } from './image-environment.js';
import type { PodSpec } from './manifest.js';
import type { PortSpec } from './port-spec.js';
import type { ProbeSpec } from './probe-spec.js';
import {
  findProgram,
  programNameOf,
  resolveContainerProgram,
  type ProgramSearch,
} from './programs.js';
import { isFolder } from './folders.js';
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

/** What every container gets from the machine. */
export interface Machine {
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
  if (!isFolder(cwd)) {
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
