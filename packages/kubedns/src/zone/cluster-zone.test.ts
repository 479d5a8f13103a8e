import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { encodeKey, encodeName, readUint32 } from '@kube-dns/wire';
import type { ApiObject } from '../watch/store.js';
import { Cluster } from '../../test/support/cluster.js';
import {
  HEADLESS,
  namespaceObject,
  serviceObject,
  sliceObject,
} from '../../test/support/objects.js';
import { answerFrom, textsAt } from '../../test/support/record-text.js';
import { ReverseAnswerer } from '../answer/reverse-answerer.js';

let now: number;
let cluster: Cluster;
beforeEach(() => {
  now = 1_000_000;
  cluster = new Cluster('hash', () => now);
});

const serial = () => readUint32(cluster.zone.soaRdata, cluster.zone.soaRdata.length - 20);

describe('ClusterZone', () => {
  it('has the time of its last change for a serial', () => {
    expect(serial()).toBe(1_000);
    now += 5_000;
    expect(serial()).toBe(1_000);
    cluster.services.put(serviceObject());
    expect(serial()).toBe(1_005);
    now += 5_000;
    cluster.namespaces.put(namespaceObject('other'));
    expect(serial()).toBe(1_010);
  });

  it('does not count a namespace that exists already by its services', () => {
    cluster.services.put(serviceObject());
    now += 5_000;
    cluster.namespaces.put(namespaceObject('default'));
    cluster.namespaces.delete(namespaceObject('default'));
    expect(serial()).toBe(1_000);
  });

  it('does not count events that change no answer', () => {
    const { services, endpointSlices, namespaces } = cluster;
    const endpoints = ['10.0.1.1', { addresses: ['10.0.1.2'], hostname: 'a' }];
    const ports = [
      { name: 'http', port: 80 },
      { name: 'dns', port: 53 },
    ];
    const put = (version: number, annotation: string) => {
      const metadata = { annotations: { note: annotation }, labels: { note: annotation } };
      const noted = <T extends ApiObject>(object: T) => ({
        ...object,
        metadata: { ...metadata, ...object.metadata, resourceVersion: String(version) },
      });
      const isOdd = version % 2 === 1;
      const turned = <T>(list: T[]) => (isOdd ? list.toReversed() : list);
      namespaces.put(noted(namespaceObject('default')));
      services.put(noted(serviceObject({ name: 'one', ports: turned(ports) })));
      services.put(noted(serviceObject({ name: 'db', ...HEADLESS })));
      services.put(noted(serviceObject({ name: 'ext', externalName: 'db.example.com' })));
      // The endpoints of a service with an address are in no answer.
      const served = ['10.0.2.1', '10.0.2.2'].slice(version % 2);
      endpointSlices.put(noted(sliceObject({ name: 'one', service: 'one', endpoints: served })));
      const fields = { name: 'db', service: 'db', ports: turned(ports) };
      const slice = sliceObject({ ...fields, endpoints: turned(endpoints) });
      for (const each of slice.endpoints ?? []) each.nodeName = `node-${version}`;
      endpointSlices.put(noted(slice));
    };
    put(1, 'a');
    const before = serial();
    now += 5_000;
    put(2, 'b');
    put(3, 'c');
    expect(serial()).toBe(before);
    endpointSlices.delete(sliceObject({ name: 'one', service: 'one' }));
    expect(serial()).toBe(before);
    const fields = { name: 'db', service: 'db', endpoints: ['10.0.1.1', '10.0.1.2'], ports };
    endpointSlices.put(sliceObject({ ...fields, version: 4 }));
    expect(serial()).toBe(before + 5);
  });

  describe('of an endpoint that is in two slices of a headless service', () => {
    const HOST = { addresses: ['10.0.1.2'], hostname: 'a' };
    const put = (name: string, ...endpoints: (string | typeof HOST)[]) => {
      now += 1_000;
      cluster.endpointSlices.put(sliceObject({ name, endpoints }));
      return serial();
    };

    beforeEach(() => cluster.services.put(serviceObject(HEADLESS)));

    it('counts the first, and not that it moves from one to the other', () => {
      const first = put('one', '10.0.1.1', HOST, '10.0.1.3');
      expect(first).toBe(1_001);
      expect(put('two', HOST)).toBe(first);
      expect(put('one', '10.0.1.3', '10.0.1.1')).toBe(first);
      expect(put('two', '10.0.1.3', HOST)).toBe(first);
      expect(put('one', '10.0.1.1')).toBe(first);
      expect(put('empty')).toBe(first);
    });

    it('counts the last, and one with another hostname', () => {
      put('one', '10.0.1.1', HOST);
      put('two', HOST);
      now += 1_000;
      cluster.endpointSlices.delete(sliceObject({ name: 'two' }));
      expect(serial()).toBe(1_001);
      expect(put('two', '10.0.1.2')).toBe(1_004);
      expect(put('one', '10.0.1.1')).toBe(1_005);
      expect(put('two')).toBe(1_006);
    });

    it('counts one with other ports', () => {
      put('one', '10.0.1.1');
      now += 1_000;
      const ports = [{ name: 'http', port: 80 }];
      cluster.endpointSlices.put(sliceObject({ name: 'two', endpoints: ['10.0.1.1'], ports }));
      expect(serial()).toBe(1_002);
    });
  });

  it('counts the first and the last endpoint of a service with an address for its federated name', () => {
    cluster.zone.hasFederations = true;
    cluster.services.put(serviceObject());
    const served = (...endpoints: string[]) => {
      now += 1_000;
      cluster.endpointSlices.put(sliceObject({ endpoints }));
      return serial();
    };
    expect(served('10.0.1.1')).toBe(1_001);
    expect(served('10.0.1.1', '10.0.1.2')).toBe(1_001);
    expect(served()).toBe(1_003);
  });

  it('never lets the serial fall, whatever the clock does', () => {
    now = 0;
    cluster.services.put(serviceObject());
    expect(serial()).toBe(1_000);
  });

  it('uses the number of a service that is gone for the next', () => {
    for (let i = 0; i < 5; i++) {
      const object = serviceObject({ name: `s${i}` });
      cluster.services.put(object);
      cluster.services.delete(object);
    }
    cluster.services.put(serviceObject({ name: 'last' }));
    expect(cluster.zone.namespaces.get('default')?.services.get('last')?.number).toBe(0);
  });

  describe('of a long domain', () => {
    const domain = `${'d'.repeat(60)}.${'e'.repeat(60)}.${'f'.repeat(60)}.`;
    const long = { namespace: 'n'.repeat(60), name: 's'.repeat(60) };
    beforeEach(() => {
      cluster = new Cluster('hash', () => now, domain);
    });

    it('refuses a name that is too long, and stores nothing of it', () => {
      cluster.services.put(serviceObject(long));
      expect(cluster.rejected).toEqual([expect.stringContaining('longer than 255 bytes')]);
      expect(cluster.zone.namespaces.size).toBe(0);
      cluster.services.delete(serviceObject(long));
      expect(cluster.rejected).toHaveLength(1);
      expect(cluster.zone.namespaces.size).toBe(0);
    });

    it('accepts the endpoints of such a service when they move to another', () => {
      const { namespace } = long;
      const slice = (service: string) =>
        sliceObject({ namespace, service, endpoints: ['10.0.0.1'] });
      cluster.services.put(serviceObject({ namespace, ...HEADLESS }));
      cluster.endpointSlices.put(slice(long.name));
      expect(cluster.zone.addresses.size).toBe(0);
      cluster.endpointSlices.put(slice('web'));
      expect(cluster.zone.addresses.size).toBe(1);
    });

    it('has a name of 255 bytes, and of no more, for a host', () => {
      // The generated label takes 17 bytes.
      for (const [length, records] of [
        [45, 1],
        [46, 0],
      ] as const) {
        const namespace = 'n'.repeat(length);
        cluster.services.put(serviceObject({ namespace, ...HEADLESS }));
        cluster.endpointSlices.put(sliceObject({ namespace, endpoints: ['10.0.0.1'] }));
        const name = `web.${namespace}.svc.${domain.slice(0, -1)}`;
        expect(encodeName(name)).toHaveLength(255 - 17 - 45 + length);
        expect(textsAt(cluster.zone, name)).toHaveLength(1 + records);
      }
    });

    it('has no additional addresses of a target whose name is too long', () => {
      const namespace = 'n'.repeat(50);
      const name = `web.${namespace}.svc.${domain.slice(0, -1)}`;
      cluster.services.put(serviceObject({ namespace, ...HEADLESS }));
      const endpoints = ['10.0.0.1', { addresses: ['10.0.0.2'], hostname: 'a' }];
      cluster.endpointSlices.put(sliceObject({ namespace, endpoints }));
      expect(answerFrom(cluster.zone, name, 'SRV')).toMatchObject({
        answers: [`${name} SRV 10 50 0 a.${name}`],
        additionals: [`a.${name} A 10.0.0.2`],
      });
    });

    it('has no name of an address that is too long', () => {
      const namespace = 'n'.repeat(50);
      cluster.services.put(serviceObject({ namespace, ...HEADLESS }));
      cluster.endpointSlices.put(sliceObject({ namespace, endpoints: ['10.0.0.1'] }));
      const ttls = { ttlSeconds: 30, negativeTtlSeconds: 5 };
      const options = { ...ttls, zone: cluster.zone, mode: 'all' } as const;
      const reverse = new ReverseAnswerer(options);
      const name = encodeKey('1.0.0.10.in-addr.arpa');
      expect(reverse.find(name, name.length)).toBe(false);
    });

    it('has an apex and a name server with as many characters as --domain may have', () => {
      const longest = Array.from({ length: 4 }, () => 'z'.repeat(59)).join('.');
      cluster = new Cluster('hash', () => now, `${longest}.z.`);
      expect(answerFrom(cluster.zone, `${longest}.z`, 'NS').answers).toEqual([
        `${longest}.z NS ns.dns.${longest}.z`,
      ]);
    });

    it('has no SRV record whose target name is too long, and answers NODATA without others', () => {
      const namespace = 'n'.repeat(50);
      cluster.services.put(serviceObject({ namespace, ...HEADLESS }));
      cluster.endpointSlices.put(sliceObject({ namespace, endpoints: ['10.0.0.1'] }));
      const name = `web.${namespace}.svc.${domain.slice(0, -1)}`;
      expect(textsAt(cluster.zone, name)).toEqual(['A 10.0.0.1']);
      expect(answerFrom(cluster.zone, name, 'SRV').authorities).toHaveLength(1);
    });
  });

  it.each(['n'.repeat(64), 'a.b'])(
    'leaves a namespace out whose name cannot be one: %s',
    (name) => {
      cluster.namespaces.put(namespaceObject(name));
      expect(cluster.zone.namespaces.size).toBe(0);
      expect(cluster.rejected).toHaveLength(1);
      cluster.namespaces.delete(namespaceObject(name));
    },
  );
});

