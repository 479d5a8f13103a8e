import { isDnsSubdomain, isIpAddress } from '@kube-dns/daemon';

/** Objects of a namespace with this label and value may take host names of other domains: an administrator sets it. */
export const HOST_NAMES_LABELS = { 'kube-dns/host-names': 'true' } as const;
const [[LABEL, LABEL_VALUE]] = Object.entries(HOST_NAMES_LABELS) as [[string, string]];
/** Of a Service: host names, separated by commas, that lead to its addresses outside of the cluster (external-dns). */
export const EXTERNAL_DNS_ANNOTATION = 'external-dns.alpha.kubernetes.io/hostname';
/** Of a Service: host names, separated by commas, that lead to its cluster addresses. */
export const HOSTS_ANNOTATION = 'kube-dns/hosts';
/** Of a route or a Service: its hosts lead to the cluster address of the backend, not to that of the load balancer. */
export const TARGET_ANNOTATION = 'kube-dns/target';
export const BACKEND_TARGET = 'backend';

/** Of one object; a Gateway route has 16 at most. */
const MAX_HOSTS = 256;
const WILDCARD = '*.';
/** As measured, with the entry in the index; without its characters. */
const HOST_BYTES = 700;
/** Its names are reverse names. */
const ARPA = 'arpa';

type Annotations = Readonly<Record<string, unknown>> | undefined;

/** Whether a namespace has the label. */
export function allowsHostNames(labels: Readonly<Record<string, unknown>> | undefined): boolean {
  return labels?.[LABEL] === LABEL_VALUE;
}

/** A host name of an annotation of a Service. */
export interface AnnotatedHost {
  readonly host: string;
  /** Whether it leads to the cluster addresses of the service. */
  readonly isInside: boolean;
}

/** The host names of the annotations of one object. */
export interface AnnotatedHosts {
  readonly hosts: readonly AnnotatedHost[];
  /** When the object was made, in seconds since 1970; 0 where that is not known. */
  readonly created: number;
}

/** Reads the annotations of a Service; undefined where it has no host name. */
export function annotatedHosts(
  metadata: { annotations?: Annotations } | undefined,
  onRejected: (reason: string) => void,
): AnnotatedHosts | undefined {
  const annotations = metadata?.annotations;
  if (annotations === undefined) return undefined;
  const external = annotations[EXTERNAL_DNS_ANNOTATION];
  const inside = annotations[HOSTS_ANNOTATION];
  if (typeof external !== 'string' && typeof inside !== 'string') return undefined;
  const isInside = targetsBackend(annotations);
  const own = hostList(namesIn(inside), onRejected);
  const others = hostList(namesIn(external), onRejected).filter((host) => !own.includes(host));
  const all = [
    ...own.map((host) => ({ host, isInside: true })),
    ...others.map((host) => ({ host, isInside })),
  ];
  if (all.length > MAX_HOSTS)
    onRejected(`${all.length - MAX_HOSTS} more host names than ${MAX_HOSTS}`);
  const hosts = all.slice(0, MAX_HOSTS);
  return hosts.length === 0 ? undefined : { hosts, created: createdOf(metadata) };
}

/** Whether the hosts of an object lead to its backend. */
export function targetsBackend(annotations: Annotations): boolean {
  return annotations?.[TARGET_ANNOTATION] === BACKEND_TARGET;
}

/** When an object was made, in seconds since 1970; 0 where that is not known. */
export function createdOf(metadata: object | undefined): number {
  const { creationTimestamp: text } = (metadata ?? {}) as { creationTimestamp?: unknown };
  const ms = typeof text === 'string' ? Date.parse(text) : Number.NaN;
  return Number.isFinite(ms) ? Math.floor(ms / 1000) : 0;
}

/** The time as the API has it. */
export function createdText(created: number): string | undefined {
  return created === 0 ? undefined : new Date(created * 1000).toISOString().replace('.000Z', 'Z');
}

function namesIn(text: unknown): string[] {
  if (typeof text !== 'string') return [];
  const names = text.split(',', MAX_HOSTS + 1).map((name) => name.trim());
  return names.filter((name) => name !== '');
}

/**
 * Host names as the index has them, each once: in lower case, without a final dot. `onRejected` takes each that no object may
 * take: a name without a dot, `*` other than as the first of three labels, reverse names.
 */
export function hostList(
  listed: readonly unknown[],
  onRejected: (reason: string) => void,
): readonly string[] {
  const hosts = new Set<string>();
  for (const each of listed.slice(0, MAX_HOSTS)) {
    const host = typeof each === 'string' ? each.toLowerCase().replace(/\.$/, '') : '';
    if (isHost(host)) hosts.add(host);
    else onRejected(`${JSON.stringify(each)} is not a host name that can be answered`);
  }
  if (listed.length > MAX_HOSTS) {
    onRejected(`${listed.length - MAX_HOSTS} more host names than ${MAX_HOSTS}`);
  }
  return [...hosts];
}

/** A wildcard directly below a top-level domain would take all of that. */
function isHost(host: string): boolean {
  const name = host.startsWith(WILDCARD) ? host.slice(WILDCARD.length) : host;
  if (!isDnsSubdomain(name) || isIpAddress(name)) return false;
  const labels = name.split('.');
  return labels.length > 1 && labels.at(-1) !== ARPA;
}

/** The memory of host names, in bytes: as measured. */
export function hostBytes(hosts: readonly unknown[] | undefined): number {
  return (hosts?.length ?? 0) * HOST_BYTES;
}

/** The metadata of which `annotatedHosts` makes the same. */
export function annotationsOf({ hosts, created }: AnnotatedHosts) {
  const named = (isInside: boolean) =>
    hosts.flatMap((each) => (each.isInside === isInside ? [each.host] : [])).join(',');
  const creationTimestamp = createdText(created);
  return {
    annotations: { [HOSTS_ANNOTATION]: named(true), [EXTERNAL_DNS_ANNOTATION]: named(false) },
    ...(creationTimestamp !== undefined && { creationTimestamp }),
  };
}

/** Whether two states of an object have the same host names in the same order. */
export function isSameAnnotation(
  one: AnnotatedHosts | undefined,
  other: AnnotatedHosts | undefined,
): boolean {
  if (one === undefined || other === undefined) return one === other;
  return (
    one.created === other.created &&
    one.hosts.length === other.hosts.length &&
    one.hosts.every(({ host, isInside }, i) => {
      const { host: otherHost, isInside: isOtherInside } = other.hosts[i]!;
      return host === otherHost && isInside === isOtherInside;
    })
  );
}
