import type { ExplainedStep } from '@kube-dns/telemetry';
import type { ImportedReading } from '../answer/imported-names.js';
import type { OptionalState } from '../watch/optional-watch.js';
import type { ImportedZone } from '../zone/imported-zone.js';
import { addressesOf, counted, listed, nameText } from './words.js';

/** What led to the answer about a name of the zone of imports. */
export function importedSteps(
  name: string,
  reading: ImportedReading,
  { zone, state }: { readonly zone: ImportedZone; readonly state: OptionalState },
): ExplainedStep[] {
  const apex = nameText(zone.apex);
  const route: ExplainedStep = {
    step: 'route',
    text: `${name} is in the zone of imported services, ${apex} (--clusterset-domain): kubedns answers it from the ServiceImports of the Kubernetes API.`,
    route: 'zone',
    zone: `${apex}.`,
    rule: '--clusterset-domain',
  };
  if (state === 'starting' || state === 'denied') {
    const why =
      state === 'denied'
        ? 'kubedns may not list ServiceImports: see the ClusterRole in the README'
        : 'kubedns has no complete list of ServiceImports from the API server yet';
    const text = `${why}. Until then it answers SERVFAIL: a client would cache a negative answer.`;
    return [route, { step: 'not-ready', text, pending: ['serviceimports'] }];
  }
  const steps = [route, nameStep(reading)];
  if (reading.service !== undefined) steps.push(importStep(reading));
  if (reading.missing === undefined) return steps;
  const text =
    state === 'absent'
      ? 'The API server has no ServiceImports: their CRD is not installed. It is looked for each minute.'
      : absenceText(reading);
  return [...steps, { step: 'absent', text, missing: reading.missing }];
}

function nameStep({ kind, service, host }: ImportedReading): ExplainedStep {
  const of = service === undefined ? '' : `the imported service ${wordsOf(service.key)}`;
  const texts = {
    apex: 'It is the zone itself: it has an SOA and an NS record, and no address.',
    version: 'It has the version of the specification of these names, as TXT.',
    'name-server':
      'It is the name of the zone’s name server: it has the addresses of the DNS service.',
    interior: 'It exists because of the names below it, and has no records itself.',
    import: `It is ${of}.`,
    port: `It is a port of ${of}.`,
    host: `It is the endpoint ${host === undefined ? '' : nameText(host.name)} of ${of}.`,
    absent: 'There is no such name among the imported services.',
  } as const;
  return { step: 'name', text: texts[kind], kind };
}

function wordsOf(key: string): string {
  const [namespace = '', name = ''] = key.split('/');
  return `${name} in the namespace ${namespace}`;
}

function importStep({ service }: ImportedReading): ExplainedStep {
  const { key, object, clusters, endpointCount } = service!;
  const isHeadless = object!.isHeadless;
  const addresses = [...addressesOf(object!.ipv4), ...addressesOf(object!.ipv6)];
  const what = isHeadless
    ? `is headless, with ${counted(endpointCount, 'ready endpoint')}`
    : `has ${addresses.length === 0 ? 'no address yet' : listed(addresses)}`;
  const from = clusters.length === 0 ? '' : `, from ${listed(clusters)}`;
  return {
    step: 'import',
    text: `The ServiceImport ${key} ${what}${isHeadless ? from : ''}.`,
    import: key,
    type: isHeadless ? 'Headless' : 'ClusterSetIP',
    addresses,
    clusters,
    endpoints: endpointCount,
  };
}

function absenceText({ missing, service }: ImportedReading): string {
  switch (missing) {
    case 'namespace':
      return 'There is no such namespace in this cluster: a service is imported where its namespace exists.';
    case 'import':
      return 'There is no ServiceImport of this name in the namespace.';
    case 'addresses':
      return `The ServiceImport ${service?.key ?? ''} has no address yet: the controller of the clusterset gives it one.`;
    case 'endpoints':
      return `No endpoint of the ServiceImport ${service?.key ?? ''} is ready: EndpointSlices with the labels multicluster.kubernetes.io/service-name and …/source-cluster have them.`;
    case 'host':
      return 'No endpoint has this name: it is HOST.CLUSTER before the name of a headless import, and an import with addresses has none.';
    case 'port':
      return 'No such port: names of ports are _PORT._PROTOCOL before the name of the import.';
    default:
      return 'The zone of imported services has names below svc, dns-version and ns.dns: no pods, and no wildcards.';
  }
}
