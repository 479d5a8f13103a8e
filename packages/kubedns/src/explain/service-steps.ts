import type { V1EndpointSlice, V1Service } from '@kubernetes/client-node';
import { errorText, nearest } from '@kube-dns/base';
import { isDnsLabel, isIpAddress } from '@kube-dns/daemon';
import type { ExplainedStep } from '@kube-dns/telemetry';
import { decodeName, TYPE, typeText } from '@kube-dns/wire';
import type { Missing } from '../answer/zone-answerer.js';
import type { ApiReader } from '../watch/api-client.js';
import { ItemReader, listKind, Unread } from '../watch/json-stream.js';
import {
  countOf,
  type EndpointNames,
  type EndpointSlice,
  isSameService,
  isSameSlice,
  type Port,
  projectEndpointSlice,
  projectService,
  type Service,
} from '../watch/projections.js';
import type { ZoneService } from '../zone/zone-service.js';
import { addressesOf, counted, listed, nameText, portText, recordOf } from './words.js';

/** Namespace and name of a service that a name is about, whether it exists or not. */
export interface ServiceKey {
  readonly namespace: string;
  readonly name: string;
}

/** A service as it is held, and as the API server has it. */
interface SeenService {
  readonly key: ServiceKey;
  /** What answers are made of: as it was when the question was answered. */
  readonly held: HeldService | undefined;
  /** A text when the API server did not give them. */
  readonly objects: ApiObjects | string;
  readonly names: EndpointNames;
  /** Whether the slices that are held have zones. */
  readonly readsZones: boolean;
}

/** A service and its slices at one moment. */
interface HeldService {
  readonly service: Service | undefined;
  readonly slices: readonly EndpointSlice[];
}

/** What is held of a service now: it may change while the API server is read. */
export function heldService(entry: ZoneService | undefined): HeldService | undefined {
  return entry && { service: entry.service, slices: [...entry.slices] };
}

/** The service and its slices, with their versions, and where these are not those that answers are made of. */
export function serviceSteps(seen: SeenService): ExplainedStep[] {
  const { key, held, objects } = seen;
  const name = `${key.namespace}/${key.name}`;
  if (typeof objects === 'string') {
    const from = `The API server could not be asked: ${objects}.`;
    return [
      { step: 'api', text: `${from} What follows is from memory.`, reason: objects },
      ...memorySteps(name, held),
    ];
  }
  const steps: ExplainedStep[] = [];
  const { service, slices, hasMoreSlices } = objects;
  if (service !== undefined) steps.push(apiServiceStep(name, service));
  for (const slice of slices) steps.push(sliceStep(slice));
  if (hasMoreSlices) {
    steps.push({ step: 'slice', text: 'It has more slices, which were not read.', more: true });
  }
  return [...steps, ...differences(name, seen, objects)];
}

function apiServiceStep(name: string, service: V1Service): ExplainedStep {
  const { metadata, spec } = service;
  const addresses = (spec?.clusterIPs ?? [spec?.clusterIP ?? '']).filter(
    (text) => text !== '' && text !== 'None',
  );
  const ports = (spec?.ports ?? []).map(({ name: port, protocol, port: number }) =>
    portText({ name: port ?? '', protocol: protocol ?? 'TCP', port: number }),
  );
  const version = metadata?.resourceVersion ?? '?';
  const kind = kindOf(spec);
  const what = {
    ExternalName: `is of type ExternalName: its target is ${JSON.stringify(spec?.externalName ?? '')}`,
    headless: 'is headless (clusterIP: None), so its records are those of its endpoints',
    pending: 'has no cluster address yet, and counts as headless',
    address: `has the cluster ${addresses.length === 1 ? 'address' : 'addresses'} ${listed(addresses)}`,
  }[kind];
  const withPorts = portsText(ports);
  return {
    step: 'service',
    text: `The service ${name} (version ${version}) ${what}.${withPorts}`,
    service: name,
    resourceVersion: version,
    kind,
    addresses,
    ports,
  };
}

function kindOf(spec: V1Service['spec']): 'ExternalName' | 'headless' | 'pending' | 'address' {
  if (spec?.type === 'ExternalName') return 'ExternalName';
  if (spec?.clusterIP === 'None') return 'headless';
  return spec?.clusterIP === undefined || spec.clusterIP === '' ? 'pending' : 'address';
}

