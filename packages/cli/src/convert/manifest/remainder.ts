import { asMapping, type Mapping } from '../../manifests/objects.js';
import type { Notes } from '../notes.js';

/** Fields that the API server fills in or uses itself: not a property of the pod. */
const OF_THE_SERVER =
  /^status\b|metadata\.(?:uid|resourceVersion|creationTimestamp|generation|selfLink|managedFields)\b|annotations\.(?:kubectl\.kubernetes\.io\/last-applied-configuration|deployment\.kubernetes\.io\/revision)$/;
const DEFAULTS: readonly (readonly [RegExp, readonly unknown[]])[] = [
  [/\.terminationMessagePath$/, ['/dev/termination-log']],
  [/\.terminationMessagePolicy$/, ['File']],
  [/\.imagePullPolicy$/, ['IfNotPresent', 'Always']],
  [/\.(?:restartPolicy)$/, ['Always']],
  [/\.schedulerName$/, ['default-scheduler']],
  [/\.serviceAccount$/, ['kube-dns', 'default']],
  [/\.terminationGracePeriodSeconds$/, [30]],
  [/\.(?:defaultMode)$/, [420]],
  [/^spec\.(?:progressDeadlineSeconds)$/, [600, 2147483647]],
  [/^spec\.revisionHistoryLimit$/, [10, 2]],
  [/^spec\.strategy\.type$/, ['RollingUpdate']],
  [/^spec\.(?:sessionAffinity)$/, ['None']],
  [/^spec\.type$/, ['ClusterIP']],
  [/^spec\.(?:internalTrafficPolicy)$/, ['Cluster']],
  [/^spec\.(?:ipFamilyPolicy)$/, ['SingleStack']],
  [/^spec\.(?:ipFamilies|clusterIPs)\[/, []],
  [/^spec\.ports\[.*\]\.targetPort$/, [53]],
];

/** Fields that differ in ours on purpose. */
const REPLACED: readonly (readonly [RegExp, string])[] = [
  [/^(?:apiVersion|kind|metadata\.name)$/, 'it is a Deployment of apps/v1 with the name kube-dns'],
  [/labels\.version$|^spec\.selector\b/, 'the pods are selected by k8s-app: kube-dns alone'],
  [/annotations\.scheduler\.alpha|annotations\.seccomp/, 'fields of the pod say it'],
  [/nodeSelector\.beta\.kubernetes\.io\/os$/, 'kubernetes.io/os says it'],
  [/\.image$/, 'the image is ours'],
  [/\.resources\b/, 'resources are those that our programs need'],
  [/\.(?:liveness|readiness|startup)Probe\b/, 'the probes are those of our programs'],
  [/\.securityContext\b/, 'no container needs root or a capability'],
  [/^spec\.strategy\b/, 'one more pod starts before an old one goes'],
  [/\.affinity\b/, 'affinity and spread are ours'],
  [
    /volumeMounts\[\/kube-dns-config\]|volumeMounts\[\/etc\/k8s\/dns\/dnsmasq-nanny\]/,
    'it is mounted',
  ],
];

/** Notes every field of an older object that ours does not have or sets differently. */
export function nameRemainder(what: string, old: Mapping, ours: Mapping, notes: Notes): void {
  for (const { path, value } of missingLeaves(old, ours, '')) {
    if (OF_THE_SERVER.test(path) || isDefault(path, value)) continue;
    const reason = REPLACED.find(([pattern]) => pattern.test(path))?.[1];
    const text = `${what}: ${path}${shown(value)}`;
    if (reason === undefined) notes.lose(text, 'ours has no such field');
    else notes.change(text, reason);
  }
}

interface Leaf {
  readonly path: string;
  readonly value: unknown;
}

function missingLeaves(old: unknown, ours: unknown, path: string): Leaf[] {
  if (old === null || old === undefined) return [];
  if (Array.isArray(old)) {
    const items: readonly unknown[] = Array.isArray(ours) ? ours : [];
    return old.flatMap((item: unknown) => {
      const id = idOf(item);
      const isSame =
        id === undefined
          ? (each: unknown) => missingLeaves(item, each, '').length === 0
          : (each: unknown) => idOf(each) === id;
      const match = items.find(isSame);
      const at = `${path}[${id ?? JSON.stringify(item)}]`;
      return match === undefined ? [{ path: at, value: item }] : missingLeaves(item, match, at);
    });
  }
  const mapping = asMapping(old);
  if (mapping === undefined) return old === ours ? [] : [{ path, value: old }];
  const other = asMapping(ours);
  if (other === undefined) return Object.keys(mapping).length === 0 ? [] : [{ path, value: old }];
  return Object.entries(mapping).flatMap(([key, value]) =>
    missingLeaves(value, other[key], path === '' ? key : `${path}.${key}`),
  );
}

/** The fields that identify an item of a list: kubectl's merge keys. Undefined for an item without: its content does. */
function idOf(item: unknown): string | undefined {
  const { mountPath, containerPort, protocol, name, key } = asMapping(item) ?? {};
  if (typeof mountPath === 'string') return mountPath;
  if (typeof containerPort === 'number') return `${containerPort}${shown(protocol ?? 'TCP')}`;
  if (typeof name === 'string') return name;
  if (typeof key === 'string') return key;
  return typeof item === 'string' ? item : undefined;
}

/** A value after a colon; empty for a long one. */
function shown(value: unknown): string {
  return typeof value === 'object' ? '' : `: ${JSON.stringify(value).replace(/^"|"$/g, '')}`;
}

function isDefault(path: string, value: unknown): boolean {
  return DEFAULTS.some(
    ([pattern, values]) => pattern.test(path) && (values.length === 0 || values.includes(value)),
  );
}
