/** The Service that pods ask: its address is what kubelets write into each resolv.conf. */
export interface DnsService {
  readonly namespace: string;
  readonly name: string;
  readonly clusterIps: readonly string[];
  /** As `UDP 53`. */
  readonly ports: readonly string[];
  /** Where its DNS goes, as `UDP 5353` or `UDP dns`, that no container of its pods has. */
  readonly closedTargets: readonly string[];
  /** Empty without one. */
  readonly trafficDistribution: string;
}

/** A Deployment or DaemonSet whose pods the DNS Service selects. */
export interface Workload {
  /** As `deployment/kube-dns`. */
  readonly name: string;
  /** Of a DaemonSet 1. */
  readonly replicas: number;
  readonly containers: readonly WorkloadContainer[];
  readonly priorityClass: string;
  /** By topologySpreadConstraints or podAntiAffinity; of a DaemonSet always. */
  readonly isSpread: boolean;
}

export interface WorkloadContainer {
  readonly name: string;
  /** The last part of its image's name. */
  readonly image: string;
  /** Undefined without a limit. */
  readonly memoryLimitBytes: number | undefined;
  /** `--max-old-space-size` of NODE_OPTIONS in bytes; undefined without. */
  readonly heapBytes: number | undefined;
}

export interface DnsEndpoint {
  readonly address: string;
  readonly isReady: boolean;
  /** Empty where the slice does not say it. */
  readonly node: string;
}

/** A node that takes pods. */
export interface NodeFact {
  readonly name: string;
  /** Empty without the label. */
  readonly zone: string;
}

/** What a kubelet, the template of kubelets, or a pod's resolv.conf has. */
export interface KubeletFact {
  /** As `ConfigMap kubelet-config` or `node a`. */
  readonly from: string;
  readonly clusterDns: readonly string[];
  /** Without the final dot; empty where it is not set. */
  readonly clusterDomain: string;
}

/** A zone of the cluster that is served, without the final dot. */
export interface ServedZone {
  readonly by: string;
  readonly zone: string;
}

/** The configuration of the DNS programs. */
export interface ConfigFact {
  /** As `ConfigMap kube-dns`. */
  readonly from: string;
  /** Why it is refused; empty when it is valid. */
  readonly mistakes: readonly string[];
}

/** The servers of the ConfigMap, and those that a program has. */
export interface ConfigInUse {
  readonly by: string;
  readonly wanted: Readonly<Record<string, string>>;
  readonly used: Readonly<Record<string, string>>;
  /** Why the program refuses the newest one; empty when it does not. */
  readonly refused: string;
}

/** A name server of a program. */
export interface UpstreamFact {
  readonly by: string;
  readonly server: string;
  readonly domains: string;
  readonly isDown: boolean;
  readonly reason: string;
  /** As the program counts them: reason and number. */
  readonly failures: Readonly<Record<string, number>>;
  readonly queries: number;
  /** On average since the program started. */
  readonly perSecond: number;
}

/** A question that was asked to find something out. */
export interface AskedFact {
  /** The DNS Service, an endpoint of it, or the DNS of this machine. */
  readonly of: 'service' | 'endpoint' | 'local';
  readonly server: string;
  readonly way: 'udp' | 'tcp';
  readonly name: string;
  /** `NOERROR`, …; undefined without a reply. */
  readonly rcode: string | undefined;
  readonly isTruncated: boolean;
}

/** Questions over UDP from one port, which share a connection of conntrack. */
export interface FlowFact {
  readonly server: string;
  readonly questions: number;
  readonly answered: number;
}

/** A and AAAA that were sent at once from one port, as glibc does. */
export interface PairFact {
  readonly pairs: number;
  /** Without both replies after 5 s. */
  readonly lost: number;
}

/** The questions of the last half to whole minute. */
export interface TrafficFact {
  readonly by: string;
  readonly questions: number;
  /** Names that do not exist, the most frequent first. */
  readonly nxdomain: readonly { readonly name: string; readonly questions: number }[];
  /** Who asks most, a pod's name where it is known. */
  readonly clients: readonly string[];
}

/** Questions by type since the program started. */
export interface TypeCounts {
  readonly by: string;
  readonly all: number;
  readonly aaaa: number;
}

/** What pods, or templates of pods, say about their resolver. */
export interface ResolverFact {
  /** As `pod shop/web` or `deployment shop/web`. */
  readonly of: string;
  readonly hasClusterSearches: boolean;
  readonly searches: readonly string[];
  /** Undefined unless it is set. */
  readonly ndots: number | undefined;
}

/** The cache of each node. */
export interface NodeCacheFact {
  readonly localIps: readonly string[];
}

export interface NodeRules {
  readonly by: string;
  readonly rulesBy: string;
  readonly hasInterface: boolean;
  readonly hasRules: boolean;
}

/** What the API and what a program says of one service. */
export interface ComparedAnswer {
  readonly by: string;
  readonly name: string;
  readonly wanted: readonly string[];
  readonly answered: readonly string[];
}

/** A zone whose changes a cache subscribes to. */
export interface SubscriptionFact {
  readonly by: string;
  readonly zone: string;
  readonly state: string;
  readonly reason: string;
  /** Undefined where it is not known. */
  readonly coveragePercent: number | undefined;
  readonly answers: number;
}

export interface WatchFact {
  readonly by: string;
  readonly resource: string;
  /** `open`, `connecting`, `stale`, `denied`. */
  readonly state: string;
  readonly version: string;
  readonly reason: string;
}