function sliceStep(slice: V1EndpointSlice): ExplainedStep {
  const name = slice.metadata?.name ?? '?';
  const resourceVersion = slice.metadata?.resourceVersion ?? '?';
  const endpoints = endpointsOf(slice);
  const ready = endpoints.filter(({ isReady }) => isReady).length;
  const ports = (slice.ports ?? []).map(({ name: port, protocol, port: number }) =>
    portText({ name: port ?? '', protocol: protocol ?? 'TCP', port: number ?? 0 }),
  );
  const withPorts =
    ports.length === 0 ? 'no port' : `the ${plural('port', ports)} ${listed(ports)}`;
  return {
    step: 'slice',
    text: `Its slice ${name} (version ${resourceVersion}, ${slice.addressType}) has ${readyText(ready, endpoints.length)} and ${withPorts}.`,
    slice: name,
    resourceVersion,
    addressType: slice.addressType,
    endpoints: endpoints.length,
    ready,
  };
}

function portsText(ports: readonly string[]): string {
  if (ports.length === 0) return '';
  return ` Its ${ports.length === 1 ? 'port is' : 'ports are'} ${listed(ports)}.`;
}

/** `2 of 3 endpoints ready`. */
function readyText(ready: number, count: number): string {
  if (count === 0) return 'no endpoint';
  return `${ready} of ${counted(count, 'endpoint')} ready`;
}

function plural(noun: string, all: readonly unknown[]): string {
  return all.length === 1 ? noun : `${noun}s`;
}

/** What is held, where the API server does not say. */
function memorySteps(name: string, held: HeldService | undefined): ExplainedStep[] {
  if (held?.service === undefined) {
    return [{ step: 'service', text: `kubedns knows no service ${name}.`, service: name }];
  }
  const { kind, ipv4, ipv6, ports, cname } = held.service;
  const addresses = [...addressesOf(ipv4), ...addressesOf(ipv6)];
  const ready = held.slices
    .flatMap(({ groups }) => groups)
    .reduce((sum, group) => sum + countOf(group), 0);
  const what = {
    'external-name': `is of type ExternalName: its target is ${JSON.stringify(cname === undefined ? addresses.join() : decodeName(cname))}`,
    headless: 'is headless: its records are those of its endpoints',
    'cluster-ip': `has the cluster ${addresses.length === 1 ? 'address' : 'addresses'} ${listed(addresses)}`,
  }[kind];
  const portTexts = ports.ports.map(portText);
  const endpoints = `${counted(ready, 'ready endpoint')} in ${counted(held.slices.length, 'slice')}`;
  return [
    {
      step: 'service',
      text: `The service ${name} ${what}. It has ${endpoints}.${portsText(portTexts)}`,
      service: name,
      kind,
      addresses,
      ports: portTexts,
      ready,
    },
  ];
}

/** Where the objects of the API are not those that answers are made of: their events have not arrived, or make no sense. */
function differences(
  name: string,
  { held, names, readsZones }: SeenService,
  { service, slices, hasMoreSlices }: ApiObjects,
): ExplainedStep[] {
  const steps: ExplainedStep[] = [];
  const differs = (text: string, of: string) => steps.push({ step: 'differs', text, of });
  const reading = { names, readsZones, onRejected: () => undefined };
  try {
    const now = service && projectService(service, reading);
    if (now === undefined && held?.service !== undefined) {
      differs(
        `The API server has no service ${name} any more; its deletion has not arrived here.`,
        'service',
      );
    } else if (now !== undefined && held?.service === undefined) {
      differs(`kubedns has not received the service ${name} from the API server yet.`, 'service');
    } else if (now !== undefined && !isSameService(held!.service!, now)) {
      differs(
        `kubedns holds another state of the service ${name}: its last change has not arrived here.`,
        'service',
      );
    }
    const left = [...(held?.slices ?? [])];
    let missing = 0;
    for (const slice of slices) {
      const projected = projectEndpointSlice(slice, reading);
      const at = left.findIndex((one) => isSameSlice(one, projected));
      if (at < 0) missing++;
      else left.splice(at, 1);
    }
    if (missing > 0 || (left.length > 0 && !hasMoreSlices)) {
      differs(
        'kubedns holds other slices of it: their last changes have not arrived here.',
        'slices',
      );
    }
  } catch (error) {
    differs(
      `kubedns leaves an object out, because it is not valid: ${errorText(error)}.`,
      'object',
    );
  }
  return steps;
}

