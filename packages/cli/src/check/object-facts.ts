import { isIP } from 'node:net';
import { parseDnsConfig, unknownKeys, ConfigError } from '@kube-dns/daemon';
import { CorefileError, parseCorefile } from '@kube-dns/node-cache/corefile';
import { parse } from 'yaml';
import {
  asMapping,
  expandVariables,
  imageName,
  mappingsOf,
  textOf,
  textsOf,
  valueAt,
  type Mapping,
} from '../manifests/objects.js';
import {
  newer,
  portOf,
  selects,
  type ClusterObjects,
  type ServiceObject,
} from './cluster-objects.js';
import type {
  ConfigFact,
  DnsService,
  FactName,
  FactValues,
  KubeletFact,
  ServedZone,
  Workload,
} from './facts.js';
import { policyFacts } from './policy-facts.js';

/** Of which kinds each fact is made: without one of them it is not seen. */
const KINDS_OF = {
  dnsServices: ['Service'],
  dnsService: ['Service'],
  headlessDnsServices: ['Service'],
  families: ['Service'],
  aliases: ['Service'],
  workloads: ['Deployment'],
  withoutBudget: ['Deployment', 'PodDisruptionBudget'],
  zones: ['Deployment'],
  hiddenNamespaces: ['Deployment'],
  endpoints: ['EndpointSlice'],
  headless: ['Service', 'EndpointSlice'],
  size: ['Service', 'EndpointSlice'],
  newest: ['Service', 'EndpointSlice'],
  nodes: ['Node'],
  namespaces: ['Namespace'],
  policies: ['NetworkPolicy'],
  nodeCache: ['DaemonSet'],
  cachedNodes: ['DaemonSet', 'Pod'],
  resolvers: ['pod template'],
} as const satisfies Partial<Record<FactName, readonly string[]>>;

/** The facts of the objects; `missing` says of a kind, or of `pod template`, why there is none. */
export function factsOfObjects(
  objects: ClusterObjects,
  missing: (kind: string) => string | undefined,
): { values: Partial<FactValues>; unseen: Partial<Record<FactName, string>> } {
  const unseen: Partial<Record<FactName, string>> = {};
  const all = valuesOf(objects);
  for (const [name, kinds] of Object.entries(KINDS_OF)) {
    const reason = kinds.map(missing).find((each) => each !== undefined);
    if (reason === undefined) continue;
    unseen[name as FactName] = reason;
  }
  const seen = Object.entries(all).filter(([name]) => !(name in unseen));
  const values: Partial<FactValues> = Object.fromEntries(seen);
  return { values, unseen: Object.assign(optionalReasons(values, missing('ConfigMap')), unseen) };
}

/** What is unseen without the object that would say it; `noConfigMaps`: why none of that kind could be. */
function optionalReasons(
  values: Partial<FactValues>,
  noConfigMaps: string | undefined,
): Partial<Record<FactName, string>> {
  const reasons: Partial<Record<FactName, string>> = {};
  const say = (name: FactName, reason: string) => {
    if (!(name in values)) reasons[name] = reason;
  };
  say('kubelets', noConfigMaps ?? 'there is no ConfigMap kubelet-config, as kubeadm writes it, and no other source of clusterDNS'); // prettier-ignore
  say('configs', noConfigMaps ?? 'no ConfigMap of the DNS is there');
  say('dnsService', 'there is no DNS Service');
  say('proxyMode', noConfigMaps ?? 'there is no ConfigMap kube-proxy');
  say('zones', 'no Deployment of the DNS names its zone');
  return reasons;
}

