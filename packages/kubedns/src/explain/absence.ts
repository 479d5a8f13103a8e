import { nearest } from '@kube-dns/base';
import { isDnsLabel } from '@kube-dns/daemon';
import type { ExplainedStep } from '@kube-dns/telemetry';
import { SERVICE_LABELS, type ZoneQuestion } from '../answer/zone-question.js';
import type { ClusterZone } from '../zone/cluster-zone.js';
import { listed, nameText } from './words.js';
import { labelsOf } from './zone-reading.js';

/** What is missing, and names that exist and are near. */
export interface Absence {
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
export function absenceSteps({ missing, text, near, place }: Absence): ExplainedStep[] {
  const steps: ExplainedStep[] = [{ step: 'absent', text, missing, ...place }];
  if (near.length > 0) {
    const names = near.slice(0, MAX_NEAR);
    steps.push({ step: 'near', text: `Did you mean ${listed(names, 'or')}?`, names });
  }
  return steps;
}

/** Why a name of the zone does not exist; undefined when that is a matter of one service that exists. */
export function absenceOf(
  { name }: ZoneQuestion,
  zone: ClusterZone,
  pods: string,
): Absence | undefined {
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
