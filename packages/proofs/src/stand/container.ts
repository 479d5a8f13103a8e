import { RunningProgram } from '@kube-dns/testkit';

/** How a container is started: a bundle, the flags of its Node, its arguments and variables. */
export interface ContainerSpec {
  readonly name: string;
  readonly node: string;
  readonly nodeFlags: readonly string[];
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts the process that stands for a container of the pod. */
export function startContainer(spec: ContainerSpec): RunningProgram {
  const { name, node, nodeFlags, program, args, env } = spec;
  return new RunningProgram(name, node, [...nodeFlags, program, ...args], { env: env ?? {} });
}