describe('the lists of services', () => {
  const keys = ['one/a', 'one/b', 'two/a', 'two/b', 'two/c'];
  const kinds = ['absent', 'address', 'external'] as const;

  it('have the services that are there after any changes, those of type ExternalName first', () => {
    const change = fc.tuple(fc.constantFrom(...keys), fc.constantFrom(...kinds));
    const test = (changes: readonly [string, (typeof kinds)[number]][]) => {
      cluster = new Cluster();
      const expected = new Map<string, string>();
      for (const [key, kind] of changes) {
        const [namespace, name] = key.split('/') as [string, string];
        const fields = kind === 'external' ? { externalName: 'a.example' } : {};
        const object = serviceObject({ namespace, name, ...fields });
        if (kind === 'absent') cluster.services.delete(object);
        else cluster.services.put(object);
        expected.delete(key);
        if (kind !== 'absent') expected.set(key, kind);
      }
      const { allServices, namespaces } = cluster.zone;
      expect(allServices.map(({ key }) => key).sort()).toEqual([...expected.keys()].sort());
      for (const [namespace, { list }] of namespaces) {
        const own = [...expected].filter(([key]) => key.startsWith(namespace));
        const external = list.all.map(({ isExternalName }) => isExternalName);
        expect(list.all.map(({ key }) => key).sort()).toEqual(own.map(([key]) => key).sort());
        expect(external).toEqual(external.toSorted((left, right) => Number(right) - Number(left)));
        expect(list.externalNames).toBe(external.filter(Boolean).length);
      }
    };
    fc.assert(fc.property(fc.array(change), test));
  });
});

