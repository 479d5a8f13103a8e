import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { encodeSnapshot, type SnapshotHeader } from '@kube-dns/daemon';
import {
  addressRecords,
  freePort,
  ownedBy,
  ScriptedNameServer,
  TemporaryFolder,
  until,
} from '@kube-dns/testkit';
import { startHealthServer } from '../src/http/health-server.js';
import { ApiClient, loadKubeConfig } from '../src/watch/api-client.js';
import { snapshotLine } from '../src/watch/cluster-snapshot.js';
import { ClusterVersion } from '../src/watch/cluster-version.js';
import { ClusterWatch, type ClusterWatchOptions } from '../src/watch/cluster-watch.js';
import { replicaRequest, withMac } from '../src/watch/replicas.js';
import { Snapshots, type SnapshotsOptions } from '../src/watch/snapshots.js';
import { ClusterZone } from '../src/zone/cluster-zone.js';
import { namespaceObject, serviceObject, SHOP, sliceObject } from './support/objects.js';
import { textsAt } from './support/record-text.js';
import { recordedLog } from './support/recorded-log.js';

const own = ownedBy(afterEach);
const DAY_MS = 86_400_000;
const DB = 'db-0.db.shop.svc.cluster.local';
const DB_TEXTS = ['A 10.1.0.1'];
const PORTS = [{ name: 'http', port: 80 }];
const NEW = serviceObject({
  name: 'new',
  namespace: 'shop',
  clusterIPs: ['10.96.0.77'],
  ports: PORTS,
});
const NEW_NAME = 'new.shop.svc.cluster.local';

type ReplicaOptions = Partial<
  Pick<SnapshotsOptions, 'path' | 'maxAgeMs' | 'replicas' | 'tokenPath' | 'shape' | 'pace'> &
    Pick<ClusterWatchOptions, 'endpointsSource' | 'limits'>
>;

/** What a kubedns has of the cluster, and its snapshots. */
class Replica {
  readonly log = recordedLog();
  readonly zone = new ClusterZone({ domain: 'cluster.local.', negativeTtlSeconds: 5 });
  readonly version = new ClusterVersion();
  readonly watch: ClusterWatch;
  readonly snapshots: Snapshots;
  readonly #client: ApiClient;

  constructor(options: ReplicaOptions = {}) {
    const config = loadKubeConfig({ kubecfgFile: '', masterUrl: api.url });
    this.#client = new ApiClient(config, 'test');
    const { endpointsSource, limits, ...others } = options;
    this.watch = new ClusterWatch({
      client: this.#client,
      records: this.zone,
      version: this.version,
      log: this.log,
      onNamespacesListed: () => void (this.zone.hasAllNamespaces = true),
      onNamespacesLost: () => void (this.zone.hasAllNamespaces = false),
      random: () => 0,
      pace: { firstPauseMs: 10, deniedPauseMs: 10 },
      ...(endpointsSource && { endpointsSource }),
      ...(limits && { limits }),
    });
    this.snapshots = new Snapshots({
      path: '',
      maxAgeMs: DAY_MS,
      shape: { endpointNames: 'hash', hiddenNamespaces: [], namesBeside: [] },
      watch: this.watch,
      version: this.version,
      log: this.log,
      tokenPath: '',
      ...others,
      pace: {
        searchMs: 20,
        silenceMs: 60_000,
        listMs: 120_000,
        retryMs: 50,
        firstWriteMs: 20,
        writeMs: 20,
        ...options.pace,
      },
    });
  }

  start(): this {
    this.watch.start();
    this.snapshots.start();
    return this;
  }

  /** The addresses of a name; undefined when it does not exist. */
  at(name: string): string[] | undefined {
    return textsAt(this.zone, name)?.filter((text) => text.startsWith('A '));
  }

  of(name: string) {
    return [...this.watch.statistics].find(({ resource }) => resource === name)!;
  }

  said(pattern: RegExp): string[] {
    return this.log.lines.filter((line) => pattern.test(line));
  }

  async synced(): Promise<this> {
    await until('the cluster', () => this.watch.isSynced);
    return this;
  }

  async reached(): Promise<this> {
    await until('the API server', () => !this.watch.isFromSnapshot);
    return this;
  }

  async close(): Promise<void> {
    await this.snapshots.close();
    await this.watch.close();
    this.#client.close();
  }
}

