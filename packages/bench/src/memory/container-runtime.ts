import { readFileSync } from 'node:fs';
import {
  builtProgram,
  type Closable,
  imageStart,
  memoryBytes,
  type Owned,
} from '@kube-dns/testkit';
import { ControlGroup } from '../control-group/control-group.js';
import type { Programs } from '../load/server-testbed.js';
import type { ContainerName } from './container-name.js';
import type { PodmanImages } from './podman-images.js';

/** How the program of a container is started. */
export interface ContainerStart {
  /** A command with arguments that runs the words after it. */
  readonly through: readonly string[];
  readonly node: string;
  readonly nodeFlags: readonly string[];
  readonly program: string;
}

/** What gives containers their control groups. */
export interface ContainerRuntime {
  /** How a container is to be started; what it needs is added to `owned`. Rejects where there can be none. */
  place(name: ContainerName, owned: Owned): ContainerStart | Promise<ContainerStart>;
  /** The group of a container that runs. */
  groupOf(name: ContainerName): ControlGroup | Promise<ControlGroup>;
}

/** Each container is a process of this machine in a group of its own, from its first instruction on. */
export class GroupRuntime implements ContainerRuntime {
  readonly #programs: Programs;
  readonly #nodeOf: (name: ContainerName) => string;
  readonly #groups = new Map<ContainerName, ControlGroup>();

  /** `nodeOf` is the Node of each. */
  constructor(programs: Programs, nodeOf: (name: ContainerName) => string = () => programs.node) {
    this.#programs = programs;
    this.#nodeOf = nodeOf;
  }

  place(name: ContainerName, owned: Owned): ContainerStart {
    const group = ControlGroup.create(`bench-memory-${name}`, 'memory');
    if (typeof group === 'string') throw new Error(group);
    this.#groups.set(name, owned.add(group));
    const { kubedns, dnsmasq } = this.#programs;
    const program = { kubedns, dnsmasq, sidecar: builtProgram('sidecar') }[name];
    const { nodeFlags } = imageStart(name);
    return { through: group.entrance, node: this.#nodeOf(name), nodeFlags, program };
  }

  groupOf(name: ContainerName): ControlGroup {
    return this.#groups.get(name)!;
  }
}

/** Each container is one of podman, of images with one Node, and with the limits of the manifest. */
export class PodmanRuntime implements ContainerRuntime {
  readonly #images: PodmanImages;

  constructor(images: PodmanImages) {
    this.#images = images;
  }

  async place(name: ContainerName, owned: Owned): Promise<ContainerStart> {
    const ended: Closable = {
      close: () => this.#images.output('rm', '--force', '--ignore', '--time', '0', name),
    };
    owned.add(ended);
    const hardened = ['--read-only', '--cap-drop=all', '--security-opt=no-new-privileges'];
    const place = ['--rm', `--name=${name}`, '--network=host', ...hardened];
    const words = ['run', ...place, ...(await limitsOf(name)), '--entrypoint='];
    const { nodeFlags } = imageStart(name);
    return {
      through: this.#images.command(...words, this.#images.imageOf(name)),
      node: 'node',
      nodeFlags,
      program: `/app/${name}.cjs`,
    };
  }

  async groupOf(name: ContainerName): Promise<ControlGroup> {
    const pid = await this.#images.output('inspect', '--format', '{{.State.Pid}}', name);
    return ControlGroup.of(Number(pid), 'memory');
  }
}

/** The limit of memory and the variables for Node that a container has in manifests/kube-dns, for podman. */
export async function limitsOf(name: ContainerName): Promise<readonly string[]> {
  // Only here: it takes its time to load.
  const { containerOf, findObject, MANIFESTS, readObjects } =
    await import('@kube-dns/testkit/manifests');
  const text = readFileSync(`${MANIFESTS}/kube-dns/deployment.yaml`, 'utf8');
  const deployment = findObject(readObjects(text), 'Deployment', 'kube-dns');
  const { env = [], resources } = containerOf(deployment, name);
  const options = env.find((variable) => variable.name === 'NODE_OPTIONS')?.value;
  return [
    `--memory=${memoryBytes(resources?.limits?.memory)}`,
    ...(options === undefined ? [] : [`--env=NODE_OPTIONS=${options}`]),
  ];
}
