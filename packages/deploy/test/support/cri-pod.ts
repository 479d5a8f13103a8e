import { mkdtempSync, readFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { parsePod, type ContainerSpec } from '@kube-dns/cli';
import { memoryBytes, until } from '@kube-dns/testkit';
import { containerOf, type Deployment } from '@kube-dns/testkit/manifests';
import type { Containerd } from './containerd.js';
import type { CriMessage } from './cri-messages.js';
import { PodNetwork } from './pod-network.js';
import { ClusterFixture } from './cluster-fixture.js';

const END_STEP_MS = 500;
const RUNTIME_DEFAULT = { profile_type: 0 };

/** The pod of a Deployment under containerd, each field as kubelet passes it to the runtime. */
export class CriPod {
  readonly cluster = new ClusterFixture();
  readonly #containerd: Containerd;
  readonly #deployment: Deployment;
  readonly #logs: string;
  readonly #pids = new Map<string, number>();
  #sandbox = '';
  #network: PodNetwork | undefined;

  constructor(containerd: Containerd, deployment: Deployment) {
    this.#containerd = containerd;
    this.#deployment = deployment;
    this.#logs = mkdtempSync(join(containerd.folder, 'logs-'));
  }

  /** The pod's network; throws before the start. */
  get network(): PodNetwork {
    if (this.#network === undefined) throw new Error('the pod was not started');
    return this.#network;
  }

  /** Starts the containers, all or those named. */
  async start(only?: readonly string[]): Promise<void> {
    const { client } = this.#containerd;
    const config = this.#sandboxConfig();
    const { pod_sandbox_id = '' } = await client.call('RunPodSandbox', { config });
    this.#sandbox = pod_sandbox_id;
    this.#network = PodNetwork.of(await client.pidOf('PodSandbox', this.#sandbox));
    await this.cluster.start(this.#network);
    const { containers } = parsePod(JSON.stringify(this.#deployment), 'deployment.yaml');
    for (const spec of containers) {
      if (only !== undefined && !only.includes(spec.name)) continue;
      const { container_id = '' } = await client.call('CreateContainer', {
        pod_sandbox_id,
        config: this.#containerConfig(spec),
        sandbox_config: config,
      });
      await client.call('StartContainer', { container_id });
      this.#pids.set(spec.name, await client.pidOf('Container', container_id));
    }
  }

  /** A file of /proc about a container's process. */
  proc(container: string, file: string): string {
    return readFileSync(`/proc/${this.#pids.get(container)}/${file}`, 'utf8');
  }

  /** What a container wrote. */
  log(container: string): string {
    const file = join(this.#logs, `${container}.log`);
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  }

  async close(): Promise<void> {
    await this.#network?.close();
    try {
      if (this.#sandbox !== '') {
        for (const method of ['StopPodSandbox', 'RemovePodSandbox']) await this.#end(method);
      }
    } finally {
      await this.cluster.close();
    }
  }

  /** Calls a method until it succeeds, as kubelet does: both may be called again after a failure. */
  async #end(method: string): Promise<void> {
    let failure: unknown;
    const hasEnded = async () => {
      try {
        await this.#containerd.client.call(method, { pod_sandbox_id: this.#sandbox });
        return true;
      } catch (error) {
        failure = error;
        return false;
      }
    };
    await until(() => String(failure), hasEnded, { stepMs: END_STEP_MS });
  }

  #sandboxConfig(): CriMessage {
    const { spec } = this.#deployment.spec.template;
    const { sysctls = [] } = spec.securityContext ?? {};
    const { name } = this.#deployment.metadata;
    return {
      metadata: { name, uid: this.#logs, namespace: 'kube-system' },
      hostname: name,
      log_directory: this.#logs,
      linux: {
        security_context: { supplemental_groups: this.#groups(), seccomp: RUNTIME_DEFAULT },
        sysctls: Object.fromEntries(sysctls.map((each) => [each.name, each.value])),
      },
    };
  }

  #containerConfig({ name, args, env, mounts }: ContainerSpec): CriMessage {
    const {
      image,
      resources,
      securityContext: security = {},
    } = containerOf(this.#deployment, name);
    const own = [...env].map(([key, value]) => ({ key, value }));
    const given = this.cluster.environment.map((each) => ({
      key: each.name,
      value: each.value,
    }));
    return {
      metadata: { name },
      image: { image },
      args,
      envs: [...own, ...given],
      mounts: mounts.map(({ volume, mountPath }) => ({
        container_path: mountPath,
        host_path: this.cluster.folderOf(volume),
        readonly: volume !== 'snapshot',
      })),
      log_path: `${name}.log`,
      linux: {
        resources: { memory_limit_in_bytes: memoryBytes(resources?.limits?.memory) },
        security_context: {
          capabilities: {
            add_capabilities: security.capabilities?.add ?? [],
            drop_capabilities: security.capabilities?.drop ?? [],
          },
          run_as_user: { value: security.runAsUser },
          run_as_group: { value: security.runAsGroup },
          readonly_rootfs: security.readOnlyRootFilesystem ?? false,
          supplemental_groups: this.#groups(),
          no_new_privs: security.allowPrivilegeEscalation === false,
          seccomp: RUNTIME_DEFAULT,
        },
      },
    };
  }

  #groups(): readonly number[] {
    const { supplementalGroups = [], fsGroup } =
      this.#deployment.spec.template.spec.securityContext ?? {};
    return fsGroup === undefined
      ? supplementalGroups
      : [...new Set([...supplementalGroups, fsGroup])];
  }
}