/** Of a resource the highest resourceVersion of its objects. */
export interface NewestVersions {
  readonly services: string;
  readonly endpointslices: string;
}

export interface ClusterSize {
  readonly services: number;
  readonly endpoints: number;
  /** Endpoints of headless services. */
  readonly records: number;
}

/** What a NetworkPolicy does to DNS. */
export interface PolicyFact {
  /** As `shop/default-deny`. */
  readonly name: string;
  readonly forbids: 'questions to the DNS pods' | 'questions of its pods';
  /** `UDP`, `TCP`. */
  readonly protocols: readonly string[];
  /** It allows the address of the DNS Service, and no address of its pods. */
  readonly allowsService: boolean;
}

export interface HeadlessFact {
  /** As it is asked. */
  readonly name: string;
  readonly ipv4: number;
  readonly ipv6: number;
}

export interface AliasFact {
  /** NAMESPACE/NAME. */
  readonly service: string;
  readonly target: string;
  /** Namespaces with a service of another type whose name is the target, where that is one label. */
  readonly namesakes: readonly string[];
}

export interface CertificateFact {
  readonly by: string;
  readonly server: string;
  /** Undefined before a certificate was accepted. */
  readonly endsInSeconds: number | undefined;
  /** Handshakes that failed because of the certificate. */
  readonly failures: number;
}

export interface ClockFact {
  readonly of: string;
  /** Ahead of this machine's clock. */
  readonly aheadMs: number;
}

/** Whether the API server answers. */
export interface ApiServerFact {
  /** A sentence; empty where it does. */
  readonly failure: string;
}

/** A program of the DNS whose page was asked. */
export interface ProgramFact {
  /** As `dnsmasq` or `dnsmasq of pod kube-dns-5c8f7`. */
  readonly of: string;
  /** How it hangs; empty where it answers. */
  readonly hang: string;
}

export interface VersionFact {
  readonly major: number;
  readonly minor: number;
}

/** Everything that findings are made of. */
export interface FactValues {
  /** Empty when the cluster has none. */
  readonly dnsServices: readonly DnsService[];
  /** Names of those without an address (`clusterIP: None`). */
  readonly headlessDnsServices: readonly string[];
  /** The first of them, which pods ask. */
  readonly dnsService: DnsService;
  readonly workloads: readonly Workload[];
  /** Names of the running ones whose pods no PodDisruptionBudget selects; of a DaemonSet never. */
  readonly withoutBudget: readonly string[];
  readonly endpoints: readonly DnsEndpoint[];
  readonly nodes: readonly NodeFact[];
  readonly apiServer: ApiServerFact;
  readonly programs: readonly ProgramFact[];
  /** Why programs are not ready, as their pages say. */
  readonly notReady: readonly string[];
  readonly kubelets: readonly KubeletFact[];
  readonly resolvConf: KubeletFact;
  readonly zones: readonly ServedZone[];
  readonly configs: readonly ConfigFact[];
  readonly configsInUse: readonly ConfigInUse[];
  readonly upstreams: readonly UpstreamFact[];
  /** For names of the cluster, each from a port of its own. */
  readonly asked: readonly AskedFact[];
  /** For a name outside. */
  readonly askedOutside: readonly AskedFact[];
  readonly flow: FlowFact;
  readonly pairs: PairFact;
  readonly traffic: readonly TrafficFact[];
  readonly questionTypes: readonly TypeCounts[];
  readonly resolvers: readonly ResolverFact[];
  readonly namespaces: readonly string[];
  /** Those that kubedns does not answer for: `--hidden-namespaces`. */
  readonly hiddenNamespaces: readonly string[];
  /** `IPv4`, `IPv6`: of the services. */
  readonly families: readonly string[];
  /** Undefined without a cache on the nodes. */
  readonly nodeCache: NodeCacheFact | undefined;
  /** Names of the nodes where it is ready. */
  readonly cachedNodes: readonly string[];
  readonly nodeRules: readonly NodeRules[];
  /** `iptables`, `ipvs`, `nftables`. */
  readonly proxyMode: string;
  readonly compared: readonly ComparedAnswer[];
  readonly subscriptions: readonly SubscriptionFact[];
  readonly watches: readonly WatchFact[];
  readonly newest: NewestVersions;
  readonly size: ClusterSize;
  readonly policies: readonly PolicyFact[];
  readonly headless: readonly HeadlessFact[];
  readonly aliases: readonly AliasFact[];
  readonly certificates: readonly CertificateFact[];
  readonly clocks: readonly ClockFact[];
  /** Verb and resource that the user of the command may not have, before an installation. */
  readonly missingRights: readonly string[];
  readonly version: VersionFact;
  /** The address that the manifests have, and the Service that has it; empty when it is free. */
  readonly wantedAddress: { readonly address: string; readonly takenBy: string };
}

export type FactName = keyof FactValues;

/** What was gathered: values, and of the others why they could not be seen. */
export interface Facts {
  readonly values: Partial<FactValues>;
  readonly unseen: Partial<Record<FactName, string>>;
  /** Of the values that are not of all that there is, of how much they are: `2 of 3 pods`. */
  readonly partly?: Partial<Record<FactName, string>>;
  /** Of facts that a program that hangs would have a part of: how it hangs. A finding that needs one is not passed. */
  readonly hangs?: Partial<Record<FactName, string>>;
}
