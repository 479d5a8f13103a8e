import { describe, expect, it } from '@jest/globals';
import { createObjects, webService } from '../../test/cluster.js';
import type { Manifest } from '../object.js';

describe('metadata', () => {
  it.each([
    [{ labels: { 'a b': 'x' } }, 'metadata.labels: Invalid value: "a b"'],
    [{ labels: { a: '-x' } }, 'metadata.labels: Invalid value: "-x"'],
    [{ labels: { 'A.com/b': 'x' } }, 'metadata.labels: Invalid value'],
    [{ annotations: { 'a//b': 'x' } }, 'metadata.annotations: Invalid value'],
    [{ annotations: { a: 'x'.repeat(300_000) } }, 'metadata.annotations: Too long'],
    [{ finalizers: ['a b'] }, 'metadata.finalizers: Invalid value'],
    [
      { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'x', uid: '' }] },
      'metadata.ownerReferences[0].uid: Required value',
    ],
  ])('%j is refused', (metadata, message) => {
    expect(() => createObjects().create(webService({}, metadata))).toThrow(message);
  });

  it('may have a prefix for a generated name', () => {
    const { metadata } = createObjects().create(webService({}, { name: '', generateName: 'web-' }));
    expect(metadata.name).toMatch(/^web-[a-z0-9]{5}$/);
  });

  it('preserves the fields that a client cannot change', () => {
    const objects = createObjects();
    const before = objects.create(webService()).metadata;
    const changed = webService(
      {},
      { labels: { a: 'b' }, creationTimestamp: '2000-01-01T00:00:00Z' },
    );
    const after = objects.put(changed).metadata;
    expect(after).toMatchObject({ uid: before.uid, creationTimestamp: before.creationTimestamp });
    expect(after.resourceVersion).not.toBe(before.resourceVersion);
  });

  it('gets no new version from an update that changes nothing', () => {
    const objects = createObjects();
    const before = objects.create(webService());
    expect(objects.put(webService())).toEqual(before);
  });

  it('waits for finalizers before the object is removed', () => {
    const objects = createObjects();
    objects.create(webService({}, { finalizers: ['example.com/hold'] }));
    expect(objects.delete('Service', 'default', 'web').metadata.deletionTimestamp).toBeDefined();
    expect(objects.get('Service', 'default', 'web')).toBeDefined();
    objects.put(webService());
    expect(objects.get('Service', 'default', 'web')).toBeUndefined();
  });
});

describe('other kinds', () => {
  const slice = (more: object): Manifest => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'web-1' },
    ...more,
  });
  const endpoints = (subset: object): Manifest => ({
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'web' },
    subsets: [subset],
  });
  const pod = (spec: object): Manifest => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web' },
    spec,
  });
  const configMap = (more: object): Manifest => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'web' },
    ...more,
  });
  const withAddress = (address: string, addressType = 'IPv4') =>
    slice({ addressType, endpoints: [{ addresses: [address] }] });
  const many = <T>(count: number, item: T) => Array.from({ length: count }, () => item);

  it.each<[Manifest, string]>([
    [slice({}), 'addressType: Required value'],
    [slice({ addressType: 'IPv5' }), 'addressType: Unsupported value'],
    [withAddress('fd00::1'), 'endpoints[0].addresses[0]: Invalid value: "fd00::1"'],
    [withAddress('10.0.0.1', 'IPv6'), 'must be a valid IPv6 address'],
    [withAddress('127.0.0.1'), 'loopback'],
    [withAddress('a_b', 'FQDN'), 'endpoints[0].addresses[0]: Invalid value'],
    [slice({ addressType: 'IPv4', endpoints: [{}] }), 'endpoints[0].addresses: Required value'],
    [
      slice({ addressType: 'IPv4', endpoints: [{ addresses: many(101, '10.0.0.1') }] }),
      'endpoints[0].addresses: Too many: 101',
    ],
    [
      slice({ addressType: 'IPv4', endpoints: many(1001, { addresses: ['10.0.0.1'] }) }),
      'endpoints: Too many: 1001',
    ],
    [
      slice({ addressType: 'IPv4', endpoints: [{ addresses: ['10.0.0.1'], hostname: 'A' }] }),
      'endpoints[0].hostname: Invalid value',
    ],
    [slice({ addressType: 'IPv4', ports: [{ port: 1 }, { port: 2 }] }), 'ports[1].name: Duplicate'],
    [slice({ addressType: 'IPv4', ports: [{ port: 70000 }] }), 'ports[0].port: Invalid value'],
    [endpoints({}), 'subsets[0]: Required value'],
    [endpoints({ addresses: [{ ip: 'x' }] }), 'subsets[0].addresses[0].ip: Invalid value'],
    [endpoints({ addresses: [{ ip: '127.0.0.1' }] }), 'loopback'],
    [
      endpoints({ addresses: [{ ip: '10.0.0.1' }], ports: [{ name: 'x' }] }),
      'subsets[0].ports[0].port: Required value',
    ],
    [
      endpoints({ addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 1 }, { port: 2, name: 'b' }] }),
      'subsets[0].ports[0].name: Required value',
    ],
    [pod({}), 'spec.containers: Required value'],
    [pod({ containers: [{}] }), 'spec.containers[0].name: Required value'],
    [pod({ containers: many(2, { name: 'a', image: 'b' }) }), 'spec.containers[1].name: Duplicate'],
    [pod({ containers: [{ name: 'a', image: 'b' }], hostname: 'A' }), 'spec.hostname: Invalid'],
    [configMap({ data: { 'a/b': '' } }), 'data[a/b]: Invalid value'],
    [configMap({ data: { a: '' }, binaryData: { a: '' } }), 'data[a]: Duplicate value'],
    [configMap({ data: { a: 'x'.repeat(1_100_000) } }), 'data: Too long'],
    [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'a.b' } }, 'metadata.name: Invalid'],
  ])('refuse %#', (manifest, message) => {
    expect(() => createObjects().create(manifest)).toThrow(message);
  });

  it('have defaults for the ports of a slice', () => {
    const manifest = slice({ addressType: 'IPv4', ports: [{ port: 80 }] });
    expect(createObjects().create(manifest)).toMatchObject({
      endpoints: [],
      ports: [{ name: '', port: 80, protocol: 'TCP' }],
      metadata: { generation: 1 },
    });
  });

  it('count the generations of a slice and do not change its address type', () => {
    const objects = createObjects();
    objects.create(withAddress('10.0.0.1'));
    expect(objects.put(withAddress('10.0.0.2')).metadata.generation).toBe(2);
    expect(() => objects.put(withAddress('fd00::1', 'IPv6'))).toThrow(/addressType: .*immutable/);
  });

  it('do not change the data of an immutable ConfigMap', () => {
    const objects = createObjects();
    objects.create(configMap({ data: { a: '1' }, immutable: true }));
    expect(() => objects.put(configMap({ data: { a: '2' }, immutable: true }))).toThrow(
      /data: Forb/,
    );
  });

  it('mark a pod as pending', () => {
    const manifest = pod({ containers: [{ name: 'a', image: 'b' }] });
    expect(createObjects().create(manifest)).toMatchObject({ status: { phase: 'Pending' } });
  });
});

