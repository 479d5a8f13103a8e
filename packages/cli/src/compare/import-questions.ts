import { isIPv4 } from 'node:net';
import type { ApiReader } from '../api-reader.js';
import { mappingsOf, textOf, valueAt } from '../manifests/objects.js';
import { dashedLabel, type Question } from '../question.js';

/** A ServiceImport, reduced to what its names depend on. */
interface ImportedService {
  readonly namespace: string;
  readonly name: string;
  readonly isHeadless: boolean;
  /** `_PORT._PROTOCOL` of those with a name. */
  readonly ports: readonly string[];
}

/** An endpoint of a headless import that is ready. */
interface ImportedEndpoint {
  /** `namespace/name` of the import. */
  readonly service: string;
  /** One label, or two joined by a dot. */
  readonly cluster: string;
  /** Its hostname, else the address with dashes. */
  readonly host: string;
  readonly type: 'A' | 'AAAA';
}

export interface ImportedObjects {
  readonly imports: readonly ImportedService[];
  readonly endpoints: readonly ImportedEndpoint[];
}

const SERVICE_LABEL = 'multicluster.kubernetes.io/service-name';
const CLUSTER_LABEL = 'multicluster.kubernetes.io/source-cluster';
const VERSIONS = ['v1beta1', 'v1alpha1'] as const;

/** Reads the objects of imported services; undefined where the API server has no ServiceImports, or does not let us read them. */
export async function readImports(reader: ApiReader): Promise<ImportedObjects | undefined> {
  const imports: ImportedService[] = [];
  const endpoints: ImportedEndpoint[] = [];
  let isRead = false;
  for (const version of VERSIONS) {
    const path = `/apis/multicluster.x-k8s.io/${version}/serviceimports`;
    isRead ||= await reader.listIfAllowed(path, (item) => imports.push(readImport(item)));
  }
  if (!isRead) return undefined;
  await reader.listIfAllowed('/apis/discovery.k8s.io/v1/endpointslices', (item) =>
    endpoints.push(...readSlice(item)),
  );
  return { imports, endpoints };
}

function readImport(item: unknown): ImportedService {
  const ports = mappingsOf(valueAt(item, 'spec', 'ports')).flatMap(({ name, protocol }) => {
    const protocolName = (textOf(protocol) || 'TCP').toLowerCase();
    return textOf(name) === '' ? [] : [`_${textOf(name)}._${protocolName}`];
  });
  return {
    namespace: textOf(valueAt(item, 'metadata', 'namespace')),
    name: textOf(valueAt(item, 'metadata', 'name')),
    isHeadless: valueAt(item, 'spec', 'type') === 'Headless',
    ports: [...new Set(ports)],
  };
}

function readSlice(item: unknown): ImportedEndpoint[] {
  const labelOf = (label: string) => textOf(valueAt(item, 'metadata', 'labels', label));
  const cluster = labelOf(CLUSTER_LABEL).toLowerCase();
  if (labelOf(SERVICE_LABEL) === '' || cluster === '') return [];
  const service = `${textOf(valueAt(item, 'metadata', 'namespace'))}/${labelOf(SERVICE_LABEL)}`;
  return mappingsOf(valueAt(item, 'endpoints'))
    .filter((endpoint) => valueAt(endpoint, 'conditions', 'ready') !== false)
    .flatMap(({ addresses, hostname }) => {
      const address = Array.isArray(addresses) ? textOf(addresses[0]) : '';
      if (address === '') return [];
      const host = textOf(hostname) || dashedLabel(address);
      return [{ service, cluster, host, type: isIPv4(address) ? 'A' : 'AAAA' }];
    });
}

/** A label that no object has. */
const ABSENT = 'kube-dns-compare-absent';

/** The questions for all names of imported services, and for some that do not exist. May repeat questions. */
export function* importQuestions(
  { imports, endpoints }: ImportedObjects,
  zone: string,
): Generator<Question> {
  for (const type of ['SOA', 'NS', 'A']) yield { name: zone, type, kind: 'zone' };
  yield { name: `dns-version.${zone}`, type: 'TXT', kind: 'zone' };
  yield { name: `svc.${zone}`, type: 'A', kind: 'zone' };
  const headless = new Set<string>();
  for (const { namespace, name, isHeadless, ports } of imports) {
    const whole = `${name}.${namespace}.svc.${zone}`;
    if (isHeadless) headless.add(`${namespace}/${name}`);
    for (const type of ['A', 'AAAA', 'SRV']) yield { name: whole, type, kind: 'service' };
    for (const port of ports) yield { name: `${port}.${whole}`, type: 'SRV', kind: 'port' };
    yield { name: `${namespace}.svc.${zone}`, type: 'A', kind: 'zone' };
    yield { name: `${ABSENT}.${whole}`, type: 'A', kind: 'absent' };
    yield { name: `${ABSENT}.${namespace}.svc.${zone}`, type: 'A', kind: 'absent' };
  }
  yield { name: `${ABSENT}.${zone}`, type: 'A', kind: 'absent' };
  yield { name: `${ABSENT}.${ABSENT}.svc.${zone}`, type: 'A', kind: 'absent' };
  for (const { service, cluster, host, type } of endpoints) {
    if (!headless.has(service)) continue;
    const [namespace = '', name = ''] = service.split('/');
    const above = `${cluster}.${name}.${namespace}.svc.${zone}`;
    yield { name: `${host}.${above}`, type, kind: 'endpoint' };
    // It exists without records, and is no answer.
    yield { name: above, type, kind: 'absent' };
  }
}
