import { join } from 'node:path';
import {
  builtProgram,
  type Closable,
  clusterServerArgs,
  comesTrue,
  freePort,
  isOk,
  MeasureError,
  type RunningProgram,
} from '@kube-dns/testkit';
import { type ContainerSpec, startContainer } from './container.js';
import { containerNodeFlags } from './container-flags.js';

/** How the pod of the manifest is started on this machine. */
export interface PodOptions {
  readonly node: string;
  /** Flags of Node, behind those that each container has. */
  readonly nodeFlags: readonly string[];
  readonly apiUrl: string;
  /** The volume of the ConfigMap; it must name name servers, lest the machine's own are asked. */
  readonly configPath: string;
  /** Where each container's timers and handles are written, see resource-watch.ts; empty: nowhere. */
  readonly resourceFolder?: string;
  /** Seconds between two probes of the sidecar; 5 in the manifest. */
  readonly probeSeconds?: number;
  /** Further flags of kubedns. */
  readonly kubednsFlags?: readonly string[];
  /** Records that dnsmasq's cache holds; 1,000 in the manifest. */
  readonly cacheSize?: number;
}

/** The ports that the pod's containers listen on, all on this machine. */
export interface PodPorts {
  readonly dns: number;
  readonly kubedns: number;
  readonly readiness: number;
  readonly kubednsMetrics: number;
  readonly dnsmasqMetrics: number;
  readonly sidecar: number;
}

export const CONTAINER_NAMES = ['kubedns', 'dnsmasq', 'sidecar'] as const;
export type ContainerName = (typeof CONTAINER_NAMES)[number];

const STEP_MS = 50;
const PROBE_LIMIT_MS = 5_000;
const PROBED_NAME = 'kubernetes.default.svc.cluster.local';

/** Where the containers of a pod can listen, found before any is started. */
export async function freePodPorts(): Promise<PodPorts> {
  return {
    dns: await freePort(),
    kubedns: await freePort(),
    readiness: await freePort(),
    kubednsMetrics: await freePort(),
    dnsmasqMetrics: await freePort(),
    sidecar: await freePort(),
  };
}

/** How the manifest starts each container, on ports of this machine. */
export function containerSpecs(
  options: PodOptions,
  ports: PodPorts,
): Readonly<Record<ContainerName, ContainerSpec>> {
  const { kubednsFlags = [], cacheSize = 1_000, probeSeconds = 5 } = options;
  const spec = (name: ContainerName, args: readonly string[], env = {}): ContainerSpec => ({
    name,
    node: options.node,
    nodeFlags: flagsOf(name, options),
    program: builtProgram(name),
    args,
    env: { ...env, ...resourceFile(name, options) },
  });
  const probe = (label: string, port: number) =>
    `--probe=${label},127.0.0.1:${port},${PROBED_NAME},${probeSeconds},SRV`;
  return {
    kubedns: spec(
      'kubedns',
      [
        '--domain=cluster.local.',
        '--dns-bind-address=127.0.0.1',
        `--dns-port=${ports.kubedns}`,
        `--healthz-port=${ports.readiness}`,
        `--kube-master-url=${options.apiUrl}`,
        `--config-dir=${options.configPath}`,
        '--v=2',
        ...kubednsFlags,
      ],
      { PROMETHEUS_PORT: String(ports.kubednsMetrics) },
    ),
    dnsmasq: spec('dnsmasq', [
      '-v=2',
      `-configDir=${options.configPath}`,
      '-restartDnsmasq=true',
      `-kubednsServer=127.0.0.1:${ports.kubedns}`,
      `-metrics-addr=127.0.0.1:${ports.dnsmasqMetrics}`,
      '--',
      '-k',
      `--port=${ports.dns}`,
      '--listen-address=127.0.0.1',
      '--bind-interfaces',
      '--conf-file=/dev/null',
      '--no-hosts',
      '--no-resolv',
      `--cache-size=${cacheSize}`,
      '--no-negcache',
      '--dns-loop-detect',
      '--log-facility=-',
      ...clusterServerArgs(ports.kubedns),
    ]),
    sidecar: spec('sidecar', [
      '--v=2',
      `--dnsmasq-port=${ports.dns}`,
      '--prometheus-addr=127.0.0.1',
      `--prometheus-port=${ports.sidecar}`,
      probe('kubedns', ports.kubedns),
      probe('dnsmasq', ports.dns),
    ]),
  };
}

/** kubedns, dnsmasq and sidecar as the manifest starts them, on ports of this machine. */
export class ManifestPod implements Closable {
  readonly ports: PodPorts;
  readonly kubedns: RunningProgram;
  readonly dnsmasq: RunningProgram;
  readonly sidecar: RunningProgram;

  constructor(options: PodOptions, ports: PodPorts) {
    this.ports = ports;
    const specs = containerSpecs(options, ports);
    this.kubedns = startContainer(specs.kubedns);
    this.dnsmasq = startContainer(specs.dnsmasq);
    this.sidecar = startContainer(specs.sidecar);
  }

  get containers(): readonly RunningProgram[] {
    return [this.kubedns, this.dnsmasq, this.sidecar];
  }

  /** Whether both readiness probes of the manifest say yes. */
  async isReady(limitMs = PROBE_LIMIT_MS): Promise<boolean> {
    const { readiness, sidecar } = this.ports;
    const answers = await Promise.all([
      isOk(readiness, '/readiness', limitMs),
      isOk(sidecar, '/healthcheck/dnsmasq', limitMs),
    ]);
    return answers.every(Boolean);
  }

  /** Waits until the pod is ready; throws a MeasureError when it is not, or a container ended. */
  async ready(limitMs: number): Promise<void> {
    const isReady = () => {
      for (const container of this.containers) container.check();
      return this.isReady();
    };
    if (await comesTrue(isReady, { limitMs, stepMs: STEP_MS })) return;
    throw new MeasureError(`the pod was not ready within ${limitMs / 1_000} s`);
  }

  async close(): Promise<void> {
    await Promise.all(this.containers.map((container) => container.close()));
  }
}

function flagsOf(
  name: ContainerName,
  { nodeFlags, resourceFolder }: PodOptions,
): readonly string[] {
  const watch = new URL('resource-watch.js', import.meta.url).href;
  const instrument = resourceFolder === undefined ? [] : [`--import=${watch}`];
  return [...containerNodeFlags(name), ...nodeFlags, ...instrument];
}

/** Where a container's timers and handles are written. */
export function resourcePath(folder: string, name: ContainerName): string {
  return join(folder, `${name}.json`);
}

function resourceFile(
  name: ContainerName,
  { resourceFolder }: PodOptions,
): Readonly<Record<string, string>> {
  return resourceFolder === undefined ? {} : { RESOURCE_FILE: resourcePath(resourceFolder, name) };
}
