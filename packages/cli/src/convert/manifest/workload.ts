import {
  asMapping,
  expandVariables,
  imageName,
  mappingsOf,
  textsOf,
  valueAt,
  type Mapping,
} from '../../manifests/objects.js';
import type { KubeObject } from '../kube-objects.js';
import type { PodWords } from '../pod/pod-reader.js';

/** The role of a container of a DNS pod; later releases have no container for `replaced`. */
export type ContainerRole = 'kubedns' | 'dnsmasq' | 'sidecar' | 'replaced' | 'other';

/** Names of images and of containers, from the first skydns pods to the current ones. */
const ROLES: readonly (readonly [RegExp, ContainerRole])[] = [
  [/^(?:k8s-dns-kube-dns|kubedns|kube-dns)$/, 'kubedns'],
  [/^(?:k8s-dns-dnsmasq(?:-nanny)?|kube-dnsmasq|dnsmasq)$/, 'dnsmasq'],
  [/^(?:k8s-dns-sidecar|sidecar)$/, 'sidecar'],
  [/^(?:etcd|kube2sky|skydns|exechealthz|healthz|(?:kube-)?dnsmasq-metrics)$/, 'replaced'],
];
const WORKLOADS = ['Deployment', 'ReplicationController', 'DaemonSet', 'ReplicaSet', 'Pod'];

/** One container of an older pod. */
export interface OldContainer {
  readonly name: string;
  readonly role: ContainerRole;
  readonly value: Mapping;
  /** Command and arguments without the program's name. */
  readonly words: readonly string[];
}

/** The object whose pods are the DNS pods, among others; undefined when there is none. */
export function findWorkload(objects: readonly KubeObject[]): KubeObject | undefined {
  return objects.find(
    (each) =>
      WORKLOADS.includes(each.kind) &&
      containersOf(each).some(({ role, name }) => role === 'kubedns' || /^skydns$/.test(name)),
  );
}

/** The pod spec of a workload's template. */
export function podSpecOf({ kind, value }: KubeObject): Mapping {
  const spec = kind === 'Pod' ? value.spec : valueAt(value, 'spec', 'template', 'spec');
  return asMapping(spec) ?? {};
}

/** The containers of a workload with their roles. */
export function containersOf(workload: KubeObject): OldContainer[] {
  return mappingsOf(podSpecOf(workload).containers).map((value) => {
    const name = String(value.name);
    const all = [...textsOf(value.command), ...textsOf(value.args)];
    const words = (all[0] ?? '-').startsWith('-') ? all : all.slice(1);
    const env = environmentOf(value);
    return {
      name,
      role: roleOf(name, String(value.image)),
      value,
      words: words.map((word) => expandVariables(word, env)),
    };
  });
}

/** The command lines of the programs that still exist. */
export function podWords(workload: KubeObject): PodWords {
  const containers = containersOf(workload);
  const wordsOf = (wanted: ContainerRole) =>
    containers.find(({ role }) => role === wanted)?.words ?? undefined;
  return { kubedns: wordsOf('kubedns'), dnsmasq: wordsOf('dnsmasq') };
}

function roleOf(name: string, image: string): ContainerRole {
  const of = (text: string) => ROLES.find(([pattern]) => pattern.test(text))?.[1];
  return of(imageName(image)) ?? of(name) ?? 'other';
}

/** The environment of a container, for `$(NAME)`. */
function environmentOf(container: Mapping): ReadonlyMap<string, string> {
  return new Map(
    mappingsOf(container.env).flatMap(({ name, value }) =>
      typeof name === 'string' && typeof value === 'string' ? [[name, value] as const] : [],
    ),
  );
}