function valuesOf(objects: ClusterObjects): Partial<FactValues> {
  const services = objects.dnsServices();
  const [service] = services;
  const workloads = service === undefined ? [] : workloadsOf(objects, service);
  const zones = zonesOf(objects, workloads);
  const kubelets = kubeletsOf(objects);
  const zone = zones[0]?.zone ?? 'cluster.local';
  const clusterIps = services.flatMap((each) => each.clusterIps);
  const configs = configsOf(objects, zone, clusterIps);
  const headless = objects.services.filter(({ clusterIps }) => clusterIps[0] === 'None');
  const endpoints = service === undefined ? [] : (objects.dnsEndpoints.get(service.name) ?? []);
  const { nodeCache, cachedNodes } = nodeCacheOf(objects);
  const proxyMode = proxyModeOf(objects);
  return {
    dnsServices: services.map((each) => dnsServiceOf(each, workloadsOf(objects, each))),
    ...(service !== undefined && { dnsService: dnsServiceOf(service, workloads) }),
    headlessDnsServices: objects.headlessDnsServices().map(({ name }) => name),
    workloads: workloads.map(({ workload }) => workload),
    withoutBudget: withoutBudget(objects, workloads),
    endpoints,
    nodes: objects
      .of('Node')
      .filter((node) => valueAt(node, 'spec', 'unschedulable') !== true && isReady(node))
      .map((node) => ({
        name: textOf(valueAt(node, 'metadata', 'name')),
        zone: textOf(valueAt(node, 'metadata', 'labels', 'topology.kubernetes.io/zone')),
      })),
    ...(zones.length > 0 && { zones }),
    ...(kubelets.length > 0 && { kubelets }),
    ...(configs.length > 0 && { configs }),
    resolvers: objects.podOwners.map(({ name, dnsPolicy, dnsConfig }) => ({
      of: name,
      hasClusterSearches: !['Default', 'None'].includes(dnsPolicy),
      searches: textsOf(dnsConfig.searches),
      ndots: ndotsOf(dnsConfig),
    })),
    namespaces: [...objects.namespaces.keys()],
    hiddenNamespaces: workloads.flatMap(({ args }) =>
      (flagOf(args, 'hidden-namespaces') ?? '').split(',').filter((name) => name !== ''),
    ),
    families: [...new Set(objects.services.flatMap(familiesOf))],
    nodeCache,
    cachedNodes,
    ...(proxyMode !== undefined && { proxyMode }),
    newest: {
      services: objects.services.reduce((newest, each) => newer(newest, each.version), ''),
      endpointslices: objects.newestSlice,
    },
    size: {
      services: objects.services.length,
      endpoints: sum([...objects.endpointCounts.values()]),
      records: sum(headless.flatMap((each) => countOf(objects, each) ?? [])),
    },
    policies: policyFacts(objects.of('NetworkPolicy'), {
      namespace: objects.namespace,
      podLabels: workloads[0]?.labels ?? service?.selector ?? {},
      serviceAddresses: clusterIps,
      addresses: [...endpoints.map(({ address }) => address), ...(nodeCache?.localIps ?? [])],
      hasPods: (namespace, selector) => objects.hasPods(namespace, selector),
      labelsOf: (name) => objects.namespaces.get(name) ?? { 'kubernetes.io/metadata.name': name },
    }),
    headless: headless.map((each) => {
      const { ipv4, ipv6 } = countOf(objects, each) ?? { ipv4: 0, ipv6: 0 };
      return { name: `${each.name}.${each.namespace}.svc.${zone}`, ipv4, ipv6 };
    }),
    aliases: objects.services
      .filter(({ type }) => type === 'ExternalName')
      .map(({ namespace, name, externalName }) => ({
        service: `${namespace}/${name}`,
        target: externalName,
        namesakes: namesakesOf(objects, externalName),
      })),
  };
}

/** Namespaces with a service, no ExternalName, whose name is the whole target. */
function namesakesOf({ services }: ClusterObjects, target: string): string[] {
  const wanted = target.toLowerCase().replace(/\.$/, '');
  if (wanted.includes('.')) return [];
  return services.flatMap(({ name, namespace, type }) =>
    name === wanted && type !== 'ExternalName' ? [namespace] : [],
  );
}

function dnsServiceOf(service: ServiceObject, workloads: readonly FoundWorkload[]): DnsService {
  const { namespace, name, clusterIps, ports, targets, trafficDistribution } = service;
  const open = workloads.flatMap((each) => each.ports);
  // Pods that name none of their ports may listen on any.
  const isOpen = ({ protocol, port }: (typeof targets)[number]) =>
    open.length === 0 || open.some((each) => each.protocol === protocol && (each.port === port || each.name === port)); // prettier-ignore
  const closedTargets = targets
    .filter((each) => !isOpen(each))
    .map(({ protocol, port }) => `${protocol} ${port}`);
  return { namespace, name, clusterIps, ports, closedTargets, trafficDistribution };
}

