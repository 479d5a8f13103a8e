import { beforeEach, describe, expect, it } from '@jest/globals';
import { createObjects } from '../../test/cluster.js';
import type { ObjectAccess } from '../object-access.js';
import type { Manifest } from '../object.js';
import type { EndpointSlice } from '../resources/endpoints.js';

let objects: ObjectAccess;

beforeEach(() => {
  objects = createObjects();
});

function service(spec: object = {}): Manifest {
  const metadata = { name: 'db' };
  return { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports: [{ port: 1 }], ...spec } };
}

function endpoints(subsets: object[], metadata: object = {}): Manifest {
  return { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'db', ...metadata }, subsets };
}

function mirrored(): EndpointSlice[] {
  return objects.list('EndpointSlice').filter(({ metadata }) => metadata.name.startsWith('db-'));
}

const ONE = [{ addresses: [{ ip: '10.1.0.1', hostname: 'a' }], ports: [{ port: 5432 }] }];

describe('EndpointsMirror', () => {
  it('mirrors Endpoints of a service without selector', () => {
    objects.create(service());
    objects.create(endpoints(ONE, { labels: { team: 'x' } }));
    expect(mirrored()).toMatchObject([
      {
        metadata: {
          labels: {
            team: 'x',
            'kubernetes.io/service-name': 'db',
            'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
          },
          ownerReferences: [{ kind: 'Endpoints', name: 'db' }],
        },
        addressType: 'IPv4',
        endpoints: [{ addresses: ['10.1.0.1'], hostname: 'a', conditions: { ready: true } }],
        ports: [{ port: 5432, protocol: 'TCP' }],
      },
    ]);
  });

  it('creates a slice per family and marks endpoints that are not ready', () => {
    objects.create(
      endpoints([{ addresses: [{ ip: 'fd00::1' }], notReadyAddresses: [{ ip: '10.1.0.2' }] }]),
    );
    expect(mirrored()).toEqual([]);
    objects.create(service());
    const found = mirrored().map(({ addressType, endpoints: [first] }) => [
      addressType,
      first?.addresses[0],
      first?.conditions?.ready,
    ]);
    expect(found.sort()).toEqual([
      ['IPv4', '10.1.0.2', false],
      ['IPv6', 'fd00::1', true],
    ]);
  });

  it('follows changes in the same slice', () => {
    objects.create(service());
    objects.create(endpoints(ONE));
    const [before] = mirrored();
    objects.put(endpoints([{ addresses: [{ ip: '10.1.0.9' }], ports: [{ port: 5432 }] }]));
    const [after, ...rest] = mirrored();
    expect(rest).toEqual([]);
    expect(after?.metadata.name).toBe(before?.metadata.name);
    expect(after?.endpoints[0]?.addresses).toEqual(['10.1.0.9']);
  });

  it('removes the slices with the Endpoints, and with the service', () => {
    objects.create(service());
    objects.create(endpoints(ONE));
    objects.delete('Endpoints', 'default', 'db');
    expect(mirrored()).toEqual([]);
    objects.create(endpoints(ONE));
    objects.delete('Service', 'default', 'db');
    expect(mirrored()).toEqual([]);
  });

  it('creates a deleted slice again', () => {
    objects.create(service());
    objects.create(endpoints(ONE));
    objects.delete('EndpointSlice', 'default', mirrored()[0]!.metadata.name);
    expect(mirrored()).toHaveLength(1);
  });

  it('does not mirror Endpoints of services with a selector or with the skip label', () => {
    objects.create(service({ selector: { app: 'db' } }));
    objects.create(endpoints(ONE));
    expect(mirrored()).toEqual([]);
    objects.put(service());
    expect(mirrored()).toHaveLength(1);
    const labels = { 'endpointslice.kubernetes.io/skip-mirror': 'true' };
    objects.put(endpoints(ONE, { labels }));
    expect(mirrored()).toEqual([]);
  });
});
