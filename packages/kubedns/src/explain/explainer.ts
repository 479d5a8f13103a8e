import { nearest } from '@kube-dns/base';
import { isDnsLabel } from '@kube-dns/daemon';
import {
  askTraced,
  exchangeSteps,
  type ExplainedQuestion,
  type ExplainedStep,
  type Explanation,
} from '@kube-dns/telemetry';
import { type Answerer, serverText } from '@kube-dns/transport';
import { addressText } from '@kube-dns/wire';
import { ABOVE_LOCAL, FOLLOWED } from '../answer/forwarding.js';
import { SYSTEM, UNSYNCED } from '../answer/kubedns-answerer.js';
import { REVERSE_FOUND, type ReverseFinding } from '../answer/reverse-answerer.js';
import { SERVICE_LABELS } from '../answer/service-answerer.js';
import { ZONE_READ, type ZoneReading } from '../answer/zone-answerer.js';
import type { KubednsFlags, PtrMode } from '../config/flags.js';
import { ROUTED, type ServerRule } from '../config/upstreams.js';
import type { NamesBeside } from '../names-beside.js';
import type { ApiReader } from '../watch/api-client.js';
import { type ClusterWatch, snapshotSeconds } from '../watch/cluster-watch.js';
import type { PackedAddresses } from '../watch/projections.js';
import type { ClusterZone } from '../zone/cluster-zone.js';
import type { ZoneService } from '../zone/zone-service.js';
import { ABOVE, outsideSteps } from './beside-steps.js';
import { SEARCH_FOUND } from '../search/search-names.js';
import { searchSteps } from './search-steps.js';
import {
  ApiObjectsReader,
  heldService,
  leftOutSteps,
  missingTargetSteps,
  serviceSteps,
  type ServiceKey,
} from './service-steps.js';
import { counted, listed, nameText } from './words.js';
import { zonalSteps, zoneNamed } from './zonal-steps.js';

interface ExplainerOptions {
  readonly flags: KubednsFlags;
  readonly zone: ClusterZone;
  /** None unless given. */
  readonly beside?: readonly Pick<NamesBeside, 'explain'>[];
  readonly answerer: Answerer;
  readonly client: ApiReader;
  readonly watch: Pick<ClusterWatch, 'isSynced' | 'pending' | 'noContactMs' | 'snapshot'>;
  readonly apiLimitMs?: number;
}

/** What was decided, and the answer. */
type Traced = ReturnType<typeof askTraced>;

/** A shorter time without contact is no reason to distrust what is known. */
const NO_CONTACT_MS = 10_000;

/**
 * Explains the answers of kubedns: the question is asked once as a client asks, and what the answerer noted in its trace
 * is told in sentences. Added to this are the objects that the API server has now, and hints to names that are near.
 */
export class Explainer {
  readonly #options: ExplainerOptions;
  readonly #objects: ApiObjectsReader;

  constructor(options: ExplainerOptions) {
    this.#options = options;
    const { client, apiLimitMs } = options;
    this.#objects = new ApiObjectsReader({ client, ...(apiLimitMs && { limitMs: apiLimitMs }) });
  }

