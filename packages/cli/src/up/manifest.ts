import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { reasonOf, StartError } from '../errors.js';
import { asMapping, expandVariables, parseDocuments, type Mapping } from '../manifests/objects.js';

/** A pod as the manifest describes it, checked. */
export interface PodSpec {
  /** The manifest as the user named it. */
  readonly file: string;
  /** The absolute folder of the manifest, for relative host paths. */
  readonly folder: string;
  readonly name: string;
  readonly namespace: string;
  readonly containers: readonly ContainerSpec[];
  readonly volumes: readonly VolumeSpec[];
  readonly terminationGraceMs: number;
}

/** Reads the first Pod or Deployment of a YAML file; throws a StartError that names file and reason. */
export function readPod(file: string): PodSpec {
  let text;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new StartError(`cannot read the manifest ${file}: ${reasonOf(error)}`, { cause: error });
  }
  return parsePod(text, file);
}

/** As {@link readPod}, from the text that was read from `file`. */
export function parsePod(text: string, file: string): PodSpec {
  const kinds: string[] = [];
  for (const document of parseDocuments(text, file)) {
    const root = new Field(file, '', document);
    if (!root.isPresent) continue;
    const kind = root.get('kind').string();
    kinds.push(kind);
    if (kind === 'Pod') return parsePodFields(root, root.get('spec'));
    if (kind === 'Deployment') {
      return parsePodFields(root, root.get('spec').get('template').get('spec'));
    }
  }
  const found = kinds.length === 0 ? 'it is empty' : `it has ${kinds.join(', ')}`;
  throw new StartError(`${file}: there is no Pod and no Deployment in it (${found})`);
}

/** The pod's DNS port: the UDP port named `dns`, as in the stock manifest. */
export function findDnsPort(
  containers: readonly { readonly ports: readonly PortSpec[] }[],
): number | undefined {
  return containers
    .flatMap((container) => container.ports)
    .find((port) => port.name === 'dns' && port.protocol === 'UDP')?.containerPort;
}

function parsePodFields(root: Field, spec: Field): PodSpec {
  if (!spec.isPresent) spec.fail('is missing');
  const metadata = root.get('metadata');
  const identity = {
    name: metadata.get('name').string(),
    namespace: metadata.get('namespace').string('default'),
  };
  if (spec.get('initContainers').items().length > 0) {
    spec.get('initContainers').fail('is not supported');
  }
  if (spec.get('restartPolicy').string('Always') !== 'Always') {
    spec.get('restartPolicy').fail('only Always is supported');
  }
  const containers = spec
    .get('containers')
    .items()
    .map((item) => parseContainer(item, identity));
  if (containers.length === 0) spec.get('containers').fail('must name at least one container');
  refuseDoubleNames(spec.get('containers'), containers);
  const grace = spec.get('terminationGracePeriodSeconds').integer({ min: 0, fallback: 30 });
  return {
    file: root.file,
    folder: dirname(resolve(root.file)),
    ...identity,
    containers,
    volumes: spec.get('volumes').items().map(parseVolume),
    terminationGraceMs: grace * 1000,
  };
}

