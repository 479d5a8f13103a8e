import { describe, expect, it } from '@jest/globals';
import { CLUSTER_VERSION_BYTES, setKnown } from '@kube-dns/wire';
import fc from 'fast-check';
import { histories } from '../../test/support/object-histories.js';
import {
  endpointsObject,
  HEADLESS,
  namespaceObject,
  serviceObject,
  sliceObject,
} from '../../test/support/objects.js';
import {
  type ClusterHeader,
  isNewer,
  readClusterHeader,
  snapshotLine,
  SnapshotLines,
} from './cluster-snapshot.js';
import { ClusterState, ENDPOINT_NAMES, type EndpointNames } from './projections.js';
import { type ApiObject, keyOf, type ObjectSink, type Projection, versionOf } from './store.js';

type Kind = 'services' | 'endpointSlices' | 'endpoints' | 'namespaces';

/** The fields of an object as they are stored, and those of the object that a snapshot has of it. */
function storedTwice(kind: Kind, object: ApiObject, endpointNames: EndpointNames): Projection[] {
  const ignore = () => undefined;
  const records = { putService: ignore, replaceSlice: ignore, putNamespace: ignore };
  const state = new ClusterState({ records, endpointNames, readsZones: true });
  const sink = state[kind] as unknown as ObjectSink<ApiObject, Projection>;
  const key = keyOf(object)!;
  const stored = sink.project(key, object, ignore);
  stored.version = '7';
  const line = snapshotLine('services', sink.objectOf!(key, stored));
  const { object: copy } = JSON.parse(line) as { object: ApiObject };
  expect(keyOf(copy)).toBe(key);
  const again = sink.project(key, copy, (reason) => {
    throw new Error(reason);
  });
  again.version = versionOf(copy);
  return [stored, again];
}

const PORTS = [
  { name: 'http', port: 80, protocol: 'TCP' },
  { port: 53, protocol: 'UDP' },
];

describe('the fields of an object', () => {
  it.each<[string, Kind, ApiObject]>([
    ['a service', 'services', serviceObject({ ports: PORTS })],
    ['of two families', 'services', serviceObject({ clusterIPs: ['fd00::1', '10.0.0.1'] })],
    ['a headless one', 'services', serviceObject({ ...HEADLESS, ports: PORTS })],
    ['an ExternalName', 'services', serviceObject({ externalName: 'Www.Example.com.' })],
    ['a strange one', 'services', serviceObject({ externalName: String.raw`a\.b._x.\032z` })],
    ['one with an address', 'services', serviceObject({ externalName: '192.0.2.1' })],
    ['a slice of none', 'endpointSlices', sliceObject({ service: '', endpoints: ['10.0.0.1'] })],
    ['one of names', 'endpointSlices', sliceObject({ addressType: 'FQDN', endpoints: ['a.b'] })],
    ['an empty one', 'endpointSlices', sliceObject({ ports: PORTS })],
    [
      'one with all kinds of labels',
      'endpointSlices',
      sliceObject({
        ports: PORTS,
        endpoints: [
          { addresses: ['10.0.0.1'], hostname: 'Db-0' },
          { addresses: ['10.0.0.2'], pod: 'db-1' },
          { addresses: ['10.0.0.3', 'fd00::3'], pod: 'not.a.label' },
          { addresses: ['::1'] },
        ],
      }),
    ],
    [
      'one with zones',
      'endpointSlices',
      sliceObject({
        ports: PORTS,
        endpoints: [
          { addresses: ['10.0.0.1'], zone: 'Eu-1b' },
          { addresses: ['10.0.0.2'], zone: 'corp.example' },
          { addresses: ['10.0.0.1'], zone: 'corp.example' },
          { addresses: ['10.0.0.3'] },
        ],
      }),
    ],
    [
      'Endpoints',
      'endpoints',
      endpointsObject({
        subsets: [
          { addresses: [{ ip: '10.0.0.1', hostname: 'a' }, { ip: 'fd00::1' }], ports: PORTS },
          { addresses: [{ ip: '10.0.0.2' }], ports: [] },
        ],
      }),
    ],
    ['a namespace', 'namespaces', namespaceObject('shop')],
  ])('are the same after a snapshot: %s', (_what, kind, object) => {
    for (const names of ENDPOINT_NAMES) {
      const [stored, again] = storedTwice(kind, object, names);
      expect(again).toEqual(stored);
    }
  });

  it('are the same after a snapshot, for any object', () => {
    fc.assert(
      fc.property(histories, fc.constantFrom(...ENDPOINT_NAMES), (events, names) => {
        for (const { kind, object } of events) {
          const [stored, again] = storedTwice(kind, object, names);
          expect(again).toEqual(stored);
        }
      }),
      { numRuns: 100 },
    );
  });
});

const SHAPE = { endpointNames: 'hash', hiddenNamespaces: ['com'], namesBeside: [] } as const;
const STATE = { version: '12', uid: 'a-b-c' };
const HEADER: ClusterHeader = {
  kind: 'kubedns',
  writtenMs: 1_000,
  ...SHAPE,
  clusterVersion: versionText(1, 2, 3),
  resources: { services: STATE, endpointslices: STATE, namespaces: STATE },
};

