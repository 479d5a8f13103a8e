import type { V1Pod } from '@kubernetes/client-node';
import type { SearchRules } from './search-path.js';

/** How a pod's resolver is set up. */
export interface PodResolver extends SearchRules {
  /** The pod's address, as the client of its questions. */
  readonly address: string | undefined;
  /** Sentences that say where the rules come from, and what is assumed. */
  readonly notes: readonly string[];
}

/** Of a pod with the policy ClusterFirst, as the kubelet writes it. */
const CLUSTER_NDOTS = 5;
/** resolv.conf(5). */
const DEFAULT_NDOTS = 1;
const NDOTS = /^\d{1,2}$/;

/** The resolver of a pod that is not read: as that of most pods. */
export function assumedResolver(namespace: string, domain: string): PodResolver {
  return {
    searches: clusterSearches(namespace, domain),
    ndots: CLUSTER_NDOTS,
    address: undefined,
    notes: [
      `A pod in the namespace ${namespace} is assumed to have dnsPolicy ClusterFirst without dnsConfig.`,
    ],
  };
}

/** The resolver of a pod, as the kubelet sets it up (pkg/kubelet/network/dns/dns.go, GetPodDNS). */
export function podResolver(pod: V1Pod, domain: string): PodResolver {
  const { metadata, spec, status } = pod;
  const namespace = metadata?.namespace ?? 'default';
  const given = spec?.dnsPolicy ?? 'ClusterFirst';
  const isOnHost = spec?.hostNetwork === true;
  const policy = given === 'ClusterFirst' && isOnHost ? 'Default' : given;
  const config = spec?.dnsConfig;
  const isCluster = policy === 'ClusterFirst' || policy === 'ClusterFirstWithHostNet';
  const own = config?.searches ?? [];
  const ndotsText = config?.options?.find(({ name }) => name === 'ndots')?.value ?? '';
  const notes = [
    `The pod ${namespace}/${metadata?.name ?? ''} has dnsPolicy ${given}${isOnHost && given === 'ClusterFirst' ? ' on the host’s network, which counts as Default' : ''}.`,
  ];
  if (policy === 'Default') {
    notes.push(
      'So it uses its node’s resolv.conf, which is not known here: it does not ask the DNS of the cluster unless the node does.',
    );
  }
  const servers = config?.nameservers ?? [];
  if (servers.length > 0) {
    const first = isCluster ? 'after the DNS of the cluster' : 'in place of the DNS of the cluster';
    notes.push(`Its dnsConfig has name servers, which it asks ${first}: ${servers.join(', ')}.`);
  }
  if (own.length > 0) notes.push(`Its dnsConfig adds the search domains ${own.join(', ')}.`);
  if (NDOTS.test(ndotsText)) notes.push(`Its dnsConfig sets ndots to ${ndotsText}.`);
  return {
    searches: [...(isCluster ? clusterSearches(namespace, domain) : []), ...own].map(withoutDot),
    ndots: NDOTS.test(ndotsText) ? Number(ndotsText) : isCluster ? CLUSTER_NDOTS : DEFAULT_NDOTS,
    address: status?.podIP,
    notes,
  };
}

function clusterSearches(namespace: string, domain: string): string[] {
  return [`${namespace}.svc.${domain}`, `svc.${domain}`, domain];
}

function withoutDot(domain: string): string {
  return domain.replace(/(?<=.)\.$/, '');
}