function refuseDoubleNames(field: Field, containers: readonly ContainerSpec[]): void {
  const names = new Set<string>();
  for (const { name } of containers) {
    if (names.has(name)) field.fail(`two containers have the name ${name}`);
    names.add(name);
  }
}

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
interface PodIdentity {
  readonly name: string;
  readonly namespace: string;
}

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Reads one item of `spec.containers`; throws a StartError that names the field that is wrong. */
function parseContainer(field: Field, pod: PodIdentity): ContainerSpec {
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

/** A declared container port; `name` is empty when it has none. */
export interface PortSpec {
  readonly name: string;
  readonly containerPort: number;
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
}

const PROTOCOLS = ['TCP', 'UDP', 'SCTP'] as const;

/** Reads one item of a container's `ports`; throws a StartError when it is malformed. */
function parsePort(field: Field): PortSpec {
  const text = field.get('protocol').string('TCP');
  const protocol = PROTOCOLS.find((known) => known === text);
  return {
    name: field.get('name').string(''),
    containerPort: field.get('containerPort').integer({ min: 1, max: 65_535 }),
    protocol: protocol ?? field.get('protocol').fail(`must be one of ${PROTOCOLS.join(', ')}`),
  };
}

/** What a probe does once; host and port are resolved. */
export type ProbeAction =
  | {
      readonly kind: 'http';
      readonly scheme: 'http' | 'https';
      readonly host: string;
      readonly port: number;
      readonly path: string;
      readonly headers: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'exec'; readonly command: readonly string[] };

/** One probe of a container with the kubelet's defaults filled in. */
export interface ProbeSpec {
  readonly action: ProbeAction;
  readonly initialDelayMs: number;
  readonly periodMs: number;
  readonly timeoutMs: number;
  readonly successThreshold: number;
  readonly failureThreshold: number;
}

const POD_ADDRESS = '127.0.0.1';

/** Reads a probe; undefined for an absent field. Named ports are looked up in `ports`. */
function parseProbe(
  field: Field,
  ports: readonly PortSpec[],
  kind: 'startup' | 'readiness' | 'liveness',
): ProbeSpec | undefined {
  if (!field.isPresent) return undefined;
  const seconds = (key: string, fallback: number, min: number) =>
    field.get(key).integer({ min, fallback }) * 1000;
  const successThreshold = field.get('successThreshold').integer({
    min: 1,
    // The API server refuses more than one success for a probe that only decides about restarts.
    ...(kind === 'readiness' ? {} : { max: 1 }),
    fallback: 1,
  });
  return {
    action: parseAction(field, ports),
    initialDelayMs: seconds('initialDelaySeconds', 0, 0),
    periodMs: seconds('periodSeconds', 10, 1),
    timeoutMs: seconds('timeoutSeconds', 1, 1),
    successThreshold,
    failureThreshold: field.get('failureThreshold').integer({ min: 1, fallback: 3 }),
  };
}

function parseAction(field: Field, ports: readonly PortSpec[]): ProbeAction {
  const http = field.get('httpGet');
  if (http.isPresent) {
    const scheme = http.get('scheme').string('HTTP');
    if (scheme !== 'HTTP' && scheme !== 'HTTPS') http.get('scheme').fail('must be HTTP or HTTPS');
    const path = http.get('path').string('/');
    const headers = http
      .get('httpHeaders')
      .items()
      .map((item) => [item.get('name').string(), item.get('value').string('')] as const);
    return {
      kind: 'http',
      scheme: scheme === 'HTTPS' ? 'https' : 'http',
      host: http.get('host').string(POD_ADDRESS),
      port: probePort(http.get('port'), ports),
      path: path.startsWith('/') ? path : `/${path}`,
      headers: Object.fromEntries(headers),
    };
  }
  const tcp = field.get('tcpSocket');
  if (tcp.isPresent) {
    const host = tcp.get('host').string(POD_ADDRESS);
    return { kind: 'tcp', host, port: probePort(tcp.get('port'), ports) };
  }
  const command = field.get('exec').get('command');
  if (command.strings().length > 0) return { kind: 'exec', command: command.strings() };
  return field.fail('must have one of httpGet, tcpSocket and exec');
}

function probePort(field: Field, ports: readonly PortSpec[]): number {
  if (typeof field.value !== 'string') return field.integer({ min: 1, max: 65_535 });
  const found = ports.find((port) => port.name === field.value);
  return found?.containerPort ?? field.fail(`the container has no port named ${field.value}`);
}

/** A volume of the pod. One that this machine cannot provide is refused only when it is mounted. */
export type VolumeSpec =
  | {
      readonly kind: 'host';
      readonly name: string;
      readonly path: string;
      readonly create: boolean;
    }
  | { readonly kind: 'empty'; readonly name: string }
  | { readonly kind: 'config-map'; readonly name: string; readonly configMap: string }
  | { readonly kind: 'unsupported'; readonly name: string; readonly reason: string };

/** Reads one item of `spec.volumes`; throws a StartError when it is malformed. */
function parseVolume(field: Field): VolumeSpec {
  const name = field.get('name').string();
  const kind = field.keys().find((key) => key !== 'name') ?? 'emptyDir';
  const source = field.get(kind);
  switch (kind) {
    case 'hostPath': {
      const create = source.get('type').string('') === 'DirectoryOrCreate';
      return { kind: 'host', name, path: source.get('path').string(), create };
    }
    case 'emptyDir':
      return { kind: 'empty', name };
    case 'configMap':
    case 'secret': {
      if (source.get('optional').boolean(false)) {
        // The local API server has no secrets for anyone: the mount is an empty folder.
        if (kind === 'secret') return { kind: 'empty', name };
        return { kind: 'config-map', name, configMap: source.get('name').string() };
      }
      const reason = `its ${kind} is not optional, and there is no cluster to take it from`;
      return { kind: 'unsupported', name, reason };
    }
    default:
      return { kind: 'unsupported', name, reason: `${kind} is not supported on this machine` };
  }
}

/** The range of a number of the manifest, and its default. */
interface IntegerRule {
  readonly min: number;
  readonly max?: number;
  readonly fallback?: number;
}

/**
 * One value of a manifest together with its file and path, so that an error can name it.
 * Every reader throws a StartError for a value of another type.
 */
class Field {
  readonly file: string;
  readonly path: string;
  readonly value: unknown;

  constructor(file: string, path: string, value: unknown) {
    this.file = file;
    this.path = path;
    this.value = value;
  }

  /** A key without a value counts as absent, as in the API server. */
  get isPresent(): boolean {
    return this.value !== undefined && this.value !== null;
  }

  /** The field below `key`; absent when this one is. */
  get(key: string): Field {
    const path = this.path === '' ? key : `${this.path}.${key}`;
    if (!this.isPresent) return new Field(this.file, path, undefined);
    return new Field(this.file, path, this.#mapping()[key]);
  }

  keys(): string[] {
    return this.isPresent ? Object.keys(this.#mapping()) : [];
  }

  /** The items of a list; an absent list is empty. */
  items(): Field[] {
    if (!this.isPresent) return [];
    if (!Array.isArray(this.value)) return this.fail('must be a list');
    return this.value.map(
      (item: unknown, index) => new Field(this.file, `${this.path}[${index}]`, item),
    );
  }

  string(fallback?: string): string {
    if (!this.isPresent && fallback !== undefined) return fallback;
    if (typeof this.value === 'string') return this.value;
    return this.fail(this.isPresent ? 'must be a string (put it in quotes)' : 'is missing');
  }

  strings(): string[] {
    return this.items().map((item) => item.string());
  }

  boolean(fallback: boolean): boolean {
    if (!this.isPresent) return fallback;
    return typeof this.value === 'boolean' ? this.value : this.fail('must be true or false');
  }

  integer(rule: IntegerRule): number {
    const { min, max = Number.MAX_SAFE_INTEGER, fallback } = rule;
    if (!this.isPresent && fallback !== undefined) return fallback;
    if (!this.isPresent) return this.fail('is missing');
    const value = this.value;
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) {
      return value;
    }
    const range = rule.max === undefined ? `of at least ${min}` : `from ${min} to ${max}`;
    return this.fail(`must be a whole number ${range}`);
  }

  /** Throws the StartError that names the file, this field and the reason. */
  fail(reason: string): never {
    throw new StartError(`${this.file}: ${this.path === '' ? '' : `${this.path}: `}${reason}`);
  }

  #mapping(): Mapping {
    return asMapping(this.value) ?? this.fail('must be a mapping');
  }
}
