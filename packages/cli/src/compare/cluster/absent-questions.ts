import { isIPv4 } from 'node:net';
import { addressBytes, reverseName } from '@kube-dns/wire';
import type { Question } from '../questions/question.js';
import type { ClusterObjects } from './cluster-objects.js';

/** A label that no object has. */
export const ABSENT = 'kube-dns-compare-absent';

/** Names of each kind that do not exist: negative answers are compared, too. */
export function* absentQuestions(objects: ClusterObjects, zone: string): Generator<Question> {
  const absent = (name: string, type = 'A'): Question => ({ name, type, kind: 'absent' });
  yield absent(`${ABSENT}.${zone}`);
  yield absent(`${ABSENT}.${ABSENT}.${ABSENT}.${zone}`);
  yield absent(`${ABSENT}.svc.${zone}`);
  yield absent(`${ABSENT}.${ABSENT}.svc.${zone}`);
  yield absent(`192-0-2-1.${ABSENT}.pod.${zone}`);
  for (const namespace of objects.namespaces) {
    yield absent(`${ABSENT}.${namespace}.svc.${zone}`);
    yield absent(`${ABSENT}.${namespace}.svc.${zone}`, 'SRV');
    yield absent(`${ABSENT}.${namespace}.pod.${zone}`);
  }
  const seen = new Set<string>();
  for (const service of objects.services) {
    const isExternalName = service.addresses.length === 0 && !service.isHeadless;
    const kind = isExternalName ? 'external' : service.isHeadless ? 'headless' : 'cluster';
    // One of each kind in a namespace: doing this for each service would double the questions.
    const key = `${service.namespace} ${kind}`;
    if (seen.has(key)) continue;
    seen.add(key);
    const name = `${service.name}.${service.namespace}.svc.${zone}`;
    yield absent(`${ABSENT}.${name}`);
    yield absent(`_${ABSENT}._tcp.${name}`, 'SRV');
    yield absent(name, 'TXT');
  }
  const free = unusedAddress(objects);
  if (free !== undefined) yield absent(reverseName(addressBytes(free)), 'PTR');
}

/** An address near that of a service, used by no service: most likely of the service network. */
function unusedAddress({ services }: ClusterObjects): string | undefined {
  const used = new Set(services.flatMap((service) => service.addresses));
  const first = [...used].find(isIPv4);
  if (first === undefined) return undefined;
  const network = first.replace(/[0-9]+$/, '');
  for (let host = 254; host > 0; host--) {
    if (!used.has(network + String(host))) return network + String(host);
  }
  return undefined;
}