/** A cluster version of one cluster, or of another, which has these numbers. */
function versionText(services: number, endpoints: number, namespaces: number, cluster = 0): string {
  const bytes = new Uint8Array(CLUSTER_VERSION_BYTES).fill(cluster, 0, 8);
  [services, endpoints, namespaces].forEach((number, i) => setKnown(bytes, i, number));
  return Buffer.from(bytes).toString('hex');
}

describe('the header of a snapshot', () => {
  it('is read as it was written', () => {
    expect(readClusterHeader(HEADER, SHAPE)).toEqual(HEADER);
    const { services, endpointslices: endpoints } = HEADER.resources;
    const other = { ...HEADER, clusterVersion: '', resources: { services, endpoints } };
    expect(readClusterHeader(other as ClusterHeader, SHAPE)).toEqual(other);
  });

  it.each<[string, object, string]>([
    ['other names', { endpointNames: 'ip' }, 'it was written with another --endpoint-names'],
    ['other hidden namespaces', { hiddenNamespaces: [] }, 'another --hidden-namespaces'],
    ['no flags', { hiddenNamespaces: undefined }, 'another --hidden-namespaces'],
    ['a version of another length', { clusterVersion: '00' }, 'its cluster version is none'],
    ['a version that is a number', { clusterVersion: 5 }, 'its cluster version is none'],
    ['no resources', { resources: null }, 'not services and endpoints of one source'],
    ['resources that are text', { resources: 'services' }, 'of one source'],
    ['no endpoints', { resources: { services: STATE } }, 'of one source'],
    [
      'two kinds of endpoints',
      { resources: { services: STATE, endpoints: STATE, endpointslices: STATE } },
      'of one source',
    ],
    ['no state', { resources: { services: null } }, 'its services have no version'],
    ['an odd version', { resources: { services: { ...STATE, version: 'a\nb' } } }, 'no version'],
    ['a long UID', { resources: { services: { ...STATE, uid: 'x'.repeat(129) } } }, 'no UID'],
  ])('is refused with %s', (_what, change, reason) => {
    expect(() => readClusterHeader({ ...HEADER, ...change }, SHAPE)).toThrow(reason);
  });

  it.each<[string, Partial<ClusterHeader>, Partial<ClusterHeader>, boolean]>([
    ['a higher version', { clusterVersion: versionText(1, 3, 3) }, { writtenMs: 9_000 }, true],
    ['a lower version', { clusterVersion: versionText(1, 1, 3), writtenMs: 9_000 }, {}, false],
    ['the same and later', { writtenMs: 1_001 }, {}, true],
    ['the same', {}, {}, false],
    [
      'a version that is higher and lower, and later',
      { clusterVersion: versionText(2, 1, 3), writtenMs: 1_001 },
      {},
      true,
    ],
    [
      'a higher version of another cluster, but earlier',
      { clusterVersion: versionText(9, 9, 9, 1), writtenMs: 999 },
      {},
      false,
    ],
    ['no version, but later', { clusterVersion: '', writtenMs: 1_001 }, {}, true],
  ])('is of a newer snapshot, or not: %s', (_what, one, other, expected) => {
    expect(isNewer({ ...HEADER, ...one }, { ...HEADER, ...other })).toBe(expected);
  });
});

describe('the lines of a snapshot', () => {
  it('have an object each', () => {
    const object = namespaceObject('shop');
    const line = snapshotLine('namespaces', object);
    expect(new SnapshotLines().read(line)).toEqual({ resource: 'namespaces', object });
  });

  it.each([
    ['nothing', '', 'it is of no resource'],
    ['no JSON', '{', 'a line is not JSON'],
    ['null', 'null', 'it is of no resource'],
    ['a list', '[[]]', 'it is of no resource'],
    ['another resource', '{"resource":"pods"}', 'it is of no resource'],
    ['no object', '{"resource":"services","object":7}', 'it is no object of services'],
    ['no namespace', '{"resource":"services","object":{"metadata":{"name":"a"}}}', 'no object of'],
    [
      'a name that is a number',
      '{"resource":"services","object":{"metadata":{"namespace":"a","name":1}}}',
      'no object of',
    ],
    [
      'a namespace in a namespace',
      '{"resource":"namespaces","object":{"metadata":{"namespace":"a","name":"b"}}}',
      'no object of',
    ],
    ['very deep JSON', '['.repeat(70_000), 'nested more than 100 deep'],
    ['megabytes', `"${'x'.repeat(3 * 1024 * 1024)}"`, 'it has more than 2097152 bytes'],
  ])('are refused: %s', (_what, line, reason) => {
    const lines = new SnapshotLines();
    expect(() => lines.read(line)).toThrow(reason);
    expect(lines.read(snapshotLine('namespaces', namespaceObject('a'))).resource).toBe(
      'namespaces',
    );
  });
});