let api: ApiServer;
let folder: TemporaryFolder;
let path: string;
beforeEach(async () => {
  // After a restart it has the same port.
  api = own(await createApiServer({ port: await freePort() }));
  await api.apply(SHOP);
  folder = own(new TemporaryFolder());
  path = join(folder.path, 'snapshot');
});

/** Writes the file as a kubedns does, and ends. */
async function written(options: ReplicaOptions = {}): Promise<void> {
  const replica = await new Replica({ path, ...options }).start().synced();
  await until('the file', () => replica.snapshots.writes.ok > 0);
  await replica.close();
}

/** Starts without the API server: it is silent. */
function startedAlone(options: ReplicaOptions = {}): Replica {
  api.hang();
  const pace = { silenceMs: 50, writeMs: 3_600_000, ...options.pace };
  return own(new Replica({ path, ...options, pace })).start();
}

/** The header of the file, and its name. */
function headerOf(bytes: Buffer): SnapshotHeader & Record<string, unknown> {
  return JSON.parse(bytes.subarray(0, bytes.indexOf(10)).toString()) as SnapshotHeader &
    Record<string, unknown>;
}

/** A snapshot with the header of the file, changed, and these lines. */
async function forged(change: object, lines: readonly string[]): Promise<Buffer> {
  const header = { ...headerOf(readFileSync(path)), ...change };
  const chunks: Buffer[] = [];
  for await (const chunk of encodeSnapshot(header, lines)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

describe('a start without the API server', () => {
  it('has the records of the file, and says so once', async () => {
    await written();
    const replica = await startedAlone().synced();
    expect(replica.at(DB)).toEqual(DB_TEXTS);
    expect(replica.at('web.shop.svc.cluster.local')).toEqual(['A 10.96.0.20']);
    expect(replica.at('kubernetes.default.svc.cluster.local')).toHaveLength(1);
    expect(replica.zone.namespaces.get('shop')?.isDeclared).toBe(true);
    expect(replica.watch.snapshot?.from).toBe(path);
    expect(replica.version.bytes).toBeDefined();
    const line = `W answers from a snapshot of \\d+ s ago \\(${path}\\), the API server is not reached`;
    expect(replica.said(/snapshot/)).toEqual([expect.stringMatching(`^${line}$`)]);
  });

  it('has what happened meanwhile when the API server is back, and nothing that only the snapshot has', async () => {
    await written();
    // Forged, with the versions and the time of a good one.
    const lines = linesOf(readFileSync(path)).map((line) => line.replace('10.96.0.20', '10.6.6.6'));
    writeFileSync(path, await forged({}, lines));
    const replica = await startedAlone().synced();
    expect(replica.at('web.shop.svc.cluster.local')).toEqual(['A 10.6.6.6']);
    await api.apply(NEW);
    api.delete('Service', 'shop', 'db');
    api.unhang();
    await replica.reached();
    await until('the change', () => replica.at(DB) === undefined);
    expect(replica.at('web.shop.svc.cluster.local')).toEqual(['A 10.96.0.20']);
    expect(replica.at(NEW_NAME)).toEqual(['A 10.96.0.77']);
    expect(replica.of('services').relists).toBe(1);
    expect(replica.of('services').restarts).toMatchObject({ gone: 0, restored: 0 });
    expect(replica.said(/no longer from a snapshot/)).toHaveLength(1);
    expect(replica.watch.snapshot).toBeUndefined();
  });

  it('lists when the version is gone: what is gone is removed', async () => {
    await written();
    const replica = await startedAlone().synced();
    api.delete('Service', 'shop', 'db');
    await api.apply(NEW);
    api.compact({ cache: true });
    api.unhang();
    await until('the change', () => replica.at(DB) === undefined);
    expect(replica.at(NEW_NAME)).toEqual(['A 10.96.0.77']);
    expect(replica.of('services').relists).toBe(1);
  });

  it('lists when the snapshot is older than a cluster takes to be restored', async () => {
    await written();
    writeFileSync(path, await aged(3_600_000));
    const replica = await startedAlone().synced();
    expect(replica.watch.noContactMs).toBeGreaterThanOrEqual(3_600_000);
    expect(replica.said(/^W answers from a snapshot of 36\d\d s ago/)).toHaveLength(1);
    api.unhang();
    await replica.reached();
    expect(replica.of('services').relists).toBe(1);
    expect(replica.at(DB)).toEqual(DB_TEXTS);
  });

  it('finds another cluster, and lists all of it', async () => {
    await written();
    const replica = await startedAlone().synced();
    const before = replica.version.bytes!.slice();
    await api.restart({ data: 'empty' });
    await api.apply([namespaceObject('shop'), NEW]);
    api.unhang();
    await until('the other cluster', () => replica.at(DB) === undefined);
    await until('the new one', () => replica.at(NEW_NAME) !== undefined);
    await replica.reached();
    expect(replica.at('web.shop.svc.cluster.local')).toBeUndefined();
    // It is compared with other replicas of that cluster.
    const fresh = await own(new Replica()).start().synced();
    await until('the same identity', () => {
      const [one, other] = [replica, fresh].map(({ version }) => version.bytes);
      return one !== undefined && Buffer.compare(one.subarray(0, 8), other!.subarray(0, 8)) === 0;
    });
    expect(Buffer.compare(replica.version.bytes!.subarray(0, 8), before.subarray(0, 8))).not.toBe(
      0,
    );
  });

  it('gives way to a list that is complete before', async () => {
    await written();
    await api.apply(NEW);
    const pace = { silenceMs: 60_000 };
    const replica = await own(new Replica({ path, pace })).start().synced();
    expect(replica.watch.snapshot).toBeUndefined();
    expect(replica.at(NEW_NAME)).toBeDefined();
  });

  it('has Endpoints where slices are denied', async () => {
    const failure = { status: 403, resource: 'endpointslices' } as const;
    api.failRequests(failure);
    await written();
    expect(headerOf(readFileSync(path)).resources).toHaveProperty('endpoints');
    const replica = await startedAlone().synced();
    expect(replica.at('kubernetes.default.svc.cluster.local')).toHaveLength(1);
    api.unhang();
    await replica.reached();
    expect(replica.of('endpoints').isWatched).toBe(true);
    api.clearFailures();
    await until('the slices', () => replica.at(DB)?.length === 1);
  });

  it('waits for the API server where there is no snapshot', async () => {
    const replica = startedAlone();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(replica.watch.isSynced).toBe(false);
    expect(replica.said(/snapshot/)).toEqual([]);
    api.unhang();
    await replica.synced();
    expect(replica.watch.snapshot).toBeUndefined();
  });
});

/** The file as it is so much later. */
async function aged(ms: number): Promise<Buffer> {
  const bytes = readFileSync(path);
  const lines = linesOf(bytes);
  return forged({ writtenMs: headerOf(bytes).writtenMs - ms }, lines);
}

function linesOf(bytes: Buffer): string[] {
  const packed = bytes.subarray(bytes.indexOf(10) + 1, -32);
  return gunzipSync(packed).toString().trimEnd().split('\n');
}

describe('a snapshot that is of no use', () => {
  it.each<[string, () => Promise<Buffer>, ReplicaOptions, RegExp]>([
    ['torn', async () => (await aged(0)).subarray(0, -50), {}, /its checksum is another one/],
    ['too old', () => aged(2 * DAY_MS), {}, /it is older than 86400 s/],
    ['of another program', () => forged({ kind: 'node-cache' }, []), {}, /it is of node-cache/],
    ['of another release', () => forged({ format: 99 }, []), {}, /of another release/],
    ['of other flags', () => forged({ endpointNames: 'ip' }, []), {}, /another --endpoint-names/],
    [
      'of another source',
      () => aged(0),
      { endpointsSource: 'endpoints' },
      /another --endpoints-source/,
    ],
    ['without a version', () => forged({ resources: {} }, []), {}, /not services and endpoints/],
    [
      'too large',
      () => aged(0),
      { limits: { maxObjects: 1, maxBytes: 1e9 } },
      /more than 1 objects/,
    ],
    ['no snapshot', () => Promise.resolve(Buffer.from('hello')), {}, /it is no snapshot/],
  ])('is one line of the log: %s', async (_what, content, options, reason) => {
    await written();
    writeFileSync(path, await content());
    const replica = startedAlone(options);
    await until('the line', () => replica.said(reason).length > 0);
    // It is tried again and again.
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(replica.said(reason)).toHaveLength(1);
    expect(replica.watch.isSynced).toBe(false);
    expect(replica.at(DB)).toBeUndefined();
    expect(replica.snapshots.failure).toMatch(reason);
    if (options.limits !== undefined) return;
    api.unhang();
    await replica.synced();
    if (options.endpointsSource === undefined) expect(replica.at(DB)).toEqual(DB_TEXTS);
  });

  it('leaves out lines that are no objects, and names outside of the zone', async () => {
    await written();
    const service = (object: object) => snapshotLine('services', object);
    const slice = (object: object) => snapshotLine('endpointslices', object);
    const hostile = [
      'no json',
      '{"resource":"pods","object":{"metadata":{"name":"a"}}}',
      service(serviceObject({ name: 'example.com', namespace: 'evil' })),
      service(serviceObject({ name: 'a', namespace: 'x.evil' })),
      service({ metadata: { name: 'a', namespace: 'evil' }, spec: { clusterIPs: ['::', 7] } }),
      service({
        metadata: { name: 'c', namespace: 'evil' },
        spec: { clusterIPs: ['10.0.0.1'], ports: [{ port: 1e9 }] },
      }),
      service(serviceObject({ name: 'd', namespace: 'evil', externalName: 'x'.repeat(300) })),
      slice(sliceObject({ service: 'db', namespace: '..', endpoints: ['10.6.6.6'] })),
      slice({ metadata: { name: 's', namespace: 'shop' }, endpoints: { length: 1e9 } }),
      slice({ metadata: { name: '__proto__', namespace: 'constructor' }, endpoints: null }),
      snapshotLine('namespaces', namespaceObject('__proto__')),
      snapshotLine('namespaces', namespaceObject('a.b')),
    ];
    const good = linesOf(readFileSync(path));
    writeFileSync(path, await forged({}, [...hostile, ...good]));
    const replica = await startedAlone().synced();
    expect(replica.at(DB)).toEqual(DB_TEXTS);
    const names = replica.zone.allServices
      .filter(({ service: known }) => known)
      .map(({ key }) => key);
    expect(names.sort()).toEqual(['default/kubernetes', 'shop/db', 'shop/web']);
    expect([...replica.zone.namespaces.keys()].filter((name) => /[._]|evil/.test(name))).toEqual(
      [],
    );
    expect(replica.said(/2 lines are left out/)).toHaveLength(1);
    expect(replica.of('services').rejected).toBe(5);
  });
});

describe('the file', () => {
  it('is written when something has changed, and not without a change', async () => {
    const replica = await own(new Replica({ path })).start().synced();
    await until('the file', () => replica.snapshots.writes.ok === 1);
    const before = readFileSync(path);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(replica.snapshots.writes.ok).toBe(1);
    await api.apply(NEW);
    await until('the next one', () => replica.snapshots.writes.ok === 2);
    expect(readFileSync(path).equals(before)).toBe(false);
    expect(replica.snapshots.bytes).toBe(readFileSync(path).length);
    expect(Date.now() - replica.snapshots.writtenMs).toBeLessThan(60_000);
  });

  it('is written again after a while, so that it does not become too old', async () => {
    const replica = await own(new Replica({ path, pace: { refreshMs: 50 } }))
      .start()
      .synced();
    await until('some', () => replica.snapshots.writes.ok > 2);
  });

  it('has the last changes at the end', async () => {
    const pace = { firstWriteMs: 3_600_000, writeMs: 3_600_000 };
    const replica = await own(new Replica({ path, pace })).start().synced();
    await api.apply(NEW);
    await until('the change', () => replica.at(NEW_NAME) !== undefined);
    expect(existsSync(path)).toBe(false);
    await replica.snapshots.save();
    await replica.close();
    const next = await startedAlone().synced();
    expect(next.at(NEW_NAME)).toEqual(['A 10.96.0.77']);
  });

  it('is not written of a cluster that is not complete, and stays where it cannot be written', async () => {
    await written();
    const before = readFileSync(path);
    api.hang();
    const waiting = own(new Replica({ path })).start();
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(waiting.snapshots.writes.ok).toBe(0);
    api.unhang();
    const elsewhere = own(new Replica({ path: join(folder.path, 'no', 'folder') })).start();
    await until('a failure', () => elsewhere.snapshots.writes.failed > 2);
    expect(elsewhere.said(/snapshot/)).toEqual([
      expect.stringMatching(/^W snapshot .*folder is not written: no such file or directory$/),
    ]);
    expect(elsewhere.snapshots.failure).toContain('no such file');
    expect(before.length).toBeGreaterThan(0);
  });

  it('stays as it was when objects are dropped while it is written', async () => {
    const replica = await own(new Replica()).start().synced();
    const states = replica.watch.snapshotStates!;
    const lines = replica.watch.snapshotLines(states);
    expect(lines.next().value).toContain('"resource":"services"');
    expect(states).toHaveProperty('namespaces');
    api.failRequests({ status: 403, resource: 'namespaces' });
    api.dropWatches();
    await until('the end of namespaces', () => replica.of('namespaces').isDenied);
    expect(() => [...lines]).toThrow('namespaces were dropped');
    expect(replica.watch.snapshotStates).not.toHaveProperty('namespaces');
    expect([...replica.watch.snapshotLines(replica.watch.snapshotStates!)]).toHaveLength(5);
  });

  it('says of what is known since when no more is known', async () => {
    const replica = await own(new Replica({ path })).start().synced();
    await until('the file', () => replica.snapshots.writes.ok === 1);
    await api.apply(NEW);
    await until('the next one', () => replica.snapshots.writes.ok === 2);
    const { writtenMs } = headerOf(readFileSync(path));
    expect(Math.abs(Date.now() - writtenMs)).toBeLessThan(60_000);
    const { resources } = headerOf(readFileSync(path)) as never as {
      resources: Record<string, { version: string; uid: string }>;
    };
    expect(resources.services!.uid).toBe(
      api.objects.get('Service', 'default', 'kubernetes')!.metadata.uid,
    );
    expect(resources.services!.version).toBe(replica.of('services').version);
  });
});

const TOKEN = 'secret of the replicas';
const NONCE = 'ab'.repeat(16);

describe('another replica', () => {
  let tokenPath: string;
  let names: ScriptedNameServer;
  let port: number;

  beforeEach(async () => {
    tokenPath = join(folder.path, 'token');
    writeFileSync(tokenPath, `${TOKEN}\n`);
    names = own(await ScriptedNameServer.start());
    port = await freePort();
  });

  /** The name of all replicas has these addresses. */
  function areAt(...addresses: string[]): void {
    names.respond('kube-dns-pods A', { answers: addressRecords(30, ...addresses) });
    names.respond('kube-dns-pods AAAA', { answers: [] });
  }

  /** Gives its snapshots at an address. */
  async function giving(host: string, replica: Replica): Promise<void> {
    own(
      await startHealthServer({
        host,
        port,
        log: replica.log,
        isReady: () => true,
        dump: () => [],
        subscribers: () => '',
        snapshots: replica.snapshots,
      }),
    );
  }

  /** Another program at an address. */
  async function hostile(host: string, answer: RequestListener): Promise<void> {
    const server = createServer(answer);
    await new Promise<void>((resolve) => server.listen(port, host, resolve));
    own({
      close: () => {
        server.closeAllConnections();
        return new Promise((resolve) => server.close(resolve));
      },
    });
  }

  const asking = () => ({
    tokenPath,
    replicas: { host: 'kube-dns-pods', server: names.hostPort, port },
  });

  const get = async (headers: Record<string, string> = {}) => {
    const response = await fetch(`http://127.0.0.2:${port}/snapshot`, { headers });
    await response.arrayBuffer();
    return response.status;
  };

  it('gives what it has, which is taken where it is newer than the file', async () => {
    await written();
    await api.apply(NEW);
    const other = await own(new Replica({ tokenPath })).start().synced();
    await giving('127.0.0.2', other);
    areAt('127.0.0.2');
    const replica = await startedAlone(asking()).synced();
    expect(replica.watch.snapshot?.from).toBe('replica 127.0.0.2');
    expect(replica.at(NEW_NAME)).toEqual(['A 10.96.0.77']);
    expect(replica.at(DB)).toEqual(DB_TEXTS);
  });

  it('is not believed where the file is newer', async () => {
    const other = await own(new Replica({ tokenPath })).start().synced();
    // It has no contact from now on.
    await until('a watch', () => api.watchCount() >= 3);
    api.hang();
    await api.apply(NEW);
    await other.watch.close();
    api.unhang();
    await written();
    await giving('127.0.0.2', other);
    areAt('127.0.0.2');
    const replica = await startedAlone(asking()).synced();
    expect(replica.watch.snapshot?.from).toBe(path);
    expect(replica.at(NEW_NAME)).toEqual(['A 10.96.0.77']);
  });

  it('passes on a snapshot with its age', async () => {
    await written();
    writeFileSync(path, await aged(3_600_000));
    const other = await startedAlone({ tokenPath }).synced();
    await giving('127.0.0.2', other);
    areAt('127.0.0.2');
    const replica = await startedAlone({ ...asking(), path: '' }).synced();
    expect(replica.watch.noContactMs).toBeGreaterThanOrEqual(3_600_000);
    expect(replica.at(DB)).toEqual(DB_TEXTS);
  });

  it('gives what is in the file at the next start, with its age, also without it', async () => {
    await written();
    writeFileSync(path, await aged(3_600_000));
    const other = await startedAlone({ tokenPath }).synced();
    await giving('127.0.0.2', other);
    areAt('127.0.0.2');
    const own = join(folder.path, 'own');
    const first = await startedAlone({ ...asking(), path: own }).synced();
    await until('the file', () => first.snapshots.writes.ok > 0);
    await first.close();
    const second = await startedAlone({ path: own }).synced();
    expect(second.watch.snapshot?.from).toBe(own);
    expect(second.watch.noContactMs).toBeGreaterThanOrEqual(3_600_000);
    expect(second.at(DB)).toEqual(DB_TEXTS);
  });

  it('is refused without the token, and the file is read each time', async () => {
    const other = await own(new Replica({ tokenPath })).start().synced();
    await giving('127.0.0.2', other);
    const Authorization = `Bearer ${TOKEN}`;
    expect(await get()).toBe(401);
    expect(await get({ Authorization: 'Bearer other' })).toBe(401);
    expect(await get({ Authorization: TOKEN })).toBe(401);
    expect(await get({ Authorization })).toBe(200);
    writeFileSync(tokenPath, 'another one');
    expect(await get({ Authorization })).toBe(401);
    expect(await get({ Authorization: 'Bearer another one' })).toBe(200);
    writeFileSync(tokenPath, ' \n');
    expect(await get({ Authorization: 'Bearer ' })).toBe(401);
    expect(await get({ Authorization: 'Bearer' })).toBe(401);
    expect(other.said(/^E --snapshot-token .*\/token: it is empty; /)).toHaveLength(1);
    // As without the Secret, which is optional.
    rmSync(tokenPath);
    for (let i = 0; i < 2; i++)
      expect(await get({ Authorization: 'Bearer another one' })).toBe(401);
    expect(other.said(/^I --snapshot-token .*\/token: no such file or directory; /)).toHaveLength(
      1,
    );
    expect(other.log.lines.join('\n')).not.toContain(TOKEN);
  });

  it('is no help with another token, and that is said once, without it', async () => {
    const otherToken = join(folder.path, 'other');
    writeFileSync(otherToken, 'something else');
    const other = await own(new Replica({ tokenPath: otherToken }))
      .start()
      .synced();
    await giving('127.0.0.2', other);
    areAt('127.0.0.2');
    const replica = startedAlone(asking());
    await until('some tries', () => names.requests.length > 6);
    expect(replica.said(/replica/)).toEqual([
      'W no snapshot from other replicas: 127.0.0.2: HTTP 401',
    ]);
    expect(replica.watch.isSynced).toBe(false);
  });

  it('gets a request that is of no use elsewhere or later, and in which the token is not', async () => {
    const other = await own(new Replica({ tokenPath })).start().synced();
    await giving('127.0.0.2', other);
    const taken: string[] = [];
    await hostile('127.0.0.3', ({ rawHeaders }, response) => {
      taken.push(rawHeaders.join('\n'));
      response.end();
    });
    areAt('127.0.0.3');
    const asker = startedAlone(asking());
    await until('a request', () => taken.length > 0);
    await asker.close();
    expect(taken.join('\n')).not.toContain(TOKEN);
    const Authorization = /Replica .*/.exec(taken[0]!)![0];
    expect(await get({ Authorization })).toBe(401);

    const at = (address: string, ms = 0, token = TOKEN) => ({
      Authorization: replicaRequest(token, NONCE, address, Date.now() + ms),
    });
    expect(await get(at('127.0.0.2'))).toBe(200);
    expect(await get(at('127.0.0.3'))).toBe(401);
    expect(await get(at('127.0.0.2', 0, 'other'))).toBe(401);
    expect(await get(at('127.0.0.2', 240_000))).toBe(200);
    expect(await get(at('127.0.0.2', 360_000))).toBe(401);
    expect(await get(at('127.0.0.2', -360_000))).toBe(401);
    const changed = at('127.0.0.2').Authorization.replace('nonce=a', 'nonce=b');
    expect(await get({ Authorization: changed })).toBe(401);
  });

  it.each([
    ['another token', (good: Readable) => withMac(good, 'other', NONCE)],
    ['the answer to another request', (good: Readable) => withMac(good, TOKEN, NONCE)],
    ['none', (good: Readable) => good],
  ])(
    'is not believed without the token, and that is one line: the MAC is of %s',
    async (_, answer) => {
      await written();
      const chunks = await Readable.from(answer(Readable.from([readFileSync(path)]))).toArray();
      const bytes = Buffer.concat(chunks as Buffer[]);
      await hostile('127.0.0.2', (_request, response) => response.end(bytes));
      areAt('127.0.0.2');
      const replica = startedAlone({ ...asking(), path: '' });
      await until('some tries', () => names.requests.length > 6);
      expect(replica.said(/replica/)).toEqual([
        'W no snapshot from other replicas: 127.0.0.2: its answer has not the MAC of the token',
      ]);
      expect(replica.watch.isSynced).toBe(false);
    },
  );

  it('has its line also where it says nothing', async () => {
    await hostile('127.0.0.2', () => undefined);
    areAt('127.0.0.2');
    const replica = startedAlone({ ...asking(), path: '' });
    await until('a line', () => replica.said(/replica/).length > 0);
    expect(replica.said(/replica/)).toEqual([
      'W no snapshot from other replicas: 127.0.0.2: no whole snapshot in time',
    ]);
  });

  it('gives nothing before it has listed the cluster', async () => {
    const other = own(new Replica({ tokenPath }));
    await giving('127.0.0.2', other);
    expect(await get({ Authorization: `Bearer ${TOKEN}` })).toBe(503);
  });

  it('costs nothing but its time where it is hostile', async () => {
    const endless: RequestListener = (_request, response) => {
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536))) continue;
      };
      response.on('drain', more);
      response.on('error', () => undefined);
      more();
    };
    const foreign = await forgedOf('node-cache');
    await hostile('127.0.0.2', endless);
    await hostile('127.0.0.3', () => undefined);
    await hostile('127.0.0.4', (_request, response) => response.end('hello'));
    await hostile('127.0.0.5', (_request, response) => response.end(foreign));
    await hostile('127.0.0.6', (request) => request.socket.destroy());
    await hostile('127.0.0.7', (_request, response) => {
      response.writeHead(200).flushHeaders();
    });
    const other = await own(new Replica({ tokenPath })).start().synced();
    await giving('127.0.0.8', other);
    areAt(...[2, 3, 4, 5, 6, 7, 8].map((n) => `127.0.0.${n}`));
    const pace = { replicasMs: 20_000 };
    const replica = await startedAlone({ ...asking(), path: '', pace }).synced();
    expect(replica.watch.snapshot?.from).toBe('replica 127.0.0.8');
    expect(replica.at(DB)).toEqual(DB_TEXTS);
  });

  it('is asked while the API server has its time: what there is, is taken right after it', async () => {
    await written();
    await hostile('127.0.0.2', () => undefined);
    areAt('127.0.0.2');
    const pace = { silenceMs: 200, replicasMs: 100 };
    const replica = startedAlone({ ...asking(), pace });
    await until('a look-up', () => names.requests.length > 0);
    expect(replica.watch.isSynced).toBe(false);
    await replica.synced();
    // Nobody was asked again.
    expect(names.requests).toHaveLength(2);
    expect(replica.watch.snapshot?.from).toBe(path);
  });

  it('is given up after a while where all are silent, and the file is used', async () => {
    await written();
    await hostile('127.0.0.2', () => undefined);
    areAt('127.0.0.2');
    const replica = await startedAlone({ ...asking(), pace: { replicasMs: 100 } }).synced();
    expect(replica.watch.snapshot?.from).toBe(path);
  });

  it('is not found by a name server that is silent, and the file is used', async () => {
    await written();
    names.script = () => null;
    const replica = await startedAlone({ ...asking(), pace: { replicasMs: 300 } }).synced();
    expect(replica.watch.snapshot?.from).toBe(path);
  });

  /** A good snapshot of another program. */
  async function forgedOf(kind: string): Promise<Buffer> {
    await written();
    return forged({ kind }, []);
  }
});
