import { expandVariables } from '../manifests/expand-variables.js';
import type { Field } from './field.js';
import { parsePort, type PortSpec } from './port-spec.js';
import { parseProbe, type ProbeSpec } from './probe-spec.js';

/** A volume of the pod as one container sees it. */
export interface MountSpec {
  readonly volume: string;
  readonly mountPath: string;
  readonly subPath: string;
}

/** The probes that a container has. */
export interface ContainerProbes {
  readonly startup: ProbeSpec | undefined;
  readonly readiness: ProbeSpec | undefined;
  readonly liveness: ProbeSpec | undefined;
}

/** One container of the pod, checked, with `$(VAR)` of its environment expanded. */
export interface ContainerSpec {
  readonly name: string;
  readonly image: string;
  /** Empty: the image decides what runs. */
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly env: ReadonlyMap<string, string>;
  /** Empty when the manifest has none. */
  readonly workingDir: string;
  readonly ports: readonly PortSpec[];
  readonly mounts: readonly MountSpec[];
  readonly probes: ContainerProbes;
}

/** The fields of the pod that `valueFrom.fieldRef` can name. */
export interface PodIdentity {
  readonly name: string;
  readonly namespace: string;
}

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Reads one item of `spec.containers`; throws a StartError that names the field that is wrong. */
export function parseContainer(field: Field, pod: PodIdentity): ContainerSpec {
  const name = field.get('name').string();
  if (!DNS_LABEL.test(name)) {
    field.get('name').fail(`${name} is not a name of lower-case letters, digits and dashes`);
  }
  if (field.get('envFrom').items().length > 0) field.get('envFrom').fail('is not supported');
  const env = parseEnv(field.get('env'), pod);
  const ports = field.get('ports').items().map(parsePort);
  const expand = (text: string) => expandVariables(text, env);
  return {
    name,
    image: field.get('image').string(''),
    command: field.get('command').strings().map(expand),
    args: field.get('args').strings().map(expand),
    env,
    workingDir: field.get('workingDir').string(''),
    ports,
    mounts: field.get('volumeMounts').items().map(parseMount),
    probes: {
      startup: parseProbe(field.get('startupProbe'), ports, 'startup'),
      readiness: parseProbe(field.get('readinessProbe'), ports, 'readiness'),
      liveness: parseProbe(field.get('livenessProbe'), ports, 'liveness'),
    },
  };
}

/** A value may refer to the variables above it (kubelet: makeEnvironmentVariables). */
function parseEnv(field: Field, pod: PodIdentity): Map<string, string> {
  const env = new Map<string, string>();
  for (const item of field.items()) {
    const name = item.get('name').string();
    if (name === '' || name.includes('=')) item.get('name').fail(`"${name}" cannot be a variable`);
    const source = item.get('valueFrom');
    const value = source.isPresent
      ? readFieldRef(source, pod)
      : expandVariables(item.get('value').string(''), env);
    env.set(name, value);
  }
  return env;
}

function readFieldRef(source: Field, pod: PodIdentity): string {
  const other = source.keys().find((key) => key !== 'fieldRef');
  if (other !== undefined) source.get(other).fail('is not supported on this machine');
  const field = source.get('fieldRef').get('fieldPath');
  const path = field.string();
  switch (path) {
    case 'metadata.name':
      return pod.name;
    case 'metadata.namespace':
      return pod.namespace;
    case 'status.podIP':
      return '127.0.0.1';
    default:
      return field.fail(
        `${path} is not known on this machine (metadata.name, metadata.namespace and status.podIP are)`,
      );
  }
}

function parseMount(field: Field): MountSpec {
  if (field.get('subPathExpr').isPresent) field.get('subPathExpr').fail('is not supported');
  const mountPath = field.get('mountPath').string();
  if (!/^\/+[^/]/.test(mountPath)) field.get('mountPath').fail('must be an absolute path below /');
  const subPath = field.get('subPath').string('');
  if (subPath.startsWith('/') || subPath.split('/').includes('..')) {
    field.get('subPath').fail('must be a path below the volume');
  }
  return { volume: field.get('name').string(), mountPath: mountPath.replace(/\/+$/, ''), subPath };
}
