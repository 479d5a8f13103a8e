import { createApiServer, type Manifest } from '@kube-dns/apiserver';

/** The other side of an API server that runs in its own process. */
export interface ApiServerMethods {
  /** Serves a cluster of so many services, and one headless one with so many pods; returns its URL. */
  start(services: number, pods: number): Promise<string>;
}

const NAMESPACE = 'default';
const ENDPOINTS_PER_SLICE = 100;

/** The cluster's n-th service, `web-<n>` in the namespace `default`. */
export function serviceName(index: number): string {
  return `web-${index}`;
}

/** The headless service, in the same namespace. */
export const HEADLESS_SERVICE = 'pods';

function service(name: string, clusterIP?: string): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: NAMESPACE },
    ...{
      spec: {
        type: 'ClusterIP',
        ports: [{ name: 'http', protocol: 'TCP', port: 80 }],
        selector: { app: name },
        ...(clusterIP !== undefined && { clusterIP }),
      },
    },
  };
}

function slice(part: number, pods: number): Manifest {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `${HEADLESS_SERVICE}-${part}`,
      namespace: NAMESPACE,
      labels: { 'kubernetes.io/service-name': HEADLESS_SERVICE },
    },
    ...{
      addressType: 'IPv4',
      ports: [{ name: 'http', protocol: 'TCP', port: 80 }],
      endpoints: Array.from({ length: pods }, (_, i) => ({
        addresses: [`10.128.${part}.${i + 1}`],
        conditions: { ready: true, serving: true, terminating: false },
      })),
    },
  };
}

/** A small cluster behind a real API server. */
export class ApiServerProgram implements ApiServerMethods {
  async start(services: number, pods: number): Promise<string> {
    const { url } = await createApiServer({
      seed: (objects) => {
        for (let i = 0; i < services; i++) objects.create(service(serviceName(i)));
        objects.create(service(HEADLESS_SERVICE, 'None'));
        for (let first = 0; first < pods; first += ENDPOINTS_PER_SLICE) {
          const part = first / ENDPOINTS_PER_SLICE;
          objects.create(slice(part, Math.min(ENDPOINTS_PER_SLICE, pods - first)));
        }
      },
    });
    return url;
  }
}
