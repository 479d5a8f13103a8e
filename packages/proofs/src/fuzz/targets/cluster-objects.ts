const PORTS = [
  { name: 'http', port: 80, protocol: 'TCP' },
  { name: 'dns', port: 53, protocol: 'UDP' },
];

function service(name: string, spec: object): object {
  return {
    metadata: { name, namespace: 'default', resourceVersion: '7' },
    spec: { ports: PORTS, ...spec },
  };
}

/** A few objects of a cluster, as the API has them: each kind of service, and endpoints. */
export const CLUSTER_OBJECTS = {
  services: [
    service('web', {
      type: 'ClusterIP',
      clusterIP: '10.0.0.1',
      clusterIPs: ['10.0.0.1', 'fd00::1'],
    }),
    service('db', { clusterIP: 'None', clusterIPs: ['None'] }),
    service('out', { type: 'ExternalName', externalName: 'n0.ok' }),
    service('loop', { type: 'ExternalName', externalName: 'loop.default.svc.cluster.local' }),
    service('inside', { type: 'ExternalName', externalName: 'web.default.svc.cluster.local' }),
  ],
  endpointSlices: [
    {
      metadata: {
        name: 'db-1',
        namespace: 'default',
        resourceVersion: '8',
        labels: { 'kubernetes.io/service-name': 'db' },
      },
      addressType: 'IPv4',
      endpoints: [
        { addresses: ['10.1.0.1'], hostname: 'db-0', conditions: { ready: true } },
        { addresses: ['10.1.0.2'], targetRef: { kind: 'Pod', name: 'db-1' } },
        { addresses: ['10.1.0.3'], conditions: { ready: false } },
      ],
      ports: PORTS,
    },
  ],
  endpoints: [
    {
      metadata: { name: 'old', namespace: 'default', resourceVersion: '9' },
      subsets: [{ addresses: [{ ip: '10.1.0.9', hostname: 'old-0' }], ports: PORTS }],
    },
  ],
  namespaces: [{ metadata: { name: 'default', resourceVersion: '3' } }],
};
