import { BlockList, isIP } from 'node:net';
import {
  asMapping,
  mappingsOf,
  textOf,
  textsOf,
  valueAt,
  type Mapping,
} from '../manifests/objects.js';
import { selects } from './cluster-objects.js';
import type { PolicyFact } from './facts.js';

/** The DNS pods, as policies select them. */
export interface PolicyTarget {
  readonly namespace: string;
  readonly podLabels: Mapping;
  /** Of the Service. */
  readonly serviceAddresses: readonly string[];
  /** Where questions arrive: of its endpoints, and of node caches. */
  readonly addresses: readonly string[];
  /** Whether a selector selects a pod of a namespace; undefined where that is not known. */
  readonly hasPods: (namespace: string, selector: unknown) => boolean | undefined;
  /** Labels of a namespace. */
  readonly labelsOf: (namespace: string) => Mapping;
}

const PROTOCOLS = ['UDP', 'TCP'] as const;

/**
 * Policies that leave pods without DNS. Policies add up: one that forbids is no fault where another one of the same
 * namespace allows the same pods what it forbids.
 */
export function policyFacts(policies: readonly Mapping[], target: PolicyTarget): PolicyFact[] {
  const all = policies.map((each) => policyOf(each, target.namespace));
  return all.flatMap((policy) => [
    ...ofTheDnsPods(policy, all, target),
    ...ofOtherPods(policy, all, target),
  ]);
}

interface Policy {
  readonly namespace: string;
  readonly name: string;
  readonly selector: unknown;
  readonly types: readonly string[];
  readonly ingress: readonly Mapping[];
  readonly egress: readonly Mapping[];
}

function policyOf(value: Mapping, defaultNamespace: string): Policy {
  const spec = asMapping(value.spec) ?? {};
  const types = textsOf(spec.policyTypes);
  const egress = mappingsOf(spec.egress);
  return {
    namespace: textOf(valueAt(value, 'metadata', 'namespace')) || defaultNamespace,
    name: textOf(valueAt(value, 'metadata', 'name')),
    selector: spec.podSelector,
    types: types.length > 0 ? types : ['Ingress', ...(egress.length > 0 ? ['Egress'] : [])],
    ingress: mappingsOf(spec.ingress),
    egress,
  };
}

function ofTheDnsPods(policy: Policy, all: readonly Policy[], target: PolicyTarget): PolicyFact[] {
  const isAbout = ({ namespace, selector, types }: Policy) =>
    namespace === target.namespace && types.includes('Ingress') && selects(selector, target.podLabels); // prettier-ignore
  // Said once, of the first of them.
  const about = all.filter(isAbout);
  if (about[0] !== policy) return [];
  const rules = about.flatMap(({ ingress }) => ingress);
  const protocols = PROTOCOLS.filter((each) => !rules.some((rule) => hasPort(rule, each)));
  return factOf(policy, 'questions to the DNS pods', protocols);
}

function ofOtherPods(policy: Policy, all: readonly Policy[], target: PolicyTarget): PolicyFact[] {
  if (!policy.types.includes('Egress')) return [];
  if (target.hasPods(policy.namespace, policy.selector) === false) return [];
  const own = JSON.stringify(policy.selector ?? {});
  const others = all.filter(
    ({ namespace, types, selector }) =>
      namespace === policy.namespace &&
      types.includes('Egress') &&
      (isEmpty(selector) || JSON.stringify(selector ?? {}) === own),
  );
  const rules = others.flatMap(({ egress }) => egress);
  const forbidden = (addresses: readonly string[]) => {
    const leading = rules.filter((rule) => leadsTo(rule, policy.namespace, target, addresses));
    return PROTOCOLS.filter((each) => !leading.some((rule) => hasPort(rule, each)));
  };
  // Without an endpoint there is only the Service to judge by.
  const { addresses, serviceAddresses } = target;
  const protocols = forbidden(addresses.length > 0 ? addresses : serviceAddresses);
  const allowsService = forbidden(serviceAddresses).length === 0;
  return factOf(policy, 'questions of its pods', protocols, allowsService);
}

function factOf(
  { namespace, name }: Policy,
  forbids: PolicyFact['forbids'],
  protocols: readonly string[],
  allowsService = false,
): PolicyFact[] {
  if (protocols.length === 0) return [];
  return [{ name: `${namespace}/${name}`, forbids, protocols, allowsService }];
}

function isEmpty(selector: unknown): boolean {
  return Object.keys(asMapping(selector) ?? {}).length === 0;
}

/** The names that the manifests of kube-dns and CoreDNS give the ports. */
const PORT_NAMES = { UDP: ['dns', 'dns-udp'], TCP: ['dns-tcp'] } as const;
const DNS_PORT = 53;

/** A rule without ports has all of them. */
function hasPort({ ports }: Mapping, protocol: 'UDP' | 'TCP'): boolean {
  if (!Array.isArray(ports) || ports.length === 0) return true;
  return mappingsOf(ports).some((each) => {
    if ((textOf(each.protocol) || 'TCP') !== protocol) return false;
    const { port, endPort } = each;
    if (port === undefined) return true;
    if (typeof port === 'string') return PORT_NAMES[protocol].some((name) => name === port);
    return Number(port) <= DNS_PORT && DNS_PORT <= Number(endPort ?? port);
  });
}

/** A rule without peers leads everywhere. */
function leadsTo(
  { to }: Mapping,
  from: string,
  target: PolicyTarget,
  addresses: readonly string[],
): boolean {
  const peers = mappingsOf(to);
  if (peers.length === 0) return true;
  return peers.some(({ ipBlock, namespaceSelector, podSelector }) => {
    if (ipBlock !== undefined) return addresses.some((each) => isInBlock(each, ipBlock));
    const isNamespace =
      namespaceSelector === undefined
        ? from === target.namespace
        : selects(namespaceSelector, target.labelsOf(target.namespace));
    return isNamespace && (podSelector === undefined || selects(podSelector, target.podLabels));
  });
}

function isInBlock(address: string, block: unknown): boolean {
  const excluded = textsOf(valueAt(block, 'except'));
  const cidr = textOf(valueAt(block, 'cidr'));
  return isInNetwork(address, cidr) && !excluded.some((each) => isInNetwork(address, each));
}

function isInNetwork(address: string, cidr: string): boolean {
  const [network = '', length] = cidr.split('/');
  const family = isIP(network);
  if (family === 0 || family !== isIP(address)) return false;
  const type = family === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  try {
    list.addSubnet(network, Number(length), type);
  } catch {
    return false; // a length that no network has
  }
  return list.check(address, type);
}
