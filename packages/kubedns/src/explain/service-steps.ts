import type { V1EndpointSlice, V1Service } from '@kubernetes/client-node';
import { errorText } from '@kube-dns/base';
import type { ExplainedStep } from '@kube-dns/telemetry';
import { decodeName } from '@kube-dns/wire';
import {
  countOf,
  type EndpointNames,
  type EndpointSlice,
  isSameService,
  isSameSlice,
  projectEndpointSlice,
  projectService,
  type Service,
} from '../watch/projections.js';
import type { ZoneService } from '../zone/zone-service.js';
import type { ApiObjects } from './api-objects.js';
import { endpointsOf } from './endpoint-fields.js';
import { addressesOf, counted, listed, portText } from './words.js';
import type { ServiceKey } from './zone-reading.js';

/** A service as it is held, and as the API server has it. */
export interface SeenService {
  readonly key: ServiceKey;
  /** What answers are made of: as it was when the question was answered. */
  readonly held: HeldService | undefined;
  /** A text when the API server did not give them. */
  readonly objects: ApiObjects | string;
  readonly names: EndpointNames;
}

/** A service and its slices at one moment. */
export interface HeldService {
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
  { held, names }: SeenService,
  { service, slices, hasMoreSlices }: ApiObjects,
): ExplainedStep[] {
  const steps: ExplainedStep[] = [];
  const differs = (text: string, of: string) => steps.push({ step: 'differs', text, of });
  const reading = { names, onRejected: () => undefined };
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
