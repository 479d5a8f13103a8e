import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { errorText, MAX_PORT, UsageError } from '@kube-dns/base';
import { loadKubeconfig } from '@kube-dns/daemon';
import { KubeConfig } from '@kubernetes/client-node';
import { StartError } from '../errors.js';
import {
  findDnsPort,
  readPod,
  type ContainerSpec,
  type PodSpec,
  type ProbeSpec,
} from './manifest.js';
import { planPod, programNameOf, type ContainerPlan } from './plan.js';
import { Volumes } from './volumes.js';

/** The variables in which kubelet puts the address and the port of the service kube-dns: here those of the pod. */
const HOST = 'KUBE_DNS_SERVICE_HOST';
const PORT = 'KUBE_DNS_SERVICE_PORT';
const FILE = 'node-cache.yaml';

/**
 * The pod with a node-cache as its first container, which asks the pod's own DNS: that of node-cache.yaml beside the
 * pod's manifest, else of the one in `folder`. A volume of the same name is the pod's. Throws a UsageError for a pod
 * without DNS.
 */
export function withNodeCache(pod: PodSpec, folder: string): PodSpec {
  const port = findDnsPort(pod.containers);
  if (port === undefined) {
    throw new UsageError(`--node-cache: no container of ${pod.file} has a UDP port named dns`);
  }
  const own = join(pod.folder, FILE);
  const cache = readPod(existsSync(own) ? own : join(folder, FILE));
  const containers = cache.containers.map((container) => {
    const env = new Map([...container.env, [HOST, '127.0.0.1'], [PORT, String(port)]]);
    return { ...container, env };
  });
  const volumes = cache.volumes
    .filter(({ name }) => pod.volumes.every((each) => each.name !== name))
    .map((volume) =>
      volume.kind === 'host' ? { ...volume, path: resolve(cache.folder, volume.path) } : volume,
    );
  return {
    ...pod,
    containers: [...containers, ...pod.containers],
    volumes: [...pod.volumes, ...volumes],
  };
}

/**
 * The same pod on a real cluster: without its API server containers, and with kubedns reading
 * `kubeconfig`. Throws a StartError when that file cannot be used or the pod has no kubedns.
 */
export function useRealCluster(pod: PodSpec, kubeconfig: string): PodSpec {
  const file = resolve(kubeconfig);
  try {
    loadKubeconfig(new KubeConfig(), kubeconfig);
  } catch (error) {
    throw new StartError(errorText(error), { cause: error });
  }
  const containers = pod.containers
    .filter((container) => programNameOf(container) !== 'apiserver')
    .map((container) =>
      programNameOf(container) === 'kubedns'
        ? withApiServer(container, `--kubecfg-file=${file}`)
        : container,
    );
  if (!containers.some((container) => programNameOf(container) === 'kubedns')) {
    throw new StartError(`${pod.file}: there is no kubedns container to give the kubeconfig to`);
  }
  return { ...pod, containers };
}

/** The same kubedns with this flag in place of all others that name the API server. */
function withApiServer(container: ContainerSpec, flag: string): ContainerSpec {
  const command = container.command.slice(0, 1);
  const all = [...container.command.slice(1), ...container.args];
  return { ...container, command, args: [...withoutServer(all), flag] };
}

/** Drops both flags that name the API server, as `--flag=value` and as `--flag value`. */
function withoutServer(args: readonly string[]): string[] {
  const isServerFlag = (arg: string) =>
    /^--?(kube[-_]master[-_]url|kubecfg[-_]file)$/.test(arg.split('=', 1)[0] ?? '');
  return args.filter((arg, index) => {
    const before = args[index - 1] ?? '';
    const isValueOfOne = isServerFlag(before) && !before.includes('=');
    return !isServerFlag(arg) && !isValueOfOne;
  });
}

/** What differs when a pod runs on a machine together with other pods and without root. */
interface Placement {
  /** The ports of this machine by those of the manifest; a port that is not here stays. */
  readonly ports: ReadonlyMap<number, number>;
  /** The folders that are mounted for volumes, by the volumes' names: no other volume but a host path can be mounted. */
  readonly volumes: Readonly<Record<string, string>>;
  /** Where kubedns finds the API server, in place of the service account. */
  readonly apiUrl: string;
  /** Changes the arguments of a container, after everything else. */
  readonly edit?: (container: string, args: readonly string[]) => readonly string[];
}

/** The programs' default ports, which a manifest need not name. */
const DEFAULT_PORTS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  kubedns: { '--healthz-port': 8081 },
  dnsmasq: { '--port': 53 },
  sidecar: { '--dnsmasq-port': 53, '--prometheus-port': 10054 },
};
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * How the containers of a placed pod are started on this machine, in the order of the manifest: with its variables and no
 * others. Throws a StartError as `planPod` does.
 */
