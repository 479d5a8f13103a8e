import { isIPv4 } from 'node:net';
import { addressBytes, reverseName } from '@kube-dns/wire';
import { dashedLabel, hashLabel } from '../questions/generated-label.js';
import type { Question } from '../questions/question.js';
import { absentQuestions } from './absent-questions.js';
import type { ClusterObjects, ClusterService, EndpointGroup } from './cluster-objects.js';

const ADDRESS_TYPES = ['A', 'AAAA'] as const;

/** The type of the address record of an address. */
function typeOf(address: string): string {
  return isIPv4(address) ? 'A' : 'AAAA';
}

/**
 * The questions for all names of a cluster and for some that do not exist: services, ports, endpoints, pods,
 * reverse names, the names above them, and absent names of each kind. May repeat questions.
 */
export function* clusterQuestions(objects: ClusterObjects, zone: string): Generator<Question> {
  yield* zoneQuestions(objects.namespaces, zone);
  const headless = new Set<string>();
  for (const service of objects.services) {
    if (service.isHeadless) headless.add(`${service.namespace}/${service.name}`);
    yield* serviceQuestions(service, zone);
  }
  for (const group of objects.endpoints) {
    const isHeadless = headless.has(`${group.namespace}/${group.service}`);
    if (isHeadless) yield* endpointQuestions(group, zone);
    const addresses = group.endpoints.flatMap((endpoint) => endpoint.addresses);
    yield* podQuestions(group.namespace, addresses, zone);
  }
  for (const pod of objects.pods) yield* podQuestions(pod.namespace, pod.addresses, zone);
  yield* absentQuestions(objects, zone);
}

function* zoneQuestions(namespaces: readonly string[], zone: string): Generator<Question> {
  for (const type of ['SOA', 'NS', 'A']) yield { name: zone, type, kind: 'zone' };
  yield { name: `dns-version.${zone}`, type: 'TXT', kind: 'zone' };
  for (const part of ['svc', 'pod']) {
    yield { name: `${part}.${zone}`, type: 'A', kind: 'zone' };
    for (const namespace of namespaces) {
      yield { name: `${namespace}.${part}.${zone}`, type: 'A', kind: 'zone' };
    }
  }
}

function* serviceQuestions(service: ClusterService, zone: string): Generator<Question> {
  const name = `${service.name}.${service.namespace}.svc.${zone}`;
  for (const type of ADDRESS_TYPES) yield { name, type, kind: 'service' };
  const isExternalName = service.addresses.length === 0 && !service.isHeadless;
  yield { name, type: isExternalName ? 'CNAME' : 'SRV', kind: 'service' };
  for (const port of service.ports) {
    if (port.name === '') continue;
    yield { name: `_${port.name}._${port.protocol}.${name}`, type: 'SRV', kind: 'port' };
  }
  for (const address of service.addresses) {
    yield { name: reverseName(addressBytes(address)), type: 'PTR', kind: 'reverse' };
  }
}

function* endpointQuestions(group: EndpointGroup, zone: string): Generator<Question> {
  const service = `${group.service}.${group.namespace}.svc.${zone}`;
  for (const { hostname, addresses } of group.endpoints) {
    for (const address of addresses) {
      yield { name: reverseName(addressBytes(address)), type: 'PTR', kind: 'reverse' };
      const type = typeOf(address);
      if (hostname !== '') yield { name: `${hostname}.${service}`, type, kind: 'endpoint' };
      else {
        const [hash, dashed] = [hashLabel(address), dashedLabel(address)].map(
          (label) => `${label}.${service}`,
        ) as [string, string];
        yield { name: hash, type, kind: 'endpoint', alternate: dashed };
        yield { name: dashed, type, kind: 'endpoint', alternate: hash };
      }
    }
  }
  for (const port of group.ports) {
    if (port.name === '') continue;
    yield { name: `_${port.name}._${port.protocol}.${service}`, type: 'SRV', kind: 'port' };
  }
}

function* podQuestions(
  namespace: string,
  addresses: readonly string[],
  zone: string,
): Generator<Question> {
  for (const address of addresses) {
    const name = `${dashedLabel(address)}.${namespace}.pod.${zone}`;
    yield { name, type: typeOf(address), kind: 'pod' };
  }
}