function countOf({ endpointCounts }: ClusterObjects, { namespace, name }: ServiceObject) {
  return endpointCounts.get(`${namespace}/${name}`);
}

function sum(counts: readonly { readonly ipv4: number; readonly ipv6: number }[]): number {
  return counts.reduce((total, { ipv4, ipv6 }) => total + ipv4 + ipv6, 0);
}

function familiesOf({ families, clusterIps }: ServiceObject): string[] {
  if (families.length > 0) return [...families];
  return clusterIps.filter((ip) => ip !== 'None').map((ip) => (ip.includes(':') ? 'IPv6' : 'IPv4'));
}

/** A node without conditions, as in a file, is. */
function isReady(node: Mapping): boolean {
  const conditions = mappingsOf(valueAt(node, 'status', 'conditions'));
  return conditions.every(({ type, status }) => type !== 'Ready' || status === 'True');
}

function ndotsOf(dnsConfig: Mapping): number | undefined {
  const option = mappingsOf(dnsConfig.options).find(({ name }) => name === 'ndots');
  return option === undefined ? undefined : Number(option.value);
}

/** A workload with what only other facts need. */
interface FoundWorkload {
  readonly workload: Workload;
  readonly labels: Mapping;
  /** Of all containers, with their variables expanded. */
  readonly args: readonly string[];
  readonly ports: readonly ContainerPort[];
}

interface ContainerPort {
  readonly protocol: string;
  readonly port: number | string;
  readonly name: string;
}

function workloadsOf(objects: ClusterObjects, { selector }: ServiceObject): FoundWorkload[] {
  // A Service without a selector has endpoints of its own.
  if (Object.keys(selector).length === 0) return [];
  return ['Deployment', 'DaemonSet'].flatMap((kind) =>
    objects.of(kind).flatMap((each) => {
      const labels = asMapping(valueAt(each, 'spec', 'template', 'metadata', 'labels')) ?? {};
      if (!selects({ matchLabels: selector }, labels)) return [];
      return [workloadOf(kind, each, labels)];
    }),
  );
}

function workloadOf(kind: string, value: Mapping, labels: Mapping): FoundWorkload {
  const spec = valueAt(value, 'spec', 'template', 'spec');
  const containers = mappingsOf(valueAt(spec, 'containers'));
  const replicas = valueAt(value, 'spec', 'replicas');
  const isDaemonSet = kind === 'DaemonSet';
  const constraints = mappingsOf(valueAt(spec, 'topologySpreadConstraints'));
  return {
    labels,
    args: containers.flatMap(argsOf),
    ports: containers.flatMap((each) =>
      mappingsOf(each.ports).map(({ protocol, containerPort, name }) => ({
        protocol: textOf(protocol) || 'TCP',
        port: portOf(containerPort),
        name: textOf(name),
      })),
    ),
    workload: {
      name: `${kind.toLowerCase()}/${textOf(valueAt(value, 'metadata', 'name'))}`,
      replicas: typeof replicas === 'number' ? replicas : 1,
      containers: containers.map((each) => ({
        name: textOf(each.name),
        image: imageName(textOf(each.image)),
        memoryLimitBytes: bytesOf(valueAt(each, 'resources', 'limits', 'memory')),
        heapBytes: heapOf(each),
      })),
      priorityClass: textOf(valueAt(spec, 'priorityClassName')),
      isSpread:
        isDaemonSet ||
        constraints.length > 0 ||
        valueAt(spec, 'affinity', 'podAntiAffinity') !== undefined,
    },
  };
}

function withoutBudget(objects: ClusterObjects, workloads: readonly FoundWorkload[]): string[] {
  const budgets = objects.of('PodDisruptionBudget');
  return workloads.flatMap(({ workload: { name, replicas }, labels }) => {
    if (replicas === 0 || name.startsWith('daemonset/')) return [];
    const hasOne = budgets.some((each) => selects(valueAt(each, 'spec', 'selector'), labels));
    return hasOne ? [] : [name];
  });
}

