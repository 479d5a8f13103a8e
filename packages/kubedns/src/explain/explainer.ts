import { nearest } from '@kube-dns/base';
import { isDnsLabel } from '@kube-dns/daemon';
import {
  askAnswerer,
  askRecorded,
  type ExplainedQuestion,
  type ExplainedStep,
  type Explanation,
} from '@kube-dns/telemetry';
import { type Answerer, type ExchangeObservers, serverText } from '@kube-dns/transport';
import {
  addressText,
  decodeName,
  encodeKey,
  lowerCaseByte,
  ReverseAddress,
  suffixOffset,
  TYPE,
} from '@kube-dns/wire';
import { type CompositionOptions, namingOf } from '../answer/kubedns-answerer.js';
import { SERVICE_LABELS, ZoneQuestion } from '../answer/zone-question.js';
import type { KubednsFlags, PtrMode } from '../config/flags.js';
import type { ServerRule, Upstreams } from '../config/upstreams.js';
import type { ApiReader } from '../watch/api-client.js';
import type { ClusterWatch } from '../watch/cluster-watch.js';
import type { PackedAddresses } from '../watch/projections.js';
import type { ClusterZone } from '../zone/cluster-zone.js';
import type { ZoneName } from '../zone/zone-names.js';
import type { ZoneService } from '../zone/zone-service.js';
import {
  ApiObjectsReader,
  heldService,
  leftOutSteps,
  missingTargetSteps,
  partLabels,
  serviceSteps,
  type ServiceKey,
} from './service-steps.js';
import { counted, listed, nameText } from './words.js';

interface ExplainerOptions extends Pick<CompositionOptions, 'flags' | 'zone' | 'federations'> {
  readonly answerer: Answerer;
  readonly upstreams: Pick<Upstreams, 'ruleFor'>;
  readonly exchanges: ExchangeObservers;
  readonly client: ApiReader;
  readonly watch: Pick<ClusterWatch, 'isSynced' | 'pending' | 'noContactMs'>;
  readonly apiLimitMs?: number;
}

const REVERSE_APEXES = [encodeKey('in-addr.arpa'), encodeKey('ip6.arpa')];
/** CNAMEs that are followed within the zone, as for an answer. */
const MAX_LINKS = 8;
/** A shorter time without contact is no reason to distrust what is known. */
const NO_CONTACT_MS = 10_000;

/** Explains the answers of kubedns. */
export class Explainer {
  readonly #options: ExplainerOptions;
  readonly #question: ZoneQuestion;
  readonly #objects: ApiObjectsReader;

  constructor(options: ExplainerOptions) {
    this.#options = options;
    this.#question = new ZoneQuestion({ ...namingOf(options), random: Math.random });
    const { client, apiLimitMs } = options;
    this.#objects = new ApiObjectsReader({ client, ...(apiLimitMs && { limitMs: apiLimitMs }) });
  }

  /** The answer to a question, as a client gets it, and what led to it. */
  async explain(question: ExplainedQuestion): Promise<Explanation> {
    const { zone } = this.#options;
    const { key, text } = question;
    // What is known is read in the same turn of the event loop in which the question is answered.
    const isInZone = suffixOffset(key, key.length, zone.apex) >= 0;
    const { steps, verdict } = isInZone
      ? await this.#explainZone(question)
      : await this.#explainOther(question);
    return { program: 'kubedns', question: text, steps, verdict };
  }

