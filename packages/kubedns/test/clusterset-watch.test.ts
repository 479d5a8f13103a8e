import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { freePort, ownedBy, TemporaryFolder, until } from '@kube-dns/testkit';
import { ImportedNames } from '../src/answer/imported-names.js';
import { ApiClient, loadKubeConfig } from '../src/watch/api-client.js';
import { ClusterVersion } from '../src/watch/cluster-version.js';
import { ClusterWatch } from '../src/watch/cluster-watch.js';
import { allStores } from '../src/watch/projections.js';
import { serviceImports } from '../src/watch/service-imports.js';
import { Snapshots } from '../src/watch/snapshots.js';
import { ClusterZone } from '../src/zone/cluster-zone.js';
import { ImportedZone } from '../src/zone/imported-zone.js';
import { askLocal } from './support/local-answers.js';
import { importedSliceObject, importObject, SHOP } from './support/objects.js';
import { recordedLog } from './support/recorded-log.js';
import { textsAt } from './support/record-text.js';

const own = ownedBy(afterEach);
const GROUP = 'multicluster.x-k8s.io';
const ZONE = 'clusterset.local';
const WEB = `web.shop.svc.${ZONE}`;
const HOST = `db-0.c1.east.db.shop.svc.${ZONE}`;
const DAY_MS = 86_400_000;
const IMPORTS = [
  importObject({ namespace: 'shop' }),
  importObject({ namespace: 'shop', name: 'db', type: 'Headless' }),
];

let api: ApiServer;
let path: string;
beforeEach(async () => {
  api = own(await createApiServer({ port: await freePort() }));
  path = join(own(new TemporaryFolder()).path, 'snapshot');
  api.serveVersions(GROUP, ['v1beta1']);
  await api.apply(SHOP);
  await api.apply([
    ...IMPORTS,
    importedSliceObject({
      namespace: 'shop',
      service: 'db',
      cluster: 'c1.east',
      endpoints: [{ addresses: ['10.9.0.1'], hostname: 'db-0' }],
    }),
  ]);
});

/** What a kubedns with --clusterset-domain has of the cluster, and its snapshots. */
class Replica {
  readonly log = recordedLog();
  readonly watch: ClusterWatch;
  readonly snapshots: Snapshots;
  readonly zone = new ClusterZone({ domain: 'cluster.local.', negativeTtlSeconds: 5 });
  readonly names: ImportedNames;
  readonly #client = new ApiClient(loadKubeConfig({ kubecfgFile: '', masterUrl: api.url }), 'test');

  constructor() {
    const changes = { isObserved: false, add: () => undefined };
    const imported = new ImportedZone({ domain: `${ZONE}.`, negativeTtlSeconds: 5, changes });
    const replaceSlice = imported.replaceSlice.bind(imported);
    const version = new ClusterVersion();
    this.watch = new ClusterWatch({
      client: this.#client,
      records: allStores(this.zone, [{ replaceSlice }]),
      readsImports: true,
      optional: [serviceImports((key, after) => imported.putImport(key, after))],
      version,
      log: this.log,
      onNamespacesListed: () => void (this.zone.hasAllNamespaces = true),
      onNamespacesLost: () => void (this.zone.hasAllNamespaces = false),
      random: () => 0,
      pace: { firstPauseMs: 10, deniedPauseMs: 20 },
    });
    this.names = new ImportedNames({
      zone: imported,
      cluster: this.zone,
      ttlSeconds: 30,
      negativeTtlSeconds: 5,
      isSynced: () => this.watch.isKnown('serviceimports'),
      serverAddresses: () => [],
    });
    this.snapshots = new Snapshots({
      path,
      maxAgeMs: DAY_MS,
      shape: { endpointNames: 'hash', hiddenNamespaces: [], namesBeside: ['clusterset'] },
      watch: this.watch,
      version,
      log: this.log,
      tokenPath: '',
      pace: { searchMs: 20, silenceMs: 50, retryMs: 50, firstWriteMs: 20, writeMs: 20 },
    });
    this.watch.start();
    this.snapshots.start();
  }

  /** The data of the A records of a name, or the rcode. */
  at(name: string): string {
    const { rcode = '', answers = [] } = askLocal(this.names, name, 'A') ?? {};
    return answers.length === 0 ? rcode : answers.map((text) => text.split(' ')[2]).join();
  }

  async becomes(name: string, expected: string): Promise<void> {
    await until(`${name} ${expected}`, () => this.names.isSynced && this.at(name) === expected);
  }

  async close(): Promise<void> {
    await this.snapshots.close();
    await this.watch.close();
    this.#client.close();
  }
}

describe('imports while kubedns runs', () => {
  it('go and come with their CRD, in any version; the zone of the cluster does not notice', async () => {
    const replica = own(new Replica());
    await replica.becomes(WEB, '10.42.0.1');
    const before = textsAt(replica.zone, 'web.shop.svc.cluster.local');
    for (const version of ['v1alpha1', 'v1beta1']) {
      api.serveVersions(GROUP, []);
      await replica.becomes(WEB, 'NXDOMAIN');
      expect(replica.watch.stateOf('serviceimports')).toBe('absent');
      expect(replica.at(HOST)).toBe('NXDOMAIN');
      // Without their CRD the objects are gone.
      api.serveVersions(GROUP, [version]);
      await api.apply(IMPORTS);
      await replica.becomes(WEB, '10.42.0.1');
      await replica.becomes(HOST, '10.9.0.1');
    }
    expect(replica.watch.isSynced).toBe(true);
    expect(textsAt(replica.zone, 'web.shop.svc.cluster.local')).toEqual(before);
  });
});

describe('a snapshot', () => {
  it('has the imports and the clusters of their endpoints: a start without the API server answers them', async () => {
    const first = new Replica();
    await first.becomes(HOST, '10.9.0.1');
    await first.snapshots.save();
    await first.close();
    api.hang();
    const replica = own(new Replica());
    await replica.becomes(WEB, '10.42.0.1');
    expect(replica.at(HOST)).toBe('10.9.0.1');
    expect(replica.watch.isFromSnapshot).toBe(true);
    api.delete('ServiceImport', 'shop', 'web');
    api.unhang();
    await replica.becomes(WEB, 'NXDOMAIN');
    await until('the API server', () => !replica.watch.isFromSnapshot);
    expect(replica.at(HOST)).toBe('10.9.0.1');
  });
});