function variablesOf(container: Mapping): ReadonlyMap<string, string> {
  const rows = mappingsOf(container.env).map(
    ({ name, value }) => [textOf(name), textOf(value)] as const,
  );
  return new Map(rows);
}

function argsOf(container: Mapping): string[] {
  const words = [...textsOf(container.command), ...textsOf(container.args)];
  return words.map((each) => expandVariables(each, variablesOf(container)));
}

/** The value of `-name=value` or `--name=value`, the last one. */
function flagOf(args: readonly string[], name: string): string | undefined {
  const prefix = new RegExp(`^--?${name}=`);
  return args.findLast((each) => prefix.test(each))?.replace(prefix, '');
}

const MIB = 1024 * 1024;

function heapOf(container: Mapping): number | undefined {
  const options = variablesOf(container).get('NODE_OPTIONS') ?? '';
  const mib = /--max-old-space-size=(\d+)/.exec(options)?.[1];
  return mib === undefined ? undefined : Number(mib) * MIB;
}

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 1024,
  Mi: MIB,
  Gi: 1024 * MIB,
  Ti: MIB * MIB,
};

/** A quantity of memory; undefined for none, and for what is none. */
function bytesOf(quantity: unknown): number | undefined {
  const [, number, unit = ''] = /^([\d.]+)(\w*)$/.exec(String(quantity)) ?? [];
  const scale = UNITS[unit];
  return number === undefined || scale === undefined ? undefined : Number(number) * scale;
}

const withoutDot = (name: string) => name.toLowerCase().replace(/\.$/, '');

/** The zone of kubedns' `--domain`, and that of the plugin `kubernetes` of a Corefile. */
function zonesOf(objects: ClusterObjects, workloads: readonly FoundWorkload[]): ServedZone[] {
  return workloads
    .filter(({ workload }) => workload.replicas > 0)
    .flatMap(({ workload: { name, containers }, args }) => {
      const domain = flagOf(args, 'domain');
      if (domain !== undefined) return [{ by: name, zone: withoutDot(domain) }];
      const isCoreDns = containers.some(({ image }) => image.includes('coredns'));
      const text = isCoreDns ? objects.configMap('coredns')?.get('Corefile') : undefined;
      const zone = text === undefined ? undefined : /^\s*kubernetes[ \t]+(\S+)/m.exec(text)?.[1];
      return zone === undefined || zone === '{' ? [] : [{ by: name, zone: withoutDot(zone) }];
    });
}

function kubeletsOf(objects: ClusterObjects): KubeletFact[] {
  const text = objects.configMap('kubelet-config')?.get('kubelet');
  const ofFile = objects.of('KubeletConfiguration').map((each) => kubeletOf('KubeletConfiguration', each)); // prettier-ignore
  if (text === undefined) return ofFile;
  return [...ofFile, kubeletOf('ConfigMap kubelet-config', yamlOf(text))];
}

/** A configuration of a kubelet. */
export function kubeletOf(from: string, value: unknown): KubeletFact {
  return {
    from,
    clusterDns: textsOf(valueAt(value, 'clusterDNS')),
    clusterDomain: withoutDot(textOf(valueAt(value, 'clusterDomain'))),
  };
}

function yamlOf(text: string): unknown {
  try {
    return parse(text, { logLevel: 'error' }) as unknown;
  } catch {
    return undefined; // of another program: it says nothing here
  }
}

function configsOf(
  objects: ClusterObjects,
  zone: string,
  clusterIps: readonly string[],
): ConfigFact[] {
  const kubeDns = objects.configMap('kube-dns');
  const corefiles = ['coredns', 'node-local-dns'].flatMap((name) => {
    const text = objects.configMap(name)?.get('Corefile');
    return text === undefined ? [] : [{ from: `ConfigMap ${name}`, mistakes: corefileMistakes(text) }]; // prettier-ignore
  });
  if (kubeDns === undefined) return corefiles;
  return [
    { from: 'ConfigMap kube-dns', mistakes: configMistakes(kubeDns, zone, clusterIps) },
    ...corefiles,
  ];
}

