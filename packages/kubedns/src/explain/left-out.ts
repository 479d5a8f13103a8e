import type { ExplainedStep } from '@kube-dns/telemetry';
import { TYPE, typeText } from '@kube-dns/wire';
import { SERVICE_LABELS } from '../answer/zone-question.js';
import { countOf, type Service } from '../watch/projections.js';
import { endpointsOf, endpointText, type SeenEndpoint } from './endpoint-fields.js';
import { portSteps } from './port-steps.js';
import type { SeenService } from './service-steps.js';
import { counted, listed, recordOf } from './words.js';

/** What of a service is asked for: the labels before its name, nearest first, and the type. */
export interface AskedPart {
  readonly labels: readonly string[];
  readonly type: number;
  /** Whether the name exists. */
  readonly exists: boolean;
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
  return asked.exists && !asked.isAnswered
    ? [...steps, ...typeSteps(service, endpoints, asked)]
    : steps;
}

function leftOut(reason: string, text: string, facts: Record<string, unknown> = {}): ExplainedStep {
  return { step: 'left-out', text, reason, ...facts };
}

function externalNameSteps({ cname }: Service, { labels, isAnswered }: AskedPart): ExplainedStep[] {
  if (labels.length > 0) {
    return [leftOut('external-name', 'A service of type ExternalName has no names below its own.')];
  }
  if (isAnswered || cname !== undefined) return [];
  return [leftOut('type', 'Its externalName is an IP address, so it has only that address.')];
}

function headlessSteps(
  { objects, key }: SeenService,
  endpoints: readonly SeenEndpoint[],
  { labels, type, exists }: AskedPart,
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
  const flawed = endpoints.filter(({ isReady, flaw }) => isReady && flaw !== undefined);
  for (const endpoint of flawed.slice(0, 3)) {
    steps.push(leftOut('invalid', `${endpointText(endpoint)} is left out: ${endpoint.flaw!}.`));
  }
  const used = endpoints.filter(({ isReady, flaw }) => isReady && flaw === undefined);
  if (typeof objects !== 'string' && used.length === 0)
    steps.push(...noEndpointSteps(name, objects));
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
  if (!exists && host !== undefined) steps.unshift(...hostSteps(host, used, waiting));
  return steps;
}

/** The label of an endpoint among the labels below a service; undefined without one. */
function hostLabel(labels: readonly string[]): string | undefined {
  if (labels.length === 1 && !labels[0]!.startsWith('_')) return labels[0];
  return labels.length === 3 ? labels[2] : undefined;
}

function noEndpointSteps(
  name: string,
  { service, slices }: Exclude<SeenService['objects'], string>,
): ExplainedStep[] {
  const text = `A headless service without a ready endpoint has no name: NXDOMAIN, as the schema of these names says.`;
  const steps = [leftOut('no-endpoints', text)];
  const [namespace = ''] = name.split('/');
  const spec = service?.spec;
  const labels = Object.entries(spec?.selector ?? {}).map(([key, value]) => `${key}=${value}`);
  if (service === undefined) return steps;
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
  { labels, exists }: AskedPart,
): ExplainedStep[] {
  if (!exists && hostLabel(labels) !== undefined) {
    return [
      leftOut(
        'not-headless',
        'The service has a cluster address, so its pods have no names below it: those are made for headless services (clusterIP: None).',
      ),
    ];
  }
  const ready = endpoints.filter(({ isReady }) => isReady).length;
  if (typeof objects === 'string' || ready > 0) return [];
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

/** The labels below the service of a name, nearest to it first. */
export function partLabels(labels: readonly string[]): string[] {
  return labels.slice(SERVICE_LABELS);
}