/** What of a service is asked for: the labels before its name, nearest first, and the type. */
interface AskedPart {
  readonly labels: readonly string[];
  readonly type: number;
  /** What the name lacks; undefined when it exists. */
  readonly missing: Missing | undefined;
  /** Whether there are records in the answer. */
  readonly isAnswered: boolean;
}

/** The types of records that services have. */
const SERVICE_TYPES: readonly number[] = [TYPE.A, TYPE.AAAA, TYPE.SRV, TYPE.ANY];

/** What is not in the answer about a service that exists, and why. */
export function leftOutSteps(seen: SeenService, asked: AskedPart): ExplainedStep[] {
  const service = seen.held?.service;
  if (service === undefined) return [];
  if (service.kind === 'external-name') return externalNameSteps(service, asked);
  const endpoints =
    typeof seen.objects === 'string' ? [] : seen.objects.slices.flatMap(endpointsOf);
  const steps = [
    ...(service.kind === 'headless'
      ? headlessSteps(seen, endpoints, asked)
      : clusterAddressSteps(seen, endpoints, asked)),
    ...portSteps(seen, service, asked),
  ];
  return asked.missing === undefined && !asked.isAnswered
    ? [...steps, ...typeSteps(service, endpoints, asked)]
    : steps;
}

function leftOut(reason: string, text: string, facts: Record<string, unknown> = {}): ExplainedStep {
  return { step: 'left-out', text, reason, ...facts };
}

function externalNameSteps(
  { cname }: Service,
  { missing, isAnswered }: AskedPart,
): ExplainedStep[] {
  if (missing === 'below-external-name') {
    return [leftOut('external-name', 'A service of type ExternalName has no names below its own.')];
  }
  if (isAnswered || cname !== undefined) return [];
  return [leftOut('type', 'Its externalName is an IP address, so it has only that address.')];
}

function headlessSteps(
  { objects, key }: SeenService,
  endpoints: readonly SeenEndpoint[],
  { labels, type, missing }: AskedPart,
): ExplainedStep[] {
  const steps: ExplainedStep[] = [];
  const name = `${key.namespace}/${key.name}`;
  const waiting = endpoints.filter(({ isReady }) => !isReady);
  if (waiting.length > 0) {
    const isOne = waiting.length === 1;
    const ending = waiting.some(({ isTerminating }) => isTerminating) ? ' (or terminating)' : '';
    steps.push(
      leftOut(
        'not-ready',
        `${counted(waiting.length, 'endpoint')} ${isOne ? 'is' : 'are'} left out, not ready${ending}: ${listed(waiting.map(endpointText))}.`,
        { endpoints: waiting.slice(0, 20).map(({ address }) => address) },
      ),
    );
  }
  const invalid = endpoints.filter(({ isReady, problem }) => isReady && problem !== undefined);
  for (const endpoint of invalid.slice(0, 3)) {
    steps.push(leftOut('invalid', `${endpointText(endpoint)} is left out: ${endpoint.problem!}.`));
  }
  const used = endpoints.filter(({ isReady, problem }) => isReady && problem === undefined);
  if (missing === 'endpoints') steps.push(...noEndpointSteps(name, objects));
  if (type === TYPE.A || type === TYPE.AAAA) {
    const others = used.filter(({ isIpv6 }) => isIpv6 !== (type === TYPE.AAAA));
    if (others.length > 0 && others.length < used.length) {
      steps.push(
        leftOut(
          'family',
          `${counted(others.length, 'endpoint')} of the other address family ${others.length === 1 ? 'is' : 'are'} left out: they have no ${typeText(type)} record.`,
        ),
      );
    }
  }
  const host = hostLabel(labels);
  const isOfHost = missing === 'host' || missing === 'endpoints';
  if (isOfHost && host !== undefined) steps.unshift(...hostSteps(host, used, waiting));
  return steps;
}

/** The label of an endpoint among the labels below a service; undefined without one. */
function hostLabel(labels: readonly string[]): string | undefined {
  if (labels.length === 1 && !labels[0]!.startsWith('_')) return labels[0];
  return labels.length === 3 ? labels[2] : undefined;
}

