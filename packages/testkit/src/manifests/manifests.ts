import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import * as models from '@kubernetes/client-node';

type Texts = Readonly<Record<string, string>>;

/** What every object has; the rest is for those who know its kind. */
export interface KubeManifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Texts;
  };
}

/** A probe over HTTP, the only one that the manifests have. */
export interface HttpProbe {
  readonly httpGet: { readonly port: number; readonly path: string; readonly host?: string };
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly imagePullPolicy?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } };
  }[];
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
  readonly livenessProbe?: HttpProbe;
  readonly readinessProbe?: HttpProbe;
  readonly lifecycle?: { readonly preStop?: { readonly sleep?: { readonly seconds: number } } };
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
  readonly resources?: Readonly<Record<'limits' | 'requests', Texts | undefined>>;
  readonly securityContext?: {
    readonly runAsUser?: number;
    readonly runAsGroup?: number;
    readonly readOnlyRootFilesystem?: boolean;
    readonly allowPrivilegeEscalation?: boolean;
    readonly capabilities?: Readonly<Partial<Record<'add' | 'drop', readonly string[]>>>;
  };
}

interface Selector {
  readonly matchLabels: Texts;
}

interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly serviceAccountName?: string;
  readonly automountServiceAccountToken?: boolean;
  readonly hostNetwork?: boolean;
  readonly terminationGracePeriodSeconds?: number;
  readonly securityContext?: {
    readonly seccompProfile?: { readonly type: string };
    readonly supplementalGroups?: readonly number[];
    readonly fsGroup?: number;
    readonly sysctls?: readonly { readonly name: string; readonly value: string }[];
  };
  readonly tolerations?: readonly unknown[];
  readonly topologySpreadConstraints?: readonly { readonly labelSelector: Selector }[];
  readonly volumes?: readonly {
    readonly name: string;
    readonly hostPath?: { readonly path: string };
    readonly emptyDir?: { readonly sizeLimit?: string };
    readonly projected?: { readonly sources: readonly { readonly serviceAccountToken?: object }[] };
  }[];
}

export interface Deployment extends KubeManifest {
  readonly spec: {
    readonly replicas?: number;
    readonly selector: Selector;
    readonly template: { readonly metadata: { readonly labels: Texts }; readonly spec: PodSpec };
  };
}

interface DaemonSet extends KubeManifest {
  readonly spec: Deployment['spec'] & {
    readonly updateStrategy: {
      readonly rollingUpdate: { readonly maxSurge: number; readonly maxUnavailable: number };
    };
  };
}

/** One rule of a ClusterRole. */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

interface PolicyIngress {
  readonly from?: readonly object[];
  readonly ports: readonly { readonly port: number; readonly protocol: string }[];
}

/** The kinds that the manifests have, with the fields that tests read. */
export interface ManifestKinds {
  ClusterRole: KubeManifest & { readonly rules: readonly PolicyRule[] };
  ClusterRoleBinding: KubeManifest & {
    readonly roleRef: { readonly name: string };
    readonly subjects: readonly Subject[];
  };
  ConfigMap: KubeManifest & { readonly data?: Texts };
  DaemonSet: DaemonSet;
  Deployment: Deployment;
  PodDisruptionBudget: KubeManifest & { readonly spec: { readonly selector: Selector } };
  NetworkPolicy: KubeManifest & { readonly spec: { readonly ingress: readonly PolicyIngress[] } };
  PrometheusRule: KubeManifest;
  Secret: KubeManifest & { readonly data?: Texts };
  Service: KubeManifest & {
    readonly spec: {
      readonly clusterIP: string;
      readonly selector: Texts;
      readonly trafficDistribution?: string;
      readonly ports: readonly { readonly name: string; readonly port: number }[];
    };
  };
  ServiceAccount: KubeManifest;
  ServiceMonitor: KubeManifest & {
    readonly spec: {
      readonly jobLabel: string;
      readonly selector: Selector;
      readonly endpoints: readonly { readonly port: string; readonly path: string }[];
    };
  };
}

interface Attribute {
  readonly baseName: string;
  readonly type: string;
}

/** The fields of a type of the API, as the client library of Kubernetes has them from its schema. */
function attributesOf(type: string): readonly Attribute[] | undefined {
  const model: unknown = Reflect.get(models, type);
  if (typeof model !== 'function' || !('getAttributeTypeMap' in model)) return undefined;
  return (model.getAttributeTypeMap as () => readonly Attribute[])();
}

/** Groups whose kinds are no part of Kubernetes; kustomize itself refuses fields that it does not know. */
const CUSTOM_GROUPS = ['monitoring.coreos.com', 'kustomize.config.k8s.io', 'cilium.io'];

/**
 * Every field of an object that its kind does not have or that has the wrong type, with its path.
 * Kinds of custom groups have no faults but in their metadata.
 */