function configMistakes(
  files: ReadonlyMap<string, string>,
  zone: string,
  clusterIps: readonly string[],
): string[] {
  const { warnings } = unknownKeys(files);
  try {
    const { stubDomains, upstreamNameservers, hosts } = parseDnsConfig(files);
    const typos = [...stubDomains].flatMap(([domain, servers]) =>
      servers
        .filter(isLikeAddress)
        .map((server) => `stubDomains ${domain}: ${server} is no address`),
    );
    const taken = [...stubDomains.keys()]
      .filter((domain) => takesClusterNames(domain, zone))
      .map((domain) => `stubDomains ${domain}: its servers are asked for names of the cluster, which kubedns has`); // prettier-ignore
    const circles = [
      ['upstreamNameservers', upstreamNameservers] as const,
      ...[...stubDomains].map(([domain, servers]) => [`stubDomains ${domain}`, servers] as const),
    ].flatMap(([key, servers]) =>
      servers
        .filter((server) => isOneOf(server, clusterIps))
        .map((server) => `${key}: ${server} is the DNS Service itself: questions go in a circle`),
    );
    const own = Array.from(hosts.lines)
      .filter(([host]) => host === zone || host.endsWith(`.${zone}`))
      .map(([host, line]) => `hosts: line ${line}: ${host} is in the zone of the cluster`);
    return [...typos, ...taken, ...circles, ...own, ...warnings];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return [...error.mistakes, ...warnings];
  }
}

/** The zone, or a part of it that has services or pods; another name below the zone may be delegated. */
function takesClusterNames(domain: string, zone: string): boolean {
  const parts = [`svc.${zone}`, `pod.${zone}`];
  return domain === zone || parts.some((part) => domain === part || domain.endsWith(`.${part}`));
}

/** It is taken for a host name, but no top-level domain is a number (RFC 3696 section 2). */
function isLikeAddress(server: string): boolean {
  const host = server.replace(/:\d+$/, '');
  return /^[\d.]+$/.test(host) && isIP(host) === 0;
}

/** `server` may have a port. */
function isOneOf(server: string, addresses: readonly string[]): boolean {
  return addresses.some((each) => server === each || server === `${each}:53` || server === `[${each}]:53`); // prettier-ignore
}

function corefileMistakes(text: string): string[] {
  try {
    parseCorefile(text, 'Corefile');
    return [];
  } catch (error) {
    if (!(error instanceof CorefileError)) throw error;
    return [error.message];
  }
}

/** The DaemonSet of NodeLocal DNSCache, ours or the original, and the nodes where it is ready. */
function nodeCacheOf(objects: ClusterObjects): Pick<FactValues, 'nodeCache' | 'cachedNodes'> {
  const found = objects
    .of('DaemonSet')
    .find(
      (each) =>
        valueAt(each, 'spec', 'template', 'metadata', 'labels', 'k8s-app') === 'node-local-dns' ||
        valueAt(each, 'metadata', 'name') === 'node-local-dns',
    );
  if (found === undefined) return { nodeCache: undefined, cachedNodes: [] };
  const containers = mappingsOf(valueAt(found, 'spec', 'template', 'spec', 'containers'));
  const args = containers.flatMap(argsOf);
  // The original takes the value as the next word.
  const at = args.findIndex((each) => /^--?localip$/.test(each));
  const localIps = flagOf(args, 'localip') ?? (at < 0 ? '' : (args[at + 1] ?? ''));
  const selector = valueAt(found, 'spec', 'selector');
  const pods = objects
    .of('Pod')
    .filter((pod) => selects(selector, asMapping(valueAt(pod, 'metadata', 'labels')) ?? {}));
  return {
    nodeCache: { localIps: localIps.split(',').filter((each) => each !== '') },
    cachedNodes: pods.filter(isReady).map((pod) => textOf(valueAt(pod, 'spec', 'nodeName'))),
  };
}

function proxyModeOf(objects: ClusterObjects): string | undefined {
  const text = objects.configMap('kube-proxy')?.get('config.conf');
  const [file] = objects.of('KubeProxyConfiguration');
  const config = file ?? (text === undefined ? undefined : yamlOf(text));
  // Empty is the default of the platform.
  return config === undefined ? undefined : textOf(valueAt(config, 'mode')) || 'iptables';
}