  async #explainZone(question: ExplainedQuestion): Promise<Pick<Explanation, 'steps' | 'verdict'>> {
    const { answerer, zone, flags, exchanges, watch } = this.#options;
    const read = this.#question;
    const { key, type } = question;
    if (!watch.isSynced) {
      const verdict = await askAnswerer(answerer, question);
      return { steps: [zoneStep(question.text.name, this.#options), this.#notReady()], verdict };
    }
    read.read(key, key.length);
    const labels = labelsOf(read.name);
    const steps = [zoneStep(question.text.name, this.#options), readingStep(read, flags.pods)];
    const serviceKey = serviceKeyOf(read);
    const held = heldService(this.#entryOf(serviceKey));
    const exists = read.kind !== 'absent';
    const absence = exists ? undefined : absenceOf(read, zone, flags.pods);
    const targets = read.kind === 'cname' ? this.#targets(read, type) : undefined;
    const names = targets?.names ?? [];
    const { verdict, asked } = await askRecorded(answerer, question, { exchanges, names });
    if (serviceKey !== undefined && areLabels(serviceKey)) {
      const objects = await this.#objects.read(serviceKey.namespace, serviceKey.name);
      const seen = { key: serviceKey, held, objects, names: flags['endpoint-names'] };
      const isThere = held?.service !== undefined || typeof objects !== 'string';
      if (absence === undefined || isThere) steps.push(...serviceSteps(seen));
      const isAnswered = verdict.answers.length > 0;
      const part = { labels: partLabels(labels), type, exists, isAnswered };
      steps.push(...leftOutSteps(seen, part));
    }
    if (absence !== undefined) steps.push(...absenceSteps(absence));
    steps.push(...(targets?.steps ?? []), ...asked);
    if (targets !== undefined && verdict.rcode === 'NXDOMAIN') {
      steps.push(...missingTargetSteps(serviceKey, targets.names));
    }
    steps.push(...this.#contactSteps());
    return { steps, verdict };
  }

  async #explainOther(
    question: ExplainedQuestion,
  ): Promise<Pick<Explanation, 'steps' | 'verdict'>> {
    const { answerer, zone, flags, exchanges, upstreams, watch } = this.#options;
    const { key, text } = question;
    const isReverse = REVERSE_APEXES.some((apex) => suffixOffset(key, key.length, apex) >= 0);
    const steps: ExplainedStep[] = [];
    const rule = upstreams.ruleFor(key, key.length);
    if (isReverse && !watch.isSynced) {
      const verdict = await askAnswerer(answerer, question);
      return { steps: [this.#notReady()], verdict };
    }
    const reading = isReverse ? readReverse(key, zone) : undefined;
    if (reading !== undefined) steps.push(reverseStep(reading, flags.ptr));
    if (reading === undefined || reading.owners.length === 0) {
      const apex = nameText(zone.apex);
      const subject = isReverse ? 'So it is asked elsewhere' : `${text.name} is not in ${apex}`;
      steps.push(forwardStep(subject, rule, this.#options));
    }
    const { verdict, asked } = await askRecorded(answerer, question, { exchanges });
    steps.push(...asked);
    if (verdict.answers.length === 0) steps.push(...nearZoneSteps(key, this.#options));
    if (isReverse) steps.push(...this.#contactSteps());
    return { steps, verdict };
  }

  /** The names that a CNAME of the zone leads to, and where the last of them is asked. */
  #targets(read: ZoneQuestion, type: number): { names: Uint8Array[]; steps: ExplainedStep[] } {
    const { zone, upstreams } = this.#options;
    const names: Uint8Array[] = [];
    const texts: string[] = [];
    if (type === TYPE.CNAME || type === TYPE.ANY) return { names, steps: [] };
    while (read.kind === 'cname' && names.length < MAX_LINKS) {
      const target = read.cname.map(lowerCaseByte);
      names.push(target);
      texts.push(nameText(target));
      if (suffixOffset(target, target.length, zone.apex) < 0) {
        const rule = upstreams.ruleFor(target, target.length);
        const subject = `The target ${nameText(target)} is not in ${nameText(zone.apex)}`;
        return { names, steps: [forwardStep(subject, rule, this.#options)] };
      }
      read.read(target, target.length);
    }
    const text = `The target ${listed(texts)} is in the zone itself.`;
    return { names, steps: [{ step: 'target', text, targets: texts }] };
  }

  #entryOf(key: ServiceKey | undefined) {
    if (key === undefined) return undefined;
    return this.#options.zone.namespaces.get(key.namespace)?.services.get(key.name);
  }

  #notReady(): ExplainedStep {
    const { pending } = this.#options.watch;
    return {
      step: 'not-ready',
      text: `kubedns has no complete list of ${listed(pending)} from the API server yet. Until then it answers SERVFAIL: a client would cache a negative answer.`,
      pending,
    };
  }

  #contactSteps(): ExplainedStep[] {
    const { noContactMs } = this.#options.watch;
    if (noContactMs < NO_CONTACT_MS) return [];
    const seconds = Math.round(noContactMs / 1000);
    return [
      {
        step: 'no-contact',
        text: `kubedns has had no contact with the API server for ${seconds} s: it answers from what it knew before.`,
        seconds,
      },
    ];
  }
}

/** Only such names can be objects, and only such are put into a path. */
function areLabels({ namespace, name }: ServiceKey): boolean {
  return isDnsLabel(namespace) && isDnsLabel(name);
}

/** What is missing, and names that exist and are near. */
interface Absence {
  /** What does not exist: `namespace`, `service`, … */
  readonly missing: string;
  readonly text: string;
  readonly near: readonly string[];
  /** Of a service: the namespace that lacks it, and how many labels stand before it. */
  readonly place?: { readonly namespace: string; readonly labelsBelow: number };
}

/** A mistyped word is looked for among this many. */
const MAX_CANDIDATES = 5_000;
const MAX_NEAR = 5;
const TOP_LABELS = ['svc', 'pod', 'dns', 'dns-version'];

/** The steps of an absence. */
function absenceSteps({ missing, text, near, place }: Absence): ExplainedStep[] {
  const steps: ExplainedStep[] = [{ step: 'absent', text, missing, ...place }];
  if (near.length > 0) {
    const names = near.slice(0, MAX_NEAR);
    steps.push({ step: 'near', text: `Did you mean ${listed(names, 'or')}?`, names });
  }
  return steps;
}

/** Why a name of the zone does not exist; undefined when that is a matter of one service that exists. */
function absenceOf({ name }: ZoneQuestion, zone: ClusterZone, pods: string): Absence | undefined {
  const labels = labelsOf(name);
  const apex = nameText(zone.apex);
  const [top = ''] = labels;
  if (name.hasWildcard) return undefined;
  if (top === 'svc') return belowServices(labels, zone, apex);
  if (top === 'pod') return belowPods(labels, zone, apex, pods);
  const [, second = ''] = labels;
  const isService = zone.namespaces.get(top)?.services.get(second)?.service !== undefined;
  const near = isService ? [`${second}.${top}.svc.${apex}.`] : [];
  const external = labels.length > 1 && !isService ? lookedUp(labels, apex) : '';
  return {
    missing: 'subtree',
    text: `Directly below ${apex} there are only ${listed(TOP_LABELS)}, not ${top}.${external}`,
    near,
  };
}

function belowServices(labels: readonly string[], zone: ClusterZone, apex: string) {
  const [, namespace = '', service = ''] = labels;
  const rest = labels.slice(SERVICE_LABELS).reverse().join('.');
  const prefix = rest === '' ? '' : `${rest}.`;
  const nameOf = (own: string, where: string) => `${prefix}${own}.${where}.svc.${apex}.`;
  if (!existsNamespace(zone, namespace)) {
    const near = nearest(namespace, namespaces(zone));
    const isSwapped = zone.namespaces.get(service)?.services.get(namespace)?.service !== undefined;
    const others = isSwapped ? [nameOf(namespace, service)] : [];
    const isFar = labels.length < SERVICE_LABELS || near === undefined;
    return {
      missing: 'namespace',
      text: `There is no namespace ${namespace}.${isSwapped ? ' The service comes first in a name, then its namespace.' : ''}`,
      near: isFar ? others : [...others, nameOf(service, near)],
    };
  }
  const entry = zone.namespaces.get(namespace)?.services.get(service);
  if (entry?.service !== undefined) return undefined;
  const own = first(zone.namespaces.get(namespace)?.services.keys() ?? []);
  const near = nearest(service, own);
  const elsewhere = zone
    .servicesNamed(service)
    .filter((each) => each.service !== undefined)
    .map(({ namespaceName }) => namespaceName)
    .sort();
  const where =
    elsewhere.length === 0
      ? ''
      : ` There is one of this name in ${elsewhere.length === 1 ? 'the namespace' : 'the namespaces'} ${listed(elsewhere)}.`;
  return {
    missing: 'service',
    place: { namespace, labelsBelow: labels.length - SERVICE_LABELS },
    text: `There is no service ${service} in the namespace ${namespace}.${where}${prefix === '' ? '' : lookedUp(labels.slice(2), `${namespace}.svc.${apex}`)}`,
    near: [
      ...(near === undefined ? [] : [nameOf(near, namespace)]),
      ...elsewhere.map((each) => nameOf(service, each)),
    ],
  };
}

function belowPods(labels: readonly string[], zone: ClusterZone, apex: string, pods: string) {
  const [, namespace = '', label = ''] = labels;
  if (pods === 'disabled') {
    return { missing: 'pod', text: 'Names of pods are off (--pods=disabled).', near: [] };
  }
  if (zone.hasAllNamespaces && !existsNamespace(zone, namespace)) {
    const near = nearest(namespace, namespaces(zone));
    return {
      missing: 'namespace',
      text: `There is no namespace ${namespace}.`,
      near: near === undefined ? [] : [`${label}.${near}.pod.${apex}.`],
    };
  }
  return {
    missing: 'pod',
    text: `${label} is no address: the name of a pod has its address with dashes, as 10-244-1-5.${namespace}.pod.${apex}. The name of a pod itself leads to it only below a headless service.`,
    near: [],
  };
}

/** A name with several labels before a search domain most likely comes from a search path. */
function lookedUp(labels: readonly string[], domain: string): string {
  const name = [...labels].reverse().join('.');
  if (labels.some((label) => label.startsWith('_'))) return '';
  return ` It looks like ${name} with the search domain ${domain} appended.`;
}

function existsNamespace(zone: ClusterZone, label: string): boolean {
  const found = zone.namespaces.get(label);
  return isDnsLabel(label) && found !== undefined && zone.hasNamespace(found.name, 0);
}

function namespaces(zone: ClusterZone): string[] {
  return first(zone.namespaces.keys()).filter((name) => existsNamespace(zone, name));
}

function first(names: Iterable<string>): string[] {
  const found: string[] = [];
  for (const name of names) if (found.push(name) >= MAX_CANDIDATES) break;
  return found;
}

/** What may follow `svc` in the domain of another cluster, or where a name was cut. */
const CLUSTER_DOMAINS: ReadonlySet<string> = new Set(['', 'cluster', 'cluster.local', 'local']);

/**
 * The name of the zone that a name outside of it was most likely meant to be: that of a service without its end, or with
 * the domain of another cluster. Undefined when there is none.
 */
function nearZone(name: string, zone: ClusterZone): string | undefined {
  const apex = nameText(zone.apex);
  const labels = name.split('.');
  const [service = '', namespace = ''] = labels;
  if (labels.length === 2) {
    const found = zone.namespaces.get(namespace)?.services.get(service)?.service;
    return found === undefined ? undefined : `${name}.svc.${apex}.`;
  }
  const at = labels.lastIndexOf('svc');
  if (at < 2 || !CLUSTER_DOMAINS.has(labels.slice(at + 1).join('.'))) return undefined;
  return `${labels.slice(0, at + 1).join('.')}.${apex}.`;
}

/** What is known of the address of a reverse name. */
interface ReverseReading {
  /** Undefined for a name that is not the whole one of an address. */
  readonly address: string | undefined;
  /** The services whose names the address has. */
  readonly owners: readonly ZoneService[];
  /** Services with a cluster address whose endpoint it is. */
  readonly behind: readonly ZoneService[];
}

const MAX_OWNERS = 16;

/** Reads a lower-cased reverse name. */
function readReverse(key: Uint8Array, zone: ClusterZone): ReverseReading {
  const { isCanonical, bytes, size } = new ReverseAddress().read(key, key.length);
  if (!isCanonical) return { address: undefined, owners: [], behind: [] };
  const address = Buffer.from(bytes.subarray(0, size));
  const text = address.toString('latin1');
  const owners: ZoneService[] = [];
  let place = zone.addresses.first(zone.addresses.hashBytes(bytes, size));
  for (; place >= 0 && owners.length < MAX_OWNERS; place = zone.addresses.next(place)) {
    const owner = zone.index.serviceAt(zone.addresses.serviceOf(place));
    if (hasAddress(owner, text)) owners.push(owner);
  }
  const behind = owners.length > 0 ? [] : behindAddress(zone, text);
  return { address: addressText(address), owners, behind };
}

/** How a reverse name is read, and why it has a name or none. */
function reverseStep({ address, owners, behind }: ReverseReading, ptr: PtrMode): ExplainedStep {
  if (address === undefined) {
    const text = 'It is a reverse name, but not the whole one of an address.';
    return { step: 'name', text, kind: 'reverse' };
  }
  const keys = owners.map(({ key }) => key).sort();
  const facts = { kind: 'reverse', address, services: keys };
  if (keys.length > 0) {
    const first =
      owners.length > 1 && ptr === 'first'
        ? ' With --ptr=first only one of its names is told.'
        : '';
    const what = owners.every(({ isHeadless }) => isHeadless)
      ? 'an endpoint of the headless service'
      : 'an address of the service';
    const text = `It is the reverse name of ${address}, ${what} ${listed(keys)}.${first}`;
    return { step: 'name', text, ...facts };
  }
  const other = behind.map(({ key }) => key).sort();
  const because =
    other.length === 0
      ? ''
      : ` It is an endpoint of ${listed(other)}, but only the endpoints of headless services have names.`;
  const text = `It is the reverse name of ${address}, which is no address of a service and of no endpoint of a headless service.${because}`;
  return { step: 'absent', text, ...facts, missing: 'address', behind: other };
}

function hasAddress(owner: ZoneService, address: string): boolean {
  const { service } = owner;
  if (service === undefined) return false;
  if (service.kind === 'headless') return isEndpoint(owner, address);
  return holds(service.ipv4, address) || holds(service.ipv6, address);
}

/** Walks all services: for an explanation alone. */
function behindAddress(zone: ClusterZone, address: string): ZoneService[] {
  const found: ZoneService[] = [];
  for (const service of zone.allServices) {
    if (service.service?.kind !== 'cluster-ip' || !isEndpoint(service, address)) continue;
    if (found.push(service) >= MAX_OWNERS) break;
  }
  return found;
}

function isEndpoint({ slices }: ZoneService, address: string): boolean {
  return slices.some(({ groups }) => groups.some((group) => holds(group, address)));
}

/** Whether packed addresses have one, at the begin of an address. */
function holds({ size, bytes }: PackedAddresses, address: string): boolean {
  if (address.length !== size) return false;
  let at = bytes.indexOf(address);
  while (at >= 0 && at % size !== 0) at = bytes.indexOf(address, at + 1);
  return at >= 0;
}

/** What decides the route of a name, for its sentence. */
interface RouteFacts {
  readonly flags: Pick<
    KubednsFlags,
    'domain' | 'config-dir' | 'config-map' | 'config-map-namespace'
  >;
  readonly zone: ClusterZone;
}

/** The name is in the zone. */
function zoneStep(name: string, { zone }: RouteFacts): ExplainedStep {
  const apex = nameText(zone.apex);
  return {
    step: 'route',
    text: `${name} is in the zone of the cluster, ${apex} (--domain): kubedns answers it from the objects of the Kubernetes API.`,
    route: 'zone',
    zone: `${apex}.`,
    rule: '--domain',
  };
}

/** The name is forwarded. `subject` begins the sentence. */
function forwardStep(subject: string, rule: ServerRule, facts: RouteFacts): ExplainedStep {
  const servers = rule.used.map(serverText);
  const isStub = rule.domain !== '.';
  const which = isStub
    ? `the stub domain ${rule.domain} (${sourceOf('stubDomains', facts)}) matches`
    : 'no stub domain matches';
  const from = isStub ? 'its servers' : `the servers of ${originOf(rule.key, facts)}`;
  const to = servers.length === 0 ? noServers(rule) : `: it goes to ${from}, ${listed(servers)}`;
  return {
    step: 'route',
    text: `${subject}, and ${which}${to}.`,
    route: isStub ? 'stub-domain' : 'upstream',
    domain: rule.domain,
    rule: rule.key,
    servers,
  };
}

/** A name outside of the zone that looks as if it were meant to be in it. */
function nearZoneSteps(key: Uint8Array, { zone }: RouteFacts): ExplainedStep[] {
  const near = nearZone(nameText(key), zone);
  if (near === undefined) return [];
  return [{ step: 'near', text: `Did you mean ${near}?`, names: [near] }];
}

function noServers({ configured }: ServerRule): string {
  return configured.length === 0
    ? ', but there are no name servers: SERVFAIL'
    : `, but no address of its servers is known (${listed(configured)}): SERVFAIL`;
}

/** Where the default servers come from. */
function originOf(key: string, facts: RouteFacts): string {
  return key === 'upstreamNameservers' ? sourceOf(key, facts) : key;
}

function sourceOf(key: string, { flags }: RouteFacts): string {
  if (flags['config-map'] !== '') {
    return `key ${key} of the ConfigMap ${flags['config-map-namespace']}/${flags['config-map']}`;
  }
  return flags['config-dir'] === '' ? '--nameservers' : `${key} in ${flags['config-dir']}`;
}

/** The labels of a name below the zone, the one next to the zone first; safe to show. */
function labelsOf(name: ZoneName): string[] {
  return Array.from({ length: name.count }, (_, i) => {
    const at = name.startOf(i);
    const end = at + 1 + name.bytes[at]!;
    return decodeName(Uint8Array.of(...name.bytes.subarray(at, end), 0));
  });
}

/** The service that a name of the zone is about; undefined when it is about none, or about several. */
function serviceKeyOf({ name, kind }: ZoneQuestion): ServiceKey | undefined {
  if (kind === 'wildcard' || name.hasWildcard || name.count < SERVICE_LABELS) return undefined;
  const [top, namespace = '', service = ''] = labelsOf(name);
  return top === 'svc' ? { namespace, name: service } : undefined;
}

/** How a name of the zone is read. */
function readingStep(question: ZoneQuestion, pods: string): ExplainedStep {
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
