import type { Explanation } from '@kube-dns/telemetry';
import { typeOf, type Lookup } from './lookup.js';

/** What a rule looks at: the name that decides, and what kubedns says about it. */
interface Explained {
  readonly explanation: Explanation;
  readonly labels: readonly string[];
  readonly type: string;
  /** Those of the cluster: what is asked elsewhere is the same with CoreDNS. */
  readonly isInCluster: boolean;
}

/** One known difference; `when` says whether it concerns an answer. */
interface Rule {
  readonly when: (explained: Explained) => boolean;
  readonly text: string;
}

/** A hex text that is hex-encoded again, as kubedns names an endpoint without a hostname. */
const HASH_LABEL = /(?:^|[ .])(?:3[0-9]|6[1-6]){1,8}\.[^. ]+\.[^. ]+\.svc\./;
const DEFAULT_TTL = '30';

/** Each was seen at CoreDNS 1.14.7 with the defaults of its plugin `kubernetes`. */
const RULES: readonly Rule[] = [
  {
    when: ({ labels }) => labels.includes('*'),
    text: 'NXDOMAIN: it has no wildcards since 1.9.0',
  },
  {
    when: ({ explanation }) => hasFact(explanation, 'name', 'kind', 'pod'),
    text: 'NXDOMAIN, unless its Corefile has "pods insecure" (as that of kubeadm), or "pods verified" and there is such a pod',
  },
  {
    when: ({ explanation }) => hasFact(explanation, 'name', 'isFederated', true),
    text: 'NXDOMAIN: it has no federations since 1.7.0',
  },
  {
    when: ({ explanation }) => hasFact(explanation, 'left-out', 'reason', 'not-headless'),
    text: 'the address of the endpoint, if one has this hostname (or, without one, this address with dashes): it names the endpoints of services with a cluster address, too',
  },
  {
    when: ({ explanation }) =>
      explanation.steps.some(({ behind }) => Array.isArray(behind) && behind.length > 0),
    text: 'the name of that endpoint: it names the endpoints of services with a cluster address, too',
  },
  {
    when: ({ explanation, type, isInCluster }) =>
      isInCluster && type === 'ANY' && explanation.verdict.answers.length > 0,
    text: 'an empty answer: it does not answer ANY',
  },
  {
    when: ({ explanation, labels, type }) =>
      (type === 'A' || type === 'AAAA') && isPort(labels) && hasName(explanation),
    text: 'the address of the service: it has the name of a port for addresses, too',
  },
  {
    when: ({ explanation, labels }) => isProtocol(labels) && hasName(explanation),
    text: 'NXDOMAIN: it does not know the names between a service and its ports',
  },
  {
    when: ({ labels }) => labels[0] === 'ns' && labels[1] === 'dns',
    text: 'the address of its own machine or of its service',
  },
  {
    when: ({ explanation }) => explanation.verdict.answers.some((one) => HASH_LABEL.test(one)),
    text: 'another name for an endpoint without a hostname: its address with dashes, as 10-1-0-3, not a hash',
  },
  {
    when: ({ explanation, isInCluster }) =>
      isInCluster && explanation.verdict.answers.some((one) => typeOf(one) === 'SRV'),
    text: 'the same SRV targets and ports with other priorities and weights',
  },
  {
    when: ({ explanation, isInCluster }) =>
      isInCluster && explanation.verdict.answers.some((one) => typeOf(one) === 'SOA'),
    text: 'an SOA with other timers: 7200 1800 86400 in place of 28800 7200 604800',
  },
  {
    when: ({ isInCluster, explanation }) =>
      isInCluster && explanation.verdict.answers.some((one) => one.split(' ')[1] === DEFAULT_TTL),
    text: 'TTL 5 in place of 30, unless its Corefile has "ttl 30"',
  },
];

/** Where CoreDNS is known to answer otherwise, in the words that follow "CoreDNS would say". */
export function corednsNotes({ explained: { name, explanations } }: Lookup): string[] {
  const explanation = explanations.find(({ program }) => program === 'kubedns');
  if (explanation === undefined) return [];
  const explained: Explained = {
    explanation,
    labels: name.split('.'),
    type: explanation.question.type,
    isInCluster:
      hasFact(explanation, 'route', 'route', 'zone') || explanation.verdict.answers.some(isPtr),
  };
  return RULES.filter(({ when }) => when(explained)).map(({ text }) => text);
}

function isPtr(record: string): boolean {
  return typeOf(record) === 'PTR';
}

function isPort([first = '', second = '']: readonly string[]): boolean {
  return first.startsWith('_') && second.startsWith('_');
}

function isProtocol([first = '', second = '']: readonly string[]): boolean {
  return /^_(?:tcp|udp|sctp)$/i.test(first) && !second.startsWith('_');
}

function hasName({ verdict }: Explanation): boolean {
  return verdict.rcode === 'NOERROR' && verdict.answers.length === 0;
}

function hasFact({ steps }: Explanation, step: string, fact: string, value: unknown): boolean {
  return steps.some((one) => one.step === step && one[fact] === value);
}