describe('the counts of records', () => {
  it('counts the records of each type', () => {
    const ports = [{ name: 'http', port: 80 }, { port: 81 }];
    const clusterIPs = ['10.0.0.1', 'fd00::1'];
    cluster.services.put(serviceObject({ name: 'own', clusterIPs, ports }));
    cluster.services.put(serviceObject({ name: 'ext', externalName: 'example.com' }));
    cluster.services.put(serviceObject({ name: 'lit', externalName: '192.0.2.1' }));
    cluster.services.put(serviceObject({ name: 'db', ...HEADLESS }));
    const endpoints = ['10.1.0.1', '10.1.0.2'];
    cluster.endpointSlices.put(sliceObject({ name: 'db-1', service: 'db', endpoints, ports }));
    cluster.endpointSlices.put(sliceObject({ name: 'own-1', service: 'own', endpoints, ports }));
    expect(cluster.zone.countRecords()).toEqual({ A: 4, AAAA: 1, CNAME: 1, SRV: 3, PTR: 4 });
  });

  it('are those of a new cluster with the same objects, after any changes', () => {
    const ports = fc.constantFrom([{ name: 'http', port: 80 }], [{ port: 80 }], []);
    const types = [
      HEADLESS,
      { clusterIPs: ['10.0.0.1'] },
      { clusterIPs: ['10.0.0.2', 'fd00::2'] },
      { externalName: 'a.example' },
      { externalName: '192.0.2.1' },
    ];
    const serviceChange = fc
      .record({ name: fc.constantFrom('one', 'two'), type: fc.constantFrom(...types), ports })
      .map(({ name, type, ports: all }) => serviceObject({ name, ...type, ports: all }));
    const sliceChange = fc
      .record({
        name: fc.constantFrom('first', 'second'),
        service: fc.constantFrom('one', 'two'),
        endpoints: fc.uniqueArray(fc.constantFrom('10.1.0.1', '10.1.0.2', 'fd00::1')),
        ports,
      })
      .map((fields) => sliceObject(fields));
    const change = fc.record({
      object: fc.oneof(serviceChange, sliceChange),
      isGone: fc.boolean(),
    });
    const apply = (to: Cluster, { object, isGone }: { object: ApiObject; isGone: boolean }) => {
      const isSlice = 'endpoints' in object;
      (isSlice ? to.endpointSlices : to.services)[isGone ? 'delete' : 'put'](object);
    };
    const test = (changes: readonly { object: ApiObject; isGone: boolean }[]) => {
      const [changed, fresh] = [new Cluster(), new Cluster()];
      for (const each of changes) apply(changed, each);
      const last = new Map(changes.map((each) => [each.object.metadata!.name, each]));
      for (const each of last.values()) apply(fresh, each);
      expect(changed.zone.countRecords()).toEqual(fresh.zone.countRecords());
    };
    fc.assert(fc.property(fc.array(change), test));
  });

  it('is nothing for a cluster without services, whatever endpoints it has', () => {
    cluster.endpointSlices.put(sliceObject({ endpoints: ['10.1.0.1'] }));
    expect(cluster.zone.countRecords()).toEqual({ A: 0, AAAA: 0, CNAME: 0, SRV: 0, PTR: 0 });
  });
});
