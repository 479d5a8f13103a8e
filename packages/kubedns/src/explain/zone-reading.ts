import type { ExplainedStep } from '@kube-dns/telemetry';
import { addressText, decodeName } from '@kube-dns/wire';
import { SERVICE_LABELS, type ZoneQuestion } from '../answer/zone-question.js';
import type { ZoneName } from '../zone/zone-names.js';
import { counted, listed, nameText } from './words.js';

/** Namespace and name of a service that a name is about, whether it exists or not. */
export interface ServiceKey {
  readonly namespace: string;
  readonly name: string;
}

/** The labels of a name below the zone, the one next to the zone first; safe to show. */
export function labelsOf(name: ZoneName): string[] {
  return Array.from({ length: name.count }, (_, i) => {
    const at = name.startOf(i);
    const end = at + 1 + name.bytes[at]!;
    return decodeName(Uint8Array.of(...name.bytes.subarray(at, end), 0));
  });
}

/** The service that a name of the zone is about; undefined when it is about none, or about several. */
export function serviceKeyOf({ name, kind }: ZoneQuestion): ServiceKey | undefined {
  if (kind === 'wildcard' || name.hasWildcard || name.count < SERVICE_LABELS) return undefined;
  const [top, namespace = '', service = ''] = labelsOf(name);
  return top === 'svc' ? { namespace, name: service } : undefined;
}

/** How a name of the zone is read. */
export function readingStep(question: ZoneQuestion, pods: string): ExplainedStep {
  const { kind, isFederated } = question;
  return { step: 'name', text: readingText(question, pods), kind, isFederated };
}

function readingText(question: ZoneQuestion, pods: string): string {
  const { name, kind } = question;
  switch (kind) {
    case 'apex':
      return 'It is the zone itself: it has an SOA and an NS record, and no address.';
    case 'version':
      return 'It has the version of the schema of these names, as TXT.';
    case 'name-server':
      return 'It is the name of the zone’s name server: it has the addresses of the DNS service.';
    case 'interior':
      return 'It exists because of the names below it, and has no records itself.';
    case 'pod':
      return `It is the name of a pod’s address: ${addressText(question.address)} is read from the label, and kubedns does not look whether there is such a pod (--pods=${pods}).`;
    case 'cname':
      return cnameText(question);
    case 'wildcard':
      return wildcardText(question);
    case 'unfinished':
      return 'Its label * matches too many names: nothing was found within the limit of one question.';
    case 'unavailable':
      return 'It is a federated name, and zone and region of this cluster’s nodes are not known yet.';
    case 'service':
      return serviceText(question);
    case 'absent':
      return name.hasWildcard
        ? 'Nothing matches its label *, or wildcards are off (--wildcards).'
        : 'There is no such name in the cluster.';
  }
}

function serviceText({ name, service }: ZoneQuestion): string {
  const [, namespace = '', own = '', ...rest] = labelsOf(name);
  const of = `the service ${own} in the namespace ${namespace}`;
  const [protocol = '', port = ''] = rest.map((label) => label.replace(/^_/, ''));
  switch (service.part) {
    case 'host':
      return `It is the endpoint ${rest[0] ?? ''} of ${of}.`;
    case 'protocol':
      return `It stands between ${of} and its ports: it exists without records.`;
    case 'port':
      return `It is the port ${port} over ${protocol.toUpperCase()} of ${of}.`;
    case 'host-port':
      return `It is the port ${port} over ${protocol.toUpperCase()} of the endpoint ${rest[2] ?? ''} of ${of}.`;
    default:
      return `It is ${of}.`;
  }
}

function cnameText({ name, cname, isFederated }: ZoneQuestion): string {
  const target = nameText(cname);
  if (isFederated) {
    return `It is a federated name (key federations of the ConfigMap): a CNAME of ${target}, with TTL 0.`;
  }
  const [, namespace = '', own = ''] = labelsOf(name);
  return name.hasWildcard
    ? `Its label * matches a service of type ExternalName: a CNAME of ${target}.`
    : `It is the service ${own} in the namespace ${namespace}, which is of type ExternalName: a CNAME of ${target}.`;
}

function wildcardText({ matches, areAllMatched }: ZoneQuestion): string {
  const keys = listed(matches.map(({ key }) => key).sort());
  const end = areAllMatched ? '' : ', and there may be more: a limit ended the search';
  return `Its label * matches ${counted(matches.length, 'service')}: ${keys}${end}.`;
}