describe('namespaces', () => {
  const namespace = (name: string): Manifest => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name },
  });

  it('exist from the start, and some cannot be deleted', () => {
    const objects = createObjects();
    const names = objects.list('Namespace').map(({ metadata }) => metadata.name);
    expect(names).toEqual(['default', 'kube-node-lease', 'kube-public', 'kube-system']);
    expect(() => objects.delete('Namespace', '', 'default')).toThrow(/may not be deleted/);
  });

  it('must exist before the objects in them', () => {
    const message = 'namespaces "shop" not found';
    expect(() => createObjects().create(webService({}, { namespace: 'shop' }))).toThrow(message);
  });

  it('have their name as a label', () => {
    const { metadata } = createObjects().create(namespace('shop'));
    expect(metadata.labels).toEqual({ 'kubernetes.io/metadata.name': 'shop' });
  });

  it('are deleted with all objects in them', () => {
    const objects = createObjects();
    objects.create(namespace('shop'));
    objects.create(webService({ clusterIP: '10.96.0.9' }, { namespace: 'shop' }));
    objects.delete('Namespace', '', 'shop');
    expect(objects.list('Service', 'shop')).toEqual([]);
    expect(() => objects.create(webService({ clusterIP: '10.96.0.9' }))).not.toThrow();
  });
});

describe('the service kubernetes', () => {
  it('has the first address and endpoints that point at the server', () => {
    const objects = createObjects();
    expect(objects.get('Service', 'default', 'kubernetes')?.spec).toMatchObject({
      clusterIP: '10.96.0.1',
      ports: [{ name: 'https', port: 443, protocol: 'TCP' }],
    });
    expect(objects.get('EndpointSlice', 'default', 'kubernetes')).toMatchObject({
      metadata: { labels: { 'kubernetes.io/service-name': 'kubernetes' } },
      endpoints: [{ addresses: ['127.0.0.1'] }],
      ports: [{ name: 'https', port: 6443 }],
    });
    expect(objects.list('EndpointSlice')).toHaveLength(1);
  });

  it('is created again when it is deleted, and so are its endpoints', () => {
    const objects = createObjects();
    const before = objects.get('Service', 'default', 'kubernetes')!;
    for (const kind of ['Service', 'Endpoints', 'EndpointSlice'] as const) {
      objects.delete(kind, 'default', 'kubernetes');
      expect(objects.get(kind, 'default', 'kubernetes')).toBeDefined();
    }
    const after = objects.get('Service', 'default', 'kubernetes')!;
    expect(after.spec.clusterIP).toBe('10.96.0.1');
    expect(after.metadata.uid).not.toBe(before.metadata.uid);
  });
});