function noEndpointSteps(name: string, objects: SeenService['objects']): ExplainedStep[] {
  const text = `A headless service without a ready endpoint has no name: NXDOMAIN, as the schema of these names says.`;
  const steps = [leftOut('no-endpoints', text)];
  if (typeof objects === 'string' || objects.service === undefined) return steps;
  const { service, slices } = objects;
  const [namespace = ''] = name.split('/');
  const { spec } = service;
  const labels = Object.entries(spec?.selector ?? {}).map(([key, value]) => `${key}=${value}`);
  if (labels.length === 0) {
    const has = slices.length === 0 ? 'there are none' : 'none of theirs is ready';
    steps.push(
      leftOut(
        'no-selector',
        `${name} has no selector, so somebody else must make its EndpointSlices (label kubernetes.io/service-name); ${has}.`,
      ),
    );
  } else if (slices.every(({ endpoints }) => (endpoints ?? []).length === 0)) {
    steps.push(
      leftOut(
        'no-pods',
        `No running pod matches its selector: kubectl -n ${namespace} get pods -l ${labels.join()}.`,
      ),
    );
  } else if (spec?.publishNotReadyAddresses !== true) {
    steps.push({
      step: 'advice',
      text: `Pods that must find each other before they are ready need publishNotReadyAddresses: true in the service.`,
    });
  }
  return steps;
}

/** Why there is no endpoint of this name. */
function hostSteps(
  host: string,
  used: readonly SeenEndpoint[],
  waiting: readonly SeenEndpoint[],
): ExplainedStep[] {
  const meant = waiting.find(({ hostname }) => hostname?.toLowerCase() === host);
  if (meant !== undefined) {
    return [
      leftOut(
        'not-ready',
        `The endpoint ${host} (${meant.address}) is not ready, so it has no name until it is.`,
      ),
      {
        step: 'advice',
        text: 'With publishNotReadyAddresses: true in the service its endpoints have names before they are ready.',
      },
    ];
  }
  return used.length === 0 ? [] : [hostStep(host, used)];
}

function hostStep(host: string, used: readonly SeenEndpoint[]): ExplainedStep {
  const named = used.filter(({ hostname }) => hostname !== undefined);
  const pod = used.find((endpoint) => endpoint.pod?.toLowerCase() === host);
  if (pod !== undefined && pod.hostname === undefined) {
    return leftOut(
      'no-hostname',
      `The pod ${host} is an endpoint (${pod.address}) without a hostname, so its name is no name in DNS: its pod spec needs hostname: ${host} and subdomain: the name of this service (a StatefulSet with serviceName does that).`,
    );
  }
  if (named.length === 0) {
    return leftOut(
      'no-hostname',
      'No endpoint has a hostname: their names are generated from their addresses. A pod gets a name by hostname and subdomain in its spec.',
    );
  }
  const names = [...new Set(named.map(({ hostname }) => hostname!.toLowerCase()))].sort();
  return leftOut(
    'no-such-host',
    `No ready endpoint has the hostname ${host}; there ${names.length === 1 ? 'is' : 'are'} ${listed(names)}.`,
    {
      hostnames: names.slice(0, 20),
    },
  );
}

function clusterAddressSteps(
  { objects }: SeenService,
  endpoints: readonly SeenEndpoint[],
  { missing }: AskedPart,
): ExplainedStep[] {
  if (missing === 'host') {
    return [
      leftOut(
        'not-headless',
        'The service has a cluster address, so its pods have no names below it: those are made for headless services (clusterIP: None).',
      ),
    ];
  }
  const ready = endpoints.filter(({ isReady }) => isReady).length;
  if (missing !== undefined || typeof objects === 'string' || ready > 0) return [];
  const of =
    endpoints.length === 0
      ? 'It has no endpoints'
      : `None of its ${counted(endpoints.length, 'endpoint')} is ready`;
  return [
    { step: 'note', text: `${of}: the name has an address, but connections to it fail.`, ready: 0 },
  ];
}

/** Why a name that exists has no record of the type. */
function typeSteps(
  { kind, ipv4, ipv6 }: Service,
  endpoints: readonly SeenEndpoint[],
  { labels, type }: AskedPart,
): ExplainedStep[] {
  if (!SERVICE_TYPES.includes(type)) {
    return [
      leftOut('type', `There is never ${recordOf(type)} for a service: only A, AAAA and SRV.`),
    ];
  }
  const isOfPort = labels.length > 0 && labels[0]!.startsWith('_');
  if (isOfPort && type !== TYPE.SRV)
    return [leftOut('type', 'The name of a port has SRV records only.')];
  if (type !== TYPE.A && type !== TYPE.AAAA) return [];
  const other = type === TYPE.A ? 'IPv6' : 'IPv4';
  const own = type === TYPE.A ? 'IPv4' : 'IPv6';
  const hasOther =
    kind === 'headless' ? endpoints.length > 0 : countOf(type === TYPE.A ? ipv6 : ipv4) > 0;
  if (!hasOther) return [];
  const what = kind === 'headless' ? 'Its ready endpoints have' : 'It has';
  return [
    leftOut(
      'family',
      `${what} ${other} addresses only, so there is no ${typeText(type)} record: an empty answer, which is no error. Clients use the ${other} address. For ${own}, the service needs it in ipFamilies.`,
    ),
  ];
}

