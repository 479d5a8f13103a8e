import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { outputOf } from '@kube-dns/testkit';
import type { Deployment } from '@kube-dns/testkit/manifests';
import { podForPodman } from './pod-for-podman.js';
import { PodNetwork } from './pod-network.js';
import { ClusterFixture } from './cluster-fixture.js';
import type { Podman } from './podman.js';

/** The pod of a Deployment under podman, in its own network. */
export class PodmanPod {
  readonly network = PodNetwork.create();
  readonly cluster = new ClusterFixture();
  readonly #podman: Podman;
  readonly #deployment: Deployment;
  readonly #file: string;

  constructor(podman: Podman, deployment: Deployment) {
    this.#podman = podman;
    this.#deployment = deployment;
    this.#file = join(podman.folder, 'pod.json');
  }

  async start(): Promise<void> {
    await this.cluster.start(this.network);
    // Podman ignores the sysctls of a pod; the network belongs to this pod alone.
    const { sysctls = [] } = this.#deployment.spec.template.spec.securityContext ?? {};
    for (const { name, value } of sysctls) {
      const file = `/proc/sys/${name.replaceAll('.', '/')}`;
      await this.network.output('sh', '-c', 'echo "$0" >"$1"', value, file);
    }
    writeFileSync(this.#file, podForPodman(this.#deployment, this.cluster));
    this.#podman.runIn(this.network, 'kube', 'play', '--network=host', this.#file);
  }

  /** The name of a container in podman. */
  nameOf(container: string): string {
    return `${this.#deployment.metadata.name}-${container}`;
  }

  /** A field of `podman inspect`. */
  inspect(container: string, field: string): string {
    return this.#podman.run('inspect', '--format', `{{.${field}}}`, this.nameOf(container));
  }

  /** The process of a container, as this machine sees it; 0 while there is none. */
  pid(container: string): number {
    return Number(this.inspect(container, 'State.Pid'));
  }

  /** What a container wrote, over all its runs. */
  log(container: string): string {
    return this.#podman.outputOf('logs', this.nameOf(container));
  }

  /** Sends SIGTERM to all containers and waits for their end, at most the grace period of the manifest. */
  async stop(): Promise<void> {
    const { terminationGracePeriodSeconds = 30 } = this.#deployment.spec.template.spec;
    const words = ['pod', 'stop', '--time', String(terminationGracePeriodSeconds)];
    const env = this.#podman.environment;
    await outputOf('podman', [...words, this.#deployment.metadata.name], env);
  }

  async close(): Promise<void> {
    this.#podman.run('pod', 'rm', '--all', '--force', '--time', '0');
    await this.network.close();
    await this.cluster.close();
    rmSync(this.#file, { force: true });
  }
}
