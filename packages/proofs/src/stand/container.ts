import { ServerProcess } from '@kube-dns/bench';

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
export function startContainer(spec: ContainerSpec): ServerProcess {
  const { name, node, nodeFlags, program, args, env } = spec;
  return new ServerProcess(name, node, [...nodeFlags, program, ...args], env);
}
