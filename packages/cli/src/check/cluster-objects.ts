import {
  asMapping,
  mappingsOf,
  textOf,
  textsOf,
  valueAt,
  type Mapping,
} from '../manifests/objects.js';

/** A Service, as far as findings need it. */
export interface ServiceObject {
  readonly namespace: string;
  readonly name: string;
  readonly version: string;
  readonly labels: Mapping;
  readonly selector: Mapping;
  readonly type: string;
  readonly clusterIps: readonly string[];
  readonly families: readonly string[];
  readonly ports: readonly string[];
  /** Where its DNS goes: port 53, as `UDP`, to a number or the name of a port of the pods. */
  readonly targets: readonly { readonly protocol: string; readonly port: number | string }[];
  readonly externalName: string;
  readonly trafficDistribution: string;
}

export interface EndpointObject {
  readonly address: string;
  readonly isReady: boolean;
  readonly node: string;
}

/** The ready endpoints of a service, counted. */
export interface EndpointCount {
  ipv4: number;
  ipv6: number;
}

/** An object whose pods have a resolver: a Pod, or what has a template of pods. */
export interface PodOwner {
  /** As `deployment shop/web`. */
  readonly name: string;
  readonly dnsPolicy: string;
  readonly dnsConfig: Mapping;
}

const DNS_PORT = 53;
const SERVICE_LABEL = 'kubernetes.io/service-name';

/**
 * The objects of a cluster, each shrunk when it arrives: of slices outside the namespace of the DNS only counts stay, of
 * workloads only their resolver.
 */
export class ClusterObjects {
  /** Of the DNS. */
  readonly namespace: string;
  readonly services: ServiceObject[] = [];
  /** Of services in the namespace of the DNS, by name. */
  readonly dnsEndpoints = new Map<string, EndpointObject[]>();
  /** By `NAMESPACE/NAME`. */
  readonly endpointCounts = new Map<string, EndpointCount>();
  readonly podOwners: PodOwner[] = [];
  /** Of pods and of their templates, by namespace: each set of labels once, as JSON. */
  readonly #podLabels = new Map<string, Set<string>>();
  /** By name. */
  readonly namespaces = new Map<string, Mapping>();
  /** Of the other kinds, whole; workloads, pods and budgets only of the namespace of the DNS. */
  readonly others = new Map<string, Mapping[]>();
  /** By kind. */
  readonly counts = new Map<string, number>();
  newestSlice = '';

  constructor(namespace: string) {
    this.namespace = namespace;
  }

  /** Adds an object of a list, whose items do not have their kind. */
  add(kind: string, value: Mapping): void {
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
    const metadata = asMapping(value.metadata) ?? {};
    // A file without a namespace is applied to the one that is given.
    const namespace = textOf(metadata.namespace) || this.namespace;
    const name = textOf(metadata.name);
    if (kind === 'Service') this.services.push(serviceOf(value, namespace, name));
    else if (kind === 'EndpointSlice') this.#addSlice(value, namespace);
    else if (kind === 'Namespace') this.namespaces.set(name, asMapping(metadata.labels) ?? {});
    else this.#addOther(kind, value, namespace, name);
  }