export function planPlacedPod(
  pod: PodSpec,
  placement: Placement,
  packagesFolder: string,
): ContainerPlan[] {
  const placed = placePod(pod, placement);
  return planPod(placed, new Volumes(placed.volumes, placed), { env: {}, packagesFolder });
}

/**
 * The same pod with other ports: in arguments (after `=`, `:` or `#`), variables, declared ports and probes,
 * and as flags for the programs' default ports.
 */
export function placePod(pod: PodSpec, placement: Placement): PodSpec {
  return {
    ...pod,
    containers: pod.containers.map((container) => placeContainer(container, placement)),
    volumes: pod.volumes.map((volume) => {
      const { name, kind } = volume;
      const path = placement.volumes[name];
      if (path !== undefined) return { kind: 'host', name, path, create: false };
      if (kind === 'host' || kind === 'unsupported') return volume;
      // A plan outlives its making: no folder that is made for it would ever be removed.
      return { kind: 'unsupported', name, reason: 'it needs a folder of this machine' };
    }),
  };
}

/**
 * The same pod with N added to all its ports: declared ones, those of probes, and the programs' defaults. Throws a UsageError
 * where one would be above 65535.
 */
export function offsetPorts(pod: PodSpec, offset: number): PodSpec {
  const own = pod.containers.flatMap((container) => [
    ...container.ports.map(({ containerPort }) => containerPort),
    ...probesOf(container).flatMap((probe) => portOfProbe(probe) ?? []),
    ...Object.values(DEFAULT_PORTS[programNameOf(container) ?? ''] ?? {}),
  ]);
  const highest = Math.max(...own);
  if (highest + offset > MAX_PORT) {
    const most = MAX_PORT - highest;
    throw new UsageError(
      `--port-offset ${offset}: port ${highest} of the pod would be above ${MAX_PORT}; at most ${most} can be added`,
    );
  }
  const ports = new Map(own.map((port) => [port, port + offset]));
  return { ...pod, containers: pod.containers.map((each) => withPorts(each, ports)) };
}

function placeContainer(container: ContainerSpec, placement: Placement): ContainerSpec {
  const { ports, apiUrl, edit } = placement;
  const mounts = container.mounts.filter(({ mountPath }) => mountPath !== SERVICE_ACCOUNT);
  const placed = { ...withPorts(container, ports), mounts };
  const served =
    programNameOf(container) === 'kubedns'
      ? withApiServer(placed, `--kube-master-url=${apiUrl}`)
      : placed;
  return edit === undefined ? served : { ...served, args: edit(served.name, served.args) };
}

function withPorts(container: ContainerSpec, ports: Placement['ports']): ContainerSpec {
  const portOf = (port: number) => ports.get(port) ?? port;
  const args = container.args.map((arg) => placePorts(arg, ports));
  for (const [flag, port] of Object.entries(DEFAULT_PORTS[programNameOf(container) ?? ''] ?? {})) {
    if (!args.some((arg) => arg.startsWith(`${flag}=`))) args.push(`${flag}=${portOf(port)}`);
  }
  return {
    ...container,
    args,
    env: new Map([...container.env].map(([name, value]) => [name, placeValue(value, ports)])),
    ports: container.ports.map((port) => ({ ...port, containerPort: portOf(port.containerPort) })),
    probes: {
      startup: placeProbe(container.probes.startup, portOf),
      readiness: placeProbe(container.probes.readiness, portOf),
      liveness: placeProbe(container.probes.liveness, portOf),
    },
  };
}

/** A port behind the address of another machine is not one of the pod. */
function placePorts(arg: string, ports: Placement['ports']): string {
  const port = /(\d+\.\d+\.\d+\.\d+)?([=:#])(\d+)(?=,|$)/g;
  return arg.replace(port, (whole: string, host = '', before = '', number = '') =>
    host === '' || /^(127\.|0\.0\.0\.0$)/.test(String(host))
      ? String(host) + String(before) + placeValue(String(number), ports)
      : whole,
  );
}

/** A text that is only a port becomes the port of this machine; any other stays. */
function placeValue(text: string, ports: Placement['ports']): string {
  return String(ports.get(Number(text)) ?? text);
}

function placeProbe(
  probe: ProbeSpec | undefined,
  portOf: (port: number) => number,
): ProbeSpec | undefined {
  if (probe === undefined || probe.action.kind === 'exec') return probe;
  return { ...probe, action: { ...probe.action, port: portOf(probe.action.port) } };
}

function probesOf({ probes }: ContainerSpec): readonly (ProbeSpec | undefined)[] {
  return [probes.startup, probes.readiness, probes.liveness];
}

function portOfProbe(probe: ProbeSpec | undefined): number | undefined {
  return probe === undefined || probe.action.kind === 'exec' ? undefined : probe.action.port;
}