const PORT_NAMES =
  'A port is named _PORT._PROTOCOL before the name of the service, and that of one endpoint HOST._PORT._PROTOCOL.';

/** Which ports are not in an answer about a service, and why. */
function portSteps(
  { held }: SeenService,
  service: Service,
  { labels, type, missing }: AskedPart,
): ExplainedStep[] {
  const [protocol, port] = labels.map((label) => label.replace(/^_/, ''));
  const all = portsOf(service, held?.slices ?? []);
  if (protocol === undefined || !labels[0]!.startsWith('_')) {
    if (missing === 'port') return [leftOut('port', PORT_NAMES)];
    if (type !== TYPE.SRV || all.length > 0 || missing !== undefined) return [];
    return [
      { step: 'left-out', text: 'It has no port, so its SRV record has port 0.', reason: 'port' },
    ];
  }
  if (missing !== 'port') return [];
  const texts = all.map(portText);
  const has =
    texts.length === 0
      ? 'It has no ports.'
      : `Its ${texts.length === 1 ? 'port is' : 'ports are'} ${listed(texts)}.`;
  const reason = 'port';
  if (port === undefined) {
    return [
      {
        step: 'left-out',
        text: `No port is over ${protocol.toUpperCase()}. ${has}`,
        reason,
        ports: texts,
      },
    ];
  }
  const other = all.find(({ name }) => name === port);
  const near = nearest(
    port,
    all.map(({ name }) => name).filter((name) => name !== ''),
  );
  const isNumber = all.find((each) => String(each.port) === port);
  let more = '';
  if (!labels[1]!.startsWith('_'))
    more = ' The labels of port and protocol begin with an underscore.';
  else if (other !== undefined) more = ` The port ${port} is over ${other.protocol.toUpperCase()}.`;
  else if (isNumber !== undefined) more = ' A port is asked by its name, not by its number.';
  else if (near !== undefined) more = ` Did you mean _${near}?`;
  const steps: ExplainedStep[] = [
    {
      step: 'left-out',
      text: `No port is named ${port} over ${protocol.toUpperCase()}. ${has}${more}`,
      reason,
      ports: texts,
    },
  ];
  if (all.some(({ name }) => name === '')) {
    steps.push({
      step: 'advice',
      text: 'A port without a name has no SRV name of its own: give it one in the service, or ask SRV of the service itself.',
    });
  }
  return steps;
}

/** Those of a headless service are its endpoints'. */
function portsOf(service: Service, slices: NonNullable<SeenService['held']>['slices']): Port[] {
  if (service.kind !== 'headless') return [...service.ports.ports];
  const all = new Map<string, Port>();
  for (const { groups } of slices) {
    for (const { ports } of groups) {
      for (const port of ports.ports) all.set(portText(port), port);
    }
  }
  return [...all.values()];
}

/** One address of an endpoint in the API, and what decides whether DNS has it. */
interface SeenEndpoint {
  readonly address: string;
  readonly pod: string | undefined;
  readonly hostname: string | undefined;
  readonly isReady: boolean;
  readonly isTerminating: boolean;
  readonly isIpv6: boolean;
  /** Why it is left out although it is ready; undefined when it is not. */
  readonly problem: string | undefined;
}

/** The endpoints of a slice, one for each address. */
function endpointsOf(slice: V1EndpointSlice): SeenEndpoint[] {
  return (slice.endpoints ?? []).flatMap(({ addresses, conditions, hostname, targetRef }) =>
    addresses.map((address) => ({
      address,
      pod: targetRef?.kind === 'Pod' ? targetRef.name : undefined,
      hostname: hostname === '' ? undefined : hostname,
      isReady: conditions?.ready !== false,
      isTerminating: conditions?.terminating === true,
      isIpv6: address.includes(':'),
      problem: problemOf(slice, address, hostname),
    })),
  );
}

