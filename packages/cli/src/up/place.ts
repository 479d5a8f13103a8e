import type { ContainerSpec } from './container-spec.js';
import type { PodSpec } from './manifest.js';
import type { ProbeSpec } from './probe-spec.js';
import { programNameOf } from './programs.js';
import { withApiServer } from './real-cluster.js';

/** What differs when a pod runs on a machine together with other pods and without root. */
export interface Placement {
  /** The ports of this machine by those of the manifest; a port that is not here stays. */
  readonly ports: ReadonlyMap<number, number>;
  /** The folders that are mounted for volumes, by the volumes' names. */
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
 * The same pod with other ports: in arguments (after `=`, `:` or `#`), variables, declared ports and probes,
 * and as flags for the programs' default ports.
 */
export function placePod(pod: PodSpec, placement: Placement): PodSpec {
  return {
    ...pod,
    containers: pod.containers.map((container) => placeContainer(container, placement)),
    volumes: pod.volumes.map((volume) => {
      const path = placement.volumes[volume.name];
      return path === undefined ? volume : { kind: 'host', name: volume.name, path, create: false };
    }),
  };
}

function placeContainer(container: ContainerSpec, placement: Placement): ContainerSpec {
  const { ports, apiUrl, edit } = placement;
  const program = programNameOf(container) ?? '';
  const portOf = (port: number) => ports.get(port) ?? port;
  const args = container.args.map((arg) => placePorts(arg, ports));
  for (const [flag, port] of Object.entries(DEFAULT_PORTS[program] ?? {})) {
    if (!args.some((arg) => arg.startsWith(`${flag}=`))) args.push(`${flag}=${portOf(port)}`);
  }
  const placed = {
    ...container,
    args,
    env: new Map([...container.env].map(([name, value]) => [name, placeValue(value, ports)])),
    ports: container.ports.map((port) => ({ ...port, containerPort: portOf(port.containerPort) })),
    mounts: container.mounts.filter(({ mountPath }) => mountPath !== SERVICE_ACCOUNT),
    probes: {
      startup: placeProbe(container.probes.startup, portOf),
      readiness: placeProbe(container.probes.readiness, portOf),
      liveness: placeProbe(container.probes.liveness, portOf),
    },
  };
  const served =
    program === 'kubedns' ? withApiServer(placed, `--kube-master-url=${apiUrl}`) : placed;
  return edit === undefined ? served : { ...served, args: edit(served.name, served.args) };
}

function placePorts(arg: string, ports: Placement['ports']): string {
  return arg.replace(/([=:#])(\d+)(?=,|$)/g, (_match, before: string, port: string) => {
    return before + placeValue(port, ports);
  });
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