  /** The answer to a question, as a client gets it, and what led to it. */
  async explain(question: ExplainedQuestion): Promise<Explanation> {
    const traced = askTraced(this.#options.answerer, question);
    if (traced.trace.first(SEARCH_FOUND) !== undefined)
      return this.#explainSearch(question, traced);
    const outside = outsideSteps(traced.trace);
    if (outside.length > 0 && traced.trace.first(ZONE_READ) === undefined) {
      return this.#explainOutside(question, traced, outside);
    }
    const isInZone = traced.trace.first(SYSTEM) === 'auth';
    // Hints are made in the same turn of the event loop in which the question is answered.
    const steps =
      this.#besideSteps(question, traced) ??
      (await (isInZone ? this.#zoneSteps(question, traced) : this.#otherSteps(question, traced)));
    const verdict = await traced.answered;
    return { program: 'kubedns', question: question.text, steps, verdict };
  }

  async #explainOutside(
    question: ExplainedQuestion,
    { trace, answered }: Traced,
    outside: readonly ExplainedStep[],
  ): Promise<Explanation> {
    const notReady = trace.first(UNSYNCED) === true ? [this.#notReady()] : [];
    const verdict = await answered;
    const steps = [...outside, ...notReady, ...exchangeSteps(trace), ...this.#contactSteps()];
    return { program: 'kubedns', question: question.text, steps, verdict };
  }

  /** Which of its names exists is known once the other servers have answered. */
  async #explainSearch(
    question: ExplainedQuestion,
    { trace, answered }: Traced,
  ): Promise<Explanation> {
    const notReady = trace.first(UNSYNCED) === true ? [this.#notReady()] : [];
    const verdict = await answered;
    const steps = [
      ...this.#snapshotSteps(),
      ...notReady,
      ...searchSteps(trace, this.#options.flags['search-zone']),
      ...outsideSteps(trace),
      ...exchangeSteps(trace),
      ...this.#contactSteps(),
    ];
    return { program: 'kubedns', question: question.text, steps, verdict };
  }

  /** Of a name beside the zone, which no CNAME of the zone led to; undefined for any other one. */
  #besideSteps({ text }: ExplainedQuestion, { trace }: Traced): ExplainedStep[] | undefined {
    if (trace.first(ZONE_READ) !== undefined) return undefined;
    for (const { explain } of this.#options.beside ?? []) {
      const steps = explain?.(text.name, trace);
      if (steps !== undefined) return [...this.#snapshotSteps(), ...steps, ...this.#contactSteps()];
    }
    return undefined;
  }

  async #zoneSteps({ text, type }: ExplainedQuestion, traced: Traced): Promise<ExplainedStep[]> {
    const { zone, flags } = this.#options;
    const { trace, answered } = traced;
    const steps = [...this.#snapshotSteps(), zoneStep(text.name, this.#options)];
    const reading = trace.first(ZONE_READ);
    if (reading === undefined) return [...steps, this.#notReady()];
    steps.push(readingStep(reading, flags.pods));
    const key = serviceKeyOf(reading);
    const held = key && heldService(zone.namespaces.get(key.namespace)?.services.get(key.name));
    const absence = absenceOf(reading, zone);
    const targets = trace.all(FOLLOWED);
    const following = this.#targetSteps(targets, trace.first(ROUTED));
    const verdict = await answered;
    if (key !== undefined && areLabels(key)) {
      const objects = await this.#objects.read(key.namespace, key.name);
      const readsZones = flags.zonal;
      const seen = { key, held, objects, names: flags['endpoint-names'], readsZones };
      const isThere = held?.service !== undefined || typeof objects !== 'string';
      if (absence === undefined || isThere) steps.push(...serviceSteps(seen));
      const isAnswered = verdict.answers.length > 0;
      const labels = reading.labels.slice(SERVICE_LABELS);
      const zonal = held && zonalSteps({ labels, type, isOn: flags.zonal, held });
      steps.push(
        // Of a zonal name: what is left out of the service itself.
        ...leftOutSteps(
          seen,
          zonal === undefined
            ? { labels, type, missing: reading.missing, isAnswered }
            : { labels: [], type, missing: undefined, isAnswered: true },
        ),
        ...(zonal ?? []),
      );
    }
    if (absence !== undefined) steps.push(...absenceSteps(absence));
    steps.push(...following, ...exchangeSteps(trace));
    if (targets.length > 0 && verdict.rcode === 'NXDOMAIN') {
      steps.push(...missingTargetSteps(key, targets));
    }
    return [...steps, ...this.#contactSteps()];
  }

  async #otherSteps({ key, text }: ExplainedQuestion, traced: Traced): Promise<ExplainedStep[]> {
    const { zone, flags } = this.#options;
    const { trace, answered } = traced;
    if (trace.first(UNSYNCED) === true) return [this.#notReady()];
    const steps: ExplainedStep[] = [];
    const found = trace.first(REVERSE_FOUND);
    if (found !== undefined)
      steps.push(...this.#snapshotSteps(), reverseStep(found, zone, flags.ptr));
    const rule = trace.first(ROUTED);
    if (rule !== undefined) {
      const isOther = `${text.name} is not in ${nameText(zone.apex)}`;
      const subject = found === undefined ? isOther : 'So it is asked elsewhere';
      steps.push(forwardStep(subject, rule, this.#options));
    }
    const near = nearZoneSteps(key, this.#options);
    const verdict = await answered;
    steps.push(...exchangeSteps(trace));
    if (trace.first(ABOVE_LOCAL) === true) steps.push(ABOVE);
    if (verdict.answers.length === 0) steps.push(...near);
    return found === undefined ? steps : [...steps, ...this.#contactSteps()];
  }

  /** Where CNAMEs of the zone led to, and which servers were to be asked for the last name. */
  #targetSteps(targets: readonly Uint8Array[], rule: ServerRule | undefined): ExplainedStep[] {
    const { zone } = this.#options;
    const last = targets.at(-1);
    if (last === undefined) return [];
    if (rule !== undefined) {
      const subject = `The target ${nameText(last)} is not in ${nameText(zone.apex)}`;
      return [forwardStep(subject, rule, this.#options)];
    }
    const texts = targets.map((target) => nameText(target));
    const text = `The target ${listed(texts)} is in the zone itself.`;
    return [{ step: 'target', text, targets: texts }];
  }

  #notReady(): ExplainedStep {
    const { pending } = this.#options.watch;
    return {
      step: 'not-ready',
      text: `kubedns has no complete list of ${listed(pending)} from the API server yet. Until then it answers SERVFAIL: a client would cache a negative answer.`,
      pending,
    };
  }

  #snapshotSteps(): ExplainedStep[] {
    const { snapshot } = this.#options.watch;
    if (snapshot === undefined) return [];
    const seconds = snapshotSeconds(snapshot);
    const { from } = snapshot;
    return [
      {
        step: 'snapshot',
        text: `kubedns has not reached the API server since its start: the records are from a snapshot of ${seconds} s ago (${from}). A name that may exist by now and is not in it gets SERVFAIL.`,
        seconds,
        from,
      },
    ];
  }

  #contactSteps(): ExplainedStep[] {
    const { noContactMs, snapshot } = this.#options.watch;
    if (noContactMs < NO_CONTACT_MS || snapshot !== undefined) return [];
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

/** Why a name of the zone does not exist; undefined when it does, or when that is a matter of one service that exists. */
function absenceOf({ missing, labels }: ZoneReading, zone: ClusterZone): Absence | undefined {
  const apex = nameText(zone.apex);
  const [top, namespace = '', label = ''] = labels;
  switch (missing) {
    case 'subtree':
      return belowApex(labels, zone, apex);
    case 'service':
      return existsNamespace(zone, namespace)
        ? noService(labels, zone, apex)
        : noNamespace(labels, zone, apex);
    case 'namespace':
      return top === 'svc'
        ? noNamespace(labels, zone, apex)
        : noNamespaceOfPods(namespace, label, zone, apex);
    case 'pod-names':
      return { missing: 'pod', text: 'Names of pods are off (--pods=disabled).', near: [] };
    case 'pod-address':
      return {
        missing: 'pod',
        text: `${label} is no address: the name of a pod has its address with dashes, as 10-244-1-5.${namespace}.pod.${apex}. The name of a pod itself leads to it only below a headless service.`,
        near: [],
      };
    case 'below-pod':
      return { missing: 'pod', text: 'The name of a pod has no names below it.', near: [] };
    default:
      return undefined;
  }
}

function belowApex(labels: readonly string[], zone: ClusterZone, apex: string): Absence {
  const [top = '', second = ''] = labels;
  const missing = 'subtree';
  if (top === 'dns') return { missing, text: `Below dns.${apex} there is only ns.`, near: [] };
  if (top === 'dns-version') {
    return { missing, text: `dns-version.${apex} has no names below it.`, near: [] };
  }
  const isService = zone.namespaces.get(top)?.services.get(second)?.service !== undefined;
  const near = isService ? [`${second}.${top}.svc.${apex}.`] : [];
  const external = labels.length > 1 && !isService ? lookedUp(labels, apex) : '';
  const text = `Directly below ${apex} there are only ${listed(TOP_LABELS)}, not ${top}.${external}`;
  return { missing, text, near };
}

/** The name with another service, or in another namespace. */
function renamed(labels: readonly string[], service: string, namespace: string, apex: string) {
  const rest = labels.slice(SERVICE_LABELS).reverse().join('.');
  return `${rest === '' ? '' : `${rest}.`}${service}.${namespace}.svc.${apex}.`;
}

function noNamespace(labels: readonly string[], zone: ClusterZone, apex: string): Absence {
  const [, namespace = '', service = ''] = labels;
  const near = nearest(namespace, namespaces(zone));
  const isSwapped = zone.namespaces.get(service)?.services.get(namespace)?.service !== undefined;
  const others = isSwapped ? [renamed(labels, namespace, service, apex)] : [];
  const isFar = labels.length < SERVICE_LABELS || near === undefined;
  return {
    missing: 'namespace',
    text: `There is no namespace ${namespace}.${isSwapped ? ' The service comes first in a name, then its namespace.' : ''}`,
    near: isFar ? others : [...others, renamed(labels, service, near, apex)],
  };
}

function noService(labels: readonly string[], zone: ClusterZone, apex: string): Absence {
  const [, namespace = '', service = ''] = labels;
  const near = nearest(service, first(zone.namespaces.get(namespace)?.services.keys() ?? []));
  const elsewhere = zone
    .servicesNamed(service)
    .filter((each) => each.service !== undefined)
    .map(({ namespaceName }) => namespaceName)
    .sort();
  const where =
    elsewhere.length === 0
      ? ''
      : ` There is one of this name in ${elsewhere.length === 1 ? 'the namespace' : 'the namespaces'} ${listed(elsewhere)}.`;
  const isWhole = labels.length === SERVICE_LABELS;
  const hosts = isWhole ? withHost(service, zone.namespaces.get(namespace)?.services) : [];
  const search = isWhole ? '' : lookedUp(labels.slice(2), `${namespace}.svc.${apex}`);
  return {
    missing: 'service',
    place: { namespace, labelsBelow: labels.length - SERVICE_LABELS },
    text: `There is no service ${service} in the namespace ${namespace}.${where}${search}`,
    near: [
      ...hosts.map((each) => `${service}.${each}.${namespace}.svc.${apex}.`),
      ...(near === undefined ? [] : [renamed(labels, near, namespace, apex)]),
      ...elsewhere.map((each) => renamed(labels, service, each, apex)),
    ],
  };
}

/** The headless services with a ready endpoint of this hostname, among the first endpoints. */
function withHost(
  hostname: string,
  services: ReadonlyMap<string, ZoneService> = new Map<string, ZoneService>(),
): string[] {
  const found: string[] = [];
  let looked = 0;
  for (const [name, { isHeadless, slices }] of services) {
    if (++looked > MAX_CANDIDATES) break;
    if (!isHeadless) continue;
    const lists = slices.flatMap(({ groups }) => groups.map(({ labels }) => labels ?? []));
    if (lists.some((labels) => labels.includes(hostname))) found.push(name);
    looked += lists.reduce((sum, labels) => sum + labels.length, 0);
  }
  return found;
}

function noNamespaceOfPods(
  namespace: string,
  label: string,
  zone: ClusterZone,
  apex: string,
): Absence {
  const near = nearest(namespace, namespaces(zone));
  return {
    missing: 'namespace',
    text: `There is no namespace ${namespace}.`,
    near: near === undefined ? [] : [`${label}.${near}.pod.${apex}.`],
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
 * The name of the zone that a name outside of it was most likely meant to be: that of a service without its end, with
 * the domain of another cluster, or with a mistyped one. Undefined when there is none.
 */
function nearZone(name: string, zone: ClusterZone): string | undefined {
  const apex = nameText(zone.apex);
  const labels = name.split('.');
  const [service = '', namespace = ''] = labels;
  if (labels.length === 2) {
    const found = zone.namespaces.get(namespace)?.services.get(service)?.service;
    if (found !== undefined) return `${name}.svc.${apex}.`;
  }
  const before = labelsBefore(labels, apex.split('.'));
  if (before !== undefined) {
    const [first = '', second = ''] = before;
    const isService = zone.namespaces.get(second)?.services.get(first)?.service !== undefined;
    return [...before, ...(isService && before.length === 2 ? ['svc'] : []), `${apex}.`].join('.');
  }
  const at = labels.lastIndexOf('svc');
  if (at < 2 || !CLUSTER_DOMAINS.has(labels.slice(at + 1).join('.'))) return undefined;
  return `${labels.slice(0, at + 1).join('.')}.${apex}.`;
}

/** The labels before the mistyped domain of the cluster; undefined when a name does not end with it. */
function labelsBefore(labels: readonly string[], apex: readonly string[]): string[] | undefined {
  const start = labels.length - apex.length;
  const isMistyped = apex.every((label, i) => {
    const given = labels[start + i] ?? '';
    return given === label || nearest(given, [label]) !== undefined;
  });
  return apex.length > 1 && isMistyped ? labels.slice(0, start) : undefined;
}

const MAX_OWNERS = 16;

/** How a reverse name is read, and why it has a name or none. */
function reverseStep(found: ReverseFinding, zone: ClusterZone, ptr: PtrMode): ExplainedStep {
  if (found.address === undefined) {
    const text = 'It is a reverse name, but not the whole one of an address.';
    return { step: 'name', text, kind: 'reverse' };
  }
  const owners = found.services.slice(0, MAX_OWNERS);
  const address = addressText(found.address);
  const keys = owners.map(({ key }) => key).sort();
  const facts = { kind: 'reverse', address, services: keys };
  if (keys.length > 0) {
    const first =
      owners.length > 1 && ptr === 'first'
        ? ' With --ptr=first only one of its names is in the answer.'
        : '';
    const what = owners.every(({ isHeadless }) => isHeadless)
      ? 'an endpoint of the headless service'
      : 'an address of the service';
    const text = `It is the reverse name of ${address}, ${what} ${listed(keys)}.${first}`;
    return { step: 'name', text, ...facts };
  }
  const other = behindAddress(zone, found.address)
    .map(({ key }) => key)
    .sort();
  const because =
    other.length === 0
      ? ''
      : ` It is an endpoint of ${listed(other)}, but only the endpoints of headless services have names.`;
  const text = `It is the reverse name of ${address}, which is no address of a service and of no endpoint of a headless service.${because}`;
  return { step: 'absent', text, ...facts, missing: 'address', behind: other };
}

/** Services with a cluster address whose endpoint an address is: all are looked through, for this hint alone. */
function behindAddress(zone: ClusterZone, bytes: Uint8Array): ZoneService[] {
  const address = Buffer.from(bytes).toString('latin1');
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

/** The service that a name of the zone is about; undefined when it is about none, or about several. */
function serviceKeyOf({ labels, hasWildcard }: ZoneReading): ServiceKey | undefined {
  const [top, namespace, name] = labels;
  if (top !== 'svc' || hasWildcard || namespace === undefined) return undefined;
  return name === undefined ? undefined : { namespace, name };
}

/** How a name of the zone is read. */
function readingStep(reading: ZoneReading, pods: string): ExplainedStep {
  const { kind, isFederated } = reading;
  return { step: 'name', text: readingText(reading, pods), kind, isFederated };
}

function readingText(reading: ZoneReading, pods: string): string {
  switch (reading.kind) {
    case 'apex':
      return 'It is the zone itself: it has an SOA and an NS record, and no address.';
    case 'version':
      return 'It has the version of the schema of these names, as TXT.';
    case 'name-server':
      return 'It is the name of the zone’s name server: it has the addresses of the DNS service.';
    case 'interior':
      return 'It exists because of the names below it, and has no records itself.';
    case 'pod':
      return `It is the name of a pod’s address: ${addressText(reading.address)} is read from the label, and kubedns does not look whether there is such a pod (--pods=${pods}).`;
    case 'cname':
      return cnameText(reading);
    case 'wildcard':
      return wildcardText(reading);
    case 'unfinished':
      return 'Its label * matches too many names: nothing was found within the limit of one question.';
    case 'unavailable':
      return 'It is a federated name, and zone and region of this cluster’s nodes are not known yet.';
    case 'service':
      return serviceText(reading);
    case 'absent':
      return reading.hasWildcard
        ? 'Nothing matches its label *, or wildcards are off (--wildcards).'
        : 'There is no such name in the cluster.';
  }
}

function serviceText({ labels, part }: ZoneReading): string {
  const [, namespace = '', own = '', ...rest] = labels;
  const of = `the service ${own} in the namespace ${namespace}`;
  const [protocol = '', port = ''] = rest.map((label) => label.replace(/^_/, ''));
  switch (part) {
    case 'host':
      return `It is the endpoint ${rest[0] ?? ''} of ${of}.`;
    case 'protocol':
      return `It stands between ${of} and its ports: it exists without records.`;
    case 'port':
      return `It is the port ${port} over ${protocol.toUpperCase()} of ${of}.`;
    case 'zonal':
    case 'zonal-empty': {
      const zone = zoneNamed(rest);
      if (zone === undefined)
        return `It stands above the names of the zones of ${of}: it exists without records.`;
      return `It asks for the endpoints of ${of} in the zone ${zone}, which the name says, not the client: the answer is the same for all clients.`;
    }
    case 'host-port':
      return `It is the port ${port} over ${protocol.toUpperCase()} of the endpoint ${rest[2] ?? ''} of ${of}.`;
    default:
      return `It is ${of}.`;
  }
}

function cnameText({ labels, hasWildcard, cname, isFederated }: ZoneReading): string {
  const target = nameText(cname);
  if (isFederated) {
    return `It is a federated name (key federations of the ConfigMap): a CNAME of ${target}, with TTL 0.`;
  }
  const [, namespace = '', own = ''] = labels;
  return hasWildcard
    ? `Its label * matches a service of type ExternalName: a CNAME of ${target}.`
    : `It is the service ${own} in the namespace ${namespace}, which is of type ExternalName: a CNAME of ${target}.`;
}

function wildcardText({ matches, areAllMatched }: ZoneReading): string {
  const keys = listed(matches.map(({ key }) => key).sort());
  const end = areAllMatched ? '' : ', and there may be more: a limit ended the search';
  return `Its label * matches ${counted(matches.length, 'service')}: ${keys}${end}.`;
}