/** An endpoint as a sentence names it. */
function endpointText({ address, pod }: SeenEndpoint): string {
  return pod === undefined ? address : `${address} (pod ${pod})`;
}

function problemOf(
  { addressType }: V1EndpointSlice,
  address: string,
  hostname: unknown,
): string | undefined {
  if (addressType === 'FQDN') return 'it is in a slice of names, for which DNS has no records';
  if (!isIpAddress(address)) return 'it is no IP address';
  const isNamed = hostname === undefined || hostname === null || hostname === '';
  const isLabel = typeof hostname === 'string' && isDnsLabel(hostname.toLowerCase());
  return isNamed || isLabel ? undefined : 'its hostname is no DNS label';
}

/** A service and its slices as the API server has them at this moment. */
interface ApiObjects {
  readonly service: V1Service | undefined;
  readonly slices: readonly V1EndpointSlice[];
  /** Whether the API has more slices than are read. */
  readonly hasMoreSlices: boolean;
}

interface ApiObjectsReaderOptions {
  readonly client: ApiReader;
  readonly limitMs?: number;
}

const LIMIT_MS = 2_000;
const MAX_SLICES = 20;
const MAX_BYTES = 8 * 1024 * 1024;
const SERVICE_LABEL = 'kubernetes.io/service-name';

/** Reads the objects of one service from the API server: for one explanation at a time, and not for long. */
export class ApiObjectsReader {
  readonly #client: ApiReader;
  readonly #limitMs: number;
  #isBusy = false;

  constructor({ client, limitMs = LIMIT_MS }: ApiObjectsReaderOptions) {
    this.#client = client;
    this.#limitMs = limitMs;
  }

  /** Resolves with a text in place of the objects when the API server does not give them. */
  async read(namespace: string, name: string): Promise<ApiObjects | string> {
    if (this.#isBusy) return 'another explanation is reading from the API server';
    this.#isBusy = true;
    const ended = new AbortController();
    const timer = setTimeout(() => {
      ended.abort(new Error(`no answer within ${this.#limitMs} ms`));
    }, this.#limitMs);
    const { signal } = ended;
    try {
      const [services, slices] = await Promise.all([
        this.#list(`/api/v1/namespaces/${namespace}/services`, signal, {
          fieldSelector: `metadata.name=${name}`,
        }),
        this.#list(`/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`, signal, {
          labelSelector: `${SERVICE_LABEL}=${name}`,
        }),
      ]);
      return {
        service: services.items[0] as V1Service | undefined,
        slices: slices.items as V1EndpointSlice[],
        hasMoreSlices: slices.hasMore,
      };
    } catch (error) {
      ended.abort();
      return errorText(error);
    } finally {
      clearTimeout(timer);
      this.#isBusy = false;
    }
  }

  async #list(path: string, signal: AbortSignal, selector: Readonly<Record<string, string>>) {
    const query = new URLSearchParams({ ...selector, limit: String(MAX_SLICES) });
    const body = await this.#client.get({ path, query, signal });
    const reader = new ItemReader(listKind(path));
    const items: unknown[] = [];
    for await (const { bytes } of body) {
      for (const item of reader.push(bytes)) if (!(item instanceof Unread)) items.push(item);
      if (body.contentBytes > MAX_BYTES) throw new Error(`more than ${MAX_BYTES} bytes`);
    }
    return { items, hasMore: reader.finish().continue !== '' };
  }
}

/** A CNAME of the zone whose last target does not exist: the name itself is no mistake. */
export function missingTargetSteps(
  key: ServiceKey | undefined,
  names: readonly Uint8Array[],
): ExplainedStep[] {
  const targets = names.map((name) => nameText(name));
  const chain = targets.join(', which leads to ');
  const facts = { missing: 'target', targets };
  if (key === undefined) {
    const text = `Its name exists and leads to ${chain}, but that target does not exist.`;
    return [{ step: 'absent', text, ...facts }];
  }
  const service = `${key.namespace}/${key.name}`;
  const text = `The service ${service} exists and is an ExternalName to ${chain}, but that target does not exist.`;
  const advice = `Correct externalName of the service ${service}, or give its target a record where it is asked for.`;
  return [
    { step: 'absent', text, ...facts, service },
    { step: 'advice', text: advice },
  ];
}
