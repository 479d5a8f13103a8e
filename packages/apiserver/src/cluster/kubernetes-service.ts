import { keyOf, objectKey, type Manifest } from '../object.js';
import { SERVICE_NAME_LABEL } from '../resources/endpoint-slice.js';
import { kindNamed, type KindName } from '../resources/resource-table.js';
import type { Store } from '../store/store.js';
import type { Registry } from './registry.js';
import { SKIP_MIRROR_LABEL } from './endpoints-mirror.js';

const NAMESPACE = 'default';
const NAME = 'kubernetes';
const LABELS = { component: 'apiserver', provider: 'kubernetes' };

/** Source: pkg/controlplane/controller/kubernetesservice. */
function kubernetesService(clusterIp: string): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: NAME, namespace: NAMESPACE, labels: LABELS },
    spec: {
      clusterIP: clusterIp,
      ports: [{ name: 'https', port: 443, targetPort: 6443, protocol: 'TCP' }],
    },
  };
}

function kubernetesEndpoints(address: string, port: number): Manifest[] {
  const ports = [{ name: 'https', port, protocol: 'TCP' }];
  return [
    {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: NAME, namespace: NAMESPACE, labels: { [SKIP_MIRROR_LABEL]: 'true' } },
      subsets: [{ addresses: [{ ip: address }], ports }],
    },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: NAME, namespace: NAMESPACE, labels: { [SERVICE_NAME_LABEL]: NAME } },
      addressType: address.includes(':') ? 'IPv6' : 'IPv4',
      endpoints: [{ addresses: [address], conditions: { ready: true } }],
      ports,
    },
  ];
}

/** The addresses of the API server itself. */
export interface ServerAddress {
  readonly clusterIp: string;
  readonly address: string;
  readonly port: number;
}

/**
 * Creates the service `kubernetes` in `default` with its endpoints where they are missing, and creates
 * again each of them that is deleted.
 */
export function maintainKubernetesService(
  store: Store,
  registry: Registry,
  { clusterIp, address, port }: ServerAddress,
): void {
  for (const manifest of [kubernetesService(clusterIp), ...kubernetesEndpoints(address, port)]) {
    const kind = kindNamed(manifest.kind as KindName);
    // Trusted, because the server may have a loopback address.
    const create = () => registry.create(kind, NAMESPACE, manifest, { isTrusted: true });
    if (!store.get(kind.plural, objectKey(NAMESPACE, NAME))) create();
    store.subscribe(kind.plural, ({ type, object }) => {
      if (type === 'DELETED' && keyOf(object) === objectKey(NAMESPACE, NAME)) create();
    });
  }
}
