import { describe, expect, it } from '@jest/globals';
import { createObjects, webService } from '../../test/cluster.js';
import type { ObjectAccess } from '../object-access.js';
import type { Service, ServiceSpec } from './service.js';

function createSpec(objects: ObjectAccess, spec: object): ServiceSpec {
  return (objects.create(webService(spec)) as Service).spec;
}

describe('services', () => {
  it('get defaults for missing fields', () => {
    expect(createObjects().create(webService())).toEqual({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: 'web',
        namespace: 'default',
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown,
        resourceVersion: expect.stringMatching(/^\d+$/) as unknown,
        creationTimestamp: '2026-01-02T03:04:05Z',
      },
      spec: {
        type: 'ClusterIP',
        ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }],
        sessionAffinity: 'None',
        internalTrafficPolicy: 'Cluster',
        clusterIP: '10.96.1.1',
        clusterIPs: ['10.96.1.1'],
        ipFamilies: ['IPv4'],
        ipFamilyPolicy: 'SingleStack',
      },
      status: { loadBalancer: {} },
    });
  });

  it.each<[string, object, Partial<ServiceSpec>]>([
    [
      'both families when they are preferred',
      { ipFamilyPolicy: 'PreferDualStack' },
      { clusterIPs: ['10.96.1.1', 'fd00:10:96::101'], ipFamilies: ['IPv4', 'IPv6'] },
    ],
    [
      'both families in the order asked for',
      { ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv6'] },
      { clusterIP: 'fd00:10:96::101', clusterIPs: ['fd00:10:96::101', '10.96.1.1'] },
    ],
    [
      'a required policy when two families are named',
      { ipFamilies: ['IPv4', 'IPv6'] },
      { ipFamilyPolicy: 'RequireDualStack', clusterIPs: ['10.96.1.1', 'fd00:10:96::101'] },
    ],
    [
      'the family of the address that is asked for',
      { clusterIP: 'fd00:10:96::7' },
      { clusterIPs: ['fd00:10:96::7'], ipFamilies: ['IPv6'], ipFamilyPolicy: 'SingleStack' },
    ],
    [
      'no address when they are headless',
      { clusterIP: 'None', selector: { app: 'x' } },
      { clusterIP: 'None', clusterIPs: ['None'], ipFamilies: ['IPv4'] },
    ],
    [
      'both families when they are headless without selector',
      { clusterIP: 'None' },
      { ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv4', 'IPv6'] },
    ],
  ])('get %s', (_title, spec, expected) => {
    expect(createSpec(createObjects(), spec)).toMatchObject(expected);
  });

  it('get no addresses or families as ExternalName', () => {
    const spec = { type: 'ExternalName', externalName: 'example.com', ports: [] };
    expect(createSpec(createObjects(), spec)).toEqual({
      type: 'ExternalName',
      externalName: 'example.com',
      ports: [],
      sessionAffinity: 'None',
    });
  });

  it('get node ports when their type needs them, and lose them with the type', () => {
    const objects = createObjects();
    expect(createSpec(objects, { type: 'NodePort' }).ports?.[0]?.nodePort).toBe(30_000);
    const plain = objects.put(
      webService({ type: 'ClusterIP', ports: [{ port: 80, nodePort: 30_000 }] }),
    );
    expect((plain as Service).spec.ports?.[0]).not.toHaveProperty('nodePort');
  });

  it('preserve address and node port when an update omits them', () => {
    const objects = createObjects();
    const before = createSpec(objects, { type: 'NodePort', ipFamilyPolicy: 'PreferDualStack' });
    const after = objects.put(webService({ type: 'NodePort', selector: { a: 'b' } })) as Service;
    expect(after.spec).toEqual({ ...before, selector: { a: 'b' } });
  });

  it('get a second address with a second family and release it', () => {
    const objects = createObjects();
    objects.create(webService());
    const both = objects.put(webService({ ipFamilyPolicy: 'PreferDualStack' })) as Service;
    expect(both.spec.clusterIPs).toEqual(['10.96.1.1', 'fd00:10:96::101']);
    const one = objects.put(webService({ ipFamilyPolicy: 'SingleStack' })) as Service;
    expect(one.spec).toMatchObject({ clusterIPs: ['10.96.1.1'], ipFamilies: ['IPv4'] });
    const other = webService({ clusterIP: 'fd00:10:96::101' }, { name: 'other' });
    expect(() => objects.create(other)).not.toThrow();
  });

  it('release their address when they become ExternalName and get one when they no longer are', () => {
    const objects = createObjects();
    objects.create(webService({ clusterIP: '10.96.0.9' }));
    const external = objects.put(
      webService({ type: 'ExternalName', externalName: 'example.com', clusterIP: '10.96.0.9' }),
    ) as Service;
    expect(external.spec).not.toHaveProperty('clusterIP');
    expect(external.spec).not.toHaveProperty('ipFamilies');
    objects.create(webService({ clusterIP: '10.96.0.9' }, { name: 'heir' }));
    const again = objects.put(webService()) as Service;
    expect(again.spec.clusterIP).toBe('10.96.1.1');
  });

  it('release their address when they are deleted', () => {
    const objects = createObjects();
    objects.create(webService({ clusterIP: '10.96.0.9' }));
    objects.delete('Service', 'default', 'web');
    expect(createSpec(objects, { clusterIP: '10.96.0.9' }).clusterIP).toBe('10.96.0.9');
  });

  it('leave nothing allocated when they are refused', () => {
    const objects = createObjects();
    const wrong = { clusterIP: '10.96.0.9', type: 'NodePort', ports: [{ port: 80, nodePort: 5 }] };
    expect(() => objects.create(webService(wrong))).toThrow(/not in the valid range/);
    expect(createSpec(objects, { clusterIP: '10.96.0.9' }).clusterIP).toBe('10.96.0.9');
  });

  it('are refused when the range is full', () => {
    const objects = createObjects('10.0.0.0/30');
    objects.create(webService());
    expect(() => objects.create(webService({}, { name: 'b' }))).toThrow(/range is full/);
  });

  const refused: [spec: object, message: string][] = [
    [{ ports: [] }, 'spec.ports: Required value'],
    [{ ports: [{ port: 0 }] }, 'spec.ports[0].port: Invalid value: 0'],
    [{ ports: [{ port: 65536 }] }, 'spec.ports[0].port: Invalid value: 65536'],
    [
      { ports: [{ port: 1, protocol: 'HTTP' }] },
      'spec.ports[0].protocol: Unsupported value: "HTTP"',
    ],
    [{ ports: [{ port: 1, name: 'A' }] }, 'spec.ports[0].name: Invalid value: "A"'],
    [{ ports: [{ port: 1, targetPort: 'web--x' }] }, 'spec.ports[0].targetPort: Invalid value'],
    [{ ports: [{ port: 1 }, { port: 2, name: 'b' }] }, 'spec.ports[0].name: Required value'],
    [
      {
        ports: [
          { port: 1, name: 'b' },
          { port: 2, name: 'b' },
        ],
      },
      'spec.ports[1].name: Duplicate value: "b"',
    ],
    [
      {
        ports: [
          { port: 1, name: 'a' },
          { port: 1, name: 'b' },
        ],
      },
      'spec.ports[1]: Duplicate value',
    ],
    [{ ports: [{ port: 1, nodePort: 30000 }] }, 'spec.ports[0].nodePort: Forbidden'],
    [{ type: 'Magic' }, 'spec.type: Unsupported value: "Magic"'],
    [{ sessionAffinity: 'x' }, 'spec.sessionAffinity: Unsupported value'],
    [{ externalIPs: ['x'] }, 'spec.externalIPs[0]: Invalid value'],
    [{ selector: { 'a b': 'c' } }, 'spec.selector: Invalid value'],
    [{ clusterIP: 'x' }, 'spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address'],
    [{ clusterIP: '10.97.0.1' }, 'provided IP is not in the valid range'],
    [{ clusterIP: '10.96.0.1' }, 'provided IP is already allocated'],
    [{ clusterIP: 'fd00:10:96::1', ipFamilies: ['IPv4'] }, 'spec.clusterIPs[0]: Invalid value'],
    [{ clusterIPs: ['10.96.0.9'] }, 'spec.clusterIPs: Invalid value'],
    [{ clusterIP: '10.96.0.9', clusterIPs: ['10.96.0.8'] }, 'must match clusterIP'],
    [{ clusterIP: 'None', type: 'NodePort' }, "may not be 'None' for NodePort services"],
    [{ ipFamilies: ['IPv5'] }, 'spec.ipFamilies[0]: Unsupported value'],
    [{ ipFamilies: ['IPv4', 'IPv4'] }, 'spec.ipFamilies[1]: Duplicate value'],
    [
      { ipFamilyPolicy: 'SingleStack', ipFamilies: ['IPv4', 'IPv6'] },
      'spec.ipFamilyPolicy: Invalid',
    ],
    [{ ipFamilyPolicy: 'x' }, 'spec.ipFamilyPolicy: Unsupported value'],
    [{ type: 'ExternalName' }, 'spec.externalName: Required value'],
    [{ type: 'ExternalName', externalName: 'a_b' }, 'spec.externalName: Invalid value'],
    [
      { type: 'ExternalName', externalName: 'a.b', clusterIP: '10.96.0.9' },
      'spec.clusterIP: Forbidden',
    ],
  ];

  it.each(refused)('are refused with %j', (spec, message) => {
    const objects = createObjects();
    expect(() => objects.create(webService(spec))).toThrow(message);
  });

  it('preserve the address that they have', () => {
    const objects = createObjects();
    objects.create(webService());
    const message = 'spec.clusterIPs[0]: Invalid value: "10.96.0.9": may not change once set';
    expect(() => objects.put(webService({ clusterIP: '10.96.0.9' }))).toThrow(message);
    expect(() => objects.put(webService({ ipFamilies: ['IPv6'] }))).toThrow(/spec.ipFamilies\[0\]/);
  });

  it.each(['web', '1web', 'a'.repeat(63)])('may be named %s', (name) => {
    expect(createObjects().create(webService({}, { name })).metadata.name).toBe(name);
  });

  it.each(['', 'Web', 'a.b', '-a', 'a-', 'a'.repeat(64)])('may not be named "%s"', (name) => {
    expect(() => createObjects().create(webService({}, { name }))).toThrow(/metadata.name: /);
  });
});