export function fieldFaults(object: unknown): string[] {
  const { apiVersion = '', kind = '' } = object as { apiVersion?: string; kind?: string };
  if (CUSTOM_GROUPS.includes(apiVersion.split('/', 1)[0] ?? '')) {
    const { metadata } = object as { metadata?: unknown };
    return metadata === undefined ? [] : faultsOf(metadata, 'V1ObjectMeta', 'metadata');
  }
  const version = apiVersion.split('/').at(-1) ?? '';
  const type = `${version.charAt(0).toUpperCase()}${version.slice(1)}${kind}`;
  if (attributesOf(type) === undefined) return [`no kind ${kind} in ${apiVersion}`];
  return faultsOf(object, type, kind);
}

function faultsOf(value: unknown, type: string, path: string): string[] {
  const wrong = [`${path}: ${JSON.stringify(value)} is no ${type}`];
  const list = /^Array<(.*)>$/.exec(type)?.[1];
  if (list !== undefined) {
    if (!Array.isArray(value)) return wrong;
    return value.flatMap((item, i) => faultsOf(item, list, `${path}[${i}]`));
  }
  const map = /^\{ \[key: string\]: (.*); \}$/.exec(type)?.[1];
  const attributes = attributesOf(type);
  if (map === undefined && attributes === undefined) return isPlain(value, type) ? [] : wrong;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return wrong;
  return Object.entries(value).flatMap(([key, item]) => {
    const field = map ?? attributes?.find((each) => each.baseName === key)?.type;
    return field === undefined
      ? [`${path}.${key} is unknown`]
      : faultsOf(item, field, `${path}.${key}`);
  });
}

function isPlain(value: unknown, type: string): boolean {
  switch (type) {
    case 'string':
    case 'boolean':
      return typeof value === type;
    case 'number':
      return Number.isInteger(value);
    case 'IntOrString':
      return typeof value === 'string' || Number.isInteger(value);
    case 'any':
    case 'object':
      return true;
    default:
      throw new Error(`a type that this check does not know: ${type}`);
  }
}

/** The repository's `manifests` folder. */
export const MANIFESTS = fileURLToPath(new URL('../../../../manifests', import.meta.url));

/** What is applied to a cluster: folders with a kustomization, from {@link MANIFESTS}. */
export const KUSTOMIZATIONS = [
  'kube-dns',
  'overlays/autoscaler',
  'overlays/beside',
  'overlays/daemonset',
  'overlays/gke',
  'overlays/gke-like',
  'overlays/monitoring',
] as const;

/** As {@link KUSTOMIZATIONS}, what runs a DNS cache on every node. */
export const NODE_KUSTOMIZATIONS = [
  'overlays/node-cache-cilium',
  'overlays/node-cache-iptables',
  'overlays/node-cache-ipvs',
  'overlays/node-cache-nftables',
] as const;

/** The objects of a YAML text; throws what the parser finds wrong. */
export function readObjects(text: string): KubeManifest[] {
  return [...parseAllDocuments(text)].map((document) => {
    const error = document.errors[0];
    if (error !== undefined) throw error;
    return document.toJS() as KubeManifest;
  });
}

/** The objects that a kustomization makes, by `kubectl kustomize`, which asks no server. */
export function render(folder: string): KubeManifest[] {
  return readObjects(renderText(folder));
}

/** As {@link render}, as YAML. */
export function renderText(folder: string): string {
  return execFileSync('kubectl', ['kustomize', folder], { encoding: 'utf8' });
}

/** The objects of one kind. */
export function objectsOf<K extends keyof ManifestKinds>(
  objects: readonly KubeManifest[],
  kind: K,
): ManifestKinds[K][] {
  // What fields a kind has is looked at by manifest-files.test.ts.
  return objects.filter((each) => each.kind === kind) as ManifestKinds[K][];
}

/** The one object of this kind and name; throws where there is none or more. */
export function findObject<K extends keyof ManifestKinds>(
  objects: readonly KubeManifest[],
  kind: K,
  name: string,
): ManifestKinds[K] {
  const [found, ...others] = objectsOf(objects, kind).filter((each) => each.metadata.name === name);
  if (found === undefined || others.length > 0) throw new Error(`not one ${kind} ${name}`);
  return found;
}

/** The containers of a deployment or a daemon set. */
export function containersOf({ spec }: Pick<Deployment, 'spec'>): readonly Container[] {
  return spec.template.spec.containers;
}

/** The container of this name. */
export function containerOf(deployment: Pick<Deployment, 'spec'>, name: string): Container {
  const found = containersOf(deployment).find((each) => each.name === name);
  if (found === undefined) throw new Error(`no container ${name}`);
  return found;
}

/** The YAML of the legacy addon, and the objects in it. */
export const STOCK_FILE = fileURLToPath(
  new URL('../../fixtures/stock-kube-dns.yaml', import.meta.url),
);
export const STOCK_OBJECTS: readonly KubeManifest[] = readObjects(readFileSync(STOCK_FILE, 'utf8'));
