import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { placePod, planPod, Volumes, type ContainerPlan } from '@kube-dns/cli';
import {
  type Closable,
  comesTrue,
  freePort,
  isOk,
  MeasureError,
  type RunningProgram,
} from '@kube-dns/testkit';
import { type ContainerSpec, startContainer } from './container.js';
import { imageNodeFlags } from './container-flags.js';
import { manifestPod } from './manifest.js';

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
  /** Seconds between two probes of the sidecar; as in the manifest unless given. */
  readonly probeSeconds?: number;
  /** Further flags of kubedns. */
  readonly kubednsFlags?: readonly string[];
  /** Records that dnsmasq's cache holds; as in the manifest unless given. */
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
const PACKAGES = fileURLToPath(new URL('../../..', import.meta.url));

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
  const pod = placePod(manifestPod(), {
    ports: new Map([
      [53, ports.dns],
      [8081, ports.readiness],
      [10053, ports.kubedns],
      [10054, ports.sidecar],
      [10055, ports.kubednsMetrics],
    ]),
    volumes: { 'kube-dns-config': options.configPath },
    apiUrl: options.apiUrl,
    edit: (name, args) => onLoopback(name, args, options, ports),
  });
  const machine = { env: {}, packagesFolder: PACKAGES };
  const plans = planPod(pod, new Volumes(pod.volumes, pod), machine);
  const spec = (name: ContainerName) => {
    const plan = plans.find((each) => each.name === name);
    if (plan === undefined) throw new MeasureError(`the deployment has no container ${name}`);
    return containerSpec(name, plan, options);
  };
  return { kubedns: spec('kubedns'), dnsmasq: spec('dnsmasq'), sidecar: spec('sidecar') };
}

/** The arguments of a container that listens on this machine alone and reads nothing of it. */
function onLoopback(
  name: string,
  args: readonly string[],
  { kubednsFlags = [], cacheSize, probeSeconds }: PodOptions,
  ports: PodPorts,
): readonly string[] {
  const cacheArg = cacheSize === undefined ? undefined : `--cache-size=${cacheSize}`;
  switch (name) {
    case 'kubedns':
      return [...args, '--dns-bind-address=127.0.0.1', ...kubednsFlags];
    case 'dnsmasq':
      return [
        `-kubednsServer=127.0.0.1:${ports.kubedns}`,
        `-metrics-addr=127.0.0.1:${ports.dnsmasqMetrics}`,
        ...args.map((arg) => (arg.startsWith('--cache-size=') ? (cacheArg ?? arg) : arg)),
        '--listen-address=127.0.0.1',
        '--bind-interfaces',
        '--conf-file=/dev/null',
        '--no-hosts',
        '--no-resolv',
      ];
    default: {
      const probes =
        probeSeconds === undefined
          ? args
          : args.map((arg) => arg.replace(/,\d+,SRV$/, `,${probeSeconds},SRV`));
      return [...probes, '--prometheus-addr=127.0.0.1'];
    }
  }
}

function containerSpec(
  name: ContainerName,
  { args: [program = '', ...args], env }: ContainerPlan,
  options: PodOptions,
): ContainerSpec {
  const { node, resourceFolder } = options;
  const watch = new URL('resource-watch.js', import.meta.url).href;
  const isWatched = resourceFolder !== undefined;
  return {
    name,
    node,
    nodeFlags: [
      ...imageNodeFlags(name),
      ...options.nodeFlags,
      ...(isWatched ? [`--import=${watch}`] : []),
    ],
    program,
    args,
    env: { ...env, ...(isWatched && { RESOURCE_FILE: resourcePath(resourceFolder, name) }) },
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

/** Where a container's timers and handles are written. */
export function resourcePath(folder: string, name: ContainerName): string {
  return join(folder, `${name}.json`);
}