  #addOther(kind: string, value: Mapping, namespace: string, name: string): void {
    const isPod = kind === 'Pod';
    const podSpec = isPod ? value.spec : valueAt(value, 'spec', 'template', 'spec');
    const podLabels = valueAt(isPod ? value : valueAt(value, 'spec', 'template'), 'metadata', 'labels'); // prettier-ignore
    if (podSpec !== undefined) this.#addPodLabels(namespace, podLabels);
    const dnsConfig = asMapping(valueAt(podSpec, 'dnsConfig'));
    if (dnsConfig !== undefined) {
      const dnsPolicy = textOf(valueAt(podSpec, 'dnsPolicy'));
      this.podOwners.push({ name: `${kind.toLowerCase()} ${namespace}/${name}`, dnsPolicy, dnsConfig }); // prettier-ignore
    }
    if (podSpec !== undefined && namespace !== this.namespace) return;
    const list = this.others.get(kind) ?? [];
    list.push(value);
    this.others.set(kind, list);
  }

  #addPodLabels(namespace: string, labels: unknown): void {
    const known = this.#podLabels.get(namespace) ?? new Set();
    this.#podLabels.set(namespace, known.add(JSON.stringify(asMapping(labels) ?? {})));
  }

  /** Whether a LabelSelector selects a pod that is there; undefined where no pod of the namespace is known. */
  hasPods(namespace: string, selector: unknown): boolean | undefined {
    const known = this.#podLabels.get(namespace);
    if (known === undefined) return undefined;
    return [...known].some((labels) => selects(selector, JSON.parse(labels) as Mapping));
  }

  #addSlice(value: Mapping, namespace: string): void {
    const version = textOf(valueAt(value, 'metadata', 'resourceVersion'));
    this.newestSlice = newer(this.newestSlice, version);
    const service = textOf(valueAt(value, 'metadata', 'labels', SERVICE_LABEL));
    const key = `${namespace}/${service}`;
    const count = this.endpointCounts.get(key) ?? { ipv4: 0, ipv6: 0 };
    this.endpointCounts.set(key, count);
    for (const { addresses, conditions, nodeName } of mappingsOf(value.endpoints)) {
      // An endpoint that does not say it is ready.
      const isReady = valueAt(conditions, 'ready') !== false;
      const node = textOf(nodeName);
      if (isReady && value.addressType === 'IPv4') count.ipv4++;
      if (isReady && value.addressType === 'IPv6') count.ipv6++;
      if (namespace !== this.namespace) continue;
      const list = this.dnsEndpoints.get(service) ?? [];
      for (const address of textsOf(addresses)) list.push({ address, isReady, node });
      this.dnsEndpoints.set(service, list);
    }
  }

  /** The objects of a kind, whole. */
  of(kind: string): readonly Mapping[] {
    return this.others.get(kind) ?? [];
  }

  /** The ConfigMap of this name in the namespace of the DNS; undefined without. */
  configMap(name: string): ReadonlyMap<string, string> | undefined {
    const found = this.of('ConfigMap').find((each) => {
      const namespace = textOf(valueAt(each, 'metadata', 'namespace')) || this.namespace;
      return valueAt(each, 'metadata', 'name') === name && namespace === this.namespace;
    });
    if (found === undefined) return undefined;
    const data = Object.entries(asMapping(found.data) ?? {});
    return new Map(data.map(([key, text]) => [key, String(text)]));
  }

  /**
   * The Service that pods ask first, then others that select DNS pods. Upstreams of node caches, which pods do not ask, are
   * left out, and Services without an address.
   */
  dnsServices(): ServiceObject[] {
    const found = this.#ofDns().filter(({ clusterIps }) => clusterIps[0] !== 'None');
    const rank = ({ name }: ServiceObject) => Number(name !== 'kube-dns');
    return found.sort((one, other) => rank(one) - rank(other));
  }

  /** Those without an address (`clusterIP: None`), which no pod can ask. */
  headlessDnsServices(): ServiceObject[] {
    return this.#ofDns().filter(({ clusterIps }) => clusterIps[0] === 'None');
  }

  #ofDns(): ServiceObject[] {
    return this.services.filter(
      ({ namespace, name, labels, ports }) =>
        namespace === this.namespace &&
        (labels['k8s-app'] === 'kube-dns' || name === 'kube-dns') &&
        ports.some((port) => port.endsWith(' 53')) &&
        !name.endsWith('-upstream'),
    );
  }
}

function serviceOf(value: Mapping, namespace: string, name: string): ServiceObject {
  const { labels, resourceVersion } = asMapping(value.metadata) ?? {};
  const spec = asMapping(value.spec) ?? {};
  const ip = textOf(spec.clusterIP);
  const ips = textsOf(spec.clusterIPs);
  return {
    namespace,
    name,
    version: textOf(resourceVersion),
    labels: asMapping(labels) ?? {},
    selector: asMapping(spec.selector) ?? {},
    type: textOf(spec.type) || 'ClusterIP',
    clusterIps: ips.length > 0 ? ips : ip === '' ? [] : [ip],
    families: textsOf(spec.ipFamilies),
    ports: mappingsOf(spec.ports).map(
      ({ protocol, port }) => `${textOf(protocol) || 'TCP'} ${Number(port)}`,
    ),
    targets: mappingsOf(spec.ports)
      .filter(({ port }) => Number(port) === DNS_PORT)
      .map(({ protocol, port, targetPort }) => ({
        protocol: textOf(protocol) || 'TCP',
        port: targetPort === undefined ? Number(port) : portOf(targetPort),
      })),
    externalName: textOf(spec.externalName),
    trafficDistribution: textOf(spec.trafficDistribution),
  };
}

/** An IntOrString; a number that is written as text is a number here. */
export function portOf(value: unknown): number | string {
  const text = typeof value === 'number' ? String(value) : textOf(value);
  return /^\d+$/.test(text) ? Number(text) : text;
}

/** The later of two versions of the API; '' is none. */
export function newer(one: string, other: string): string {
  if (!/^\d+$/.test(other)) return one;
  return one === '' || BigInt(other) > BigInt(one) ? other : one;
}

/** Whether a LabelSelector selects these labels; an empty one selects all. */
export function selects(selector: unknown, labels: Mapping): boolean {
  const wanted = Object.entries(asMapping(valueAt(selector, 'matchLabels')) ?? {});
  if (wanted.some(([key, value]) => labels[key] !== value)) return false;
  return mappingsOf(valueAt(selector, 'matchExpressions')).every(({ key, operator, values }) => {
    const value = labels[textOf(key)];
    const isListed = typeof value === 'string' && textsOf(values).includes(value);
    if (operator === 'In') return isListed;
    if (operator === 'NotIn') return !isListed;
    return operator === 'Exists' ? value !== undefined : value === undefined;
  });
}
