import { describe, expect, it } from '@jest/globals';
import { BucketHistogram, NameServerHealth } from '@kube-dns/daemon';
import { Telemetry } from '@kube-dns/telemetry';
import { RESTART_REASONS } from '../watch/pace.js';
import type { ResourceStatistics } from '../watch/list-watch.js';
import { ClusterZone } from '../zone/cluster-zone.js';
import { type KubednsParts, kubednsStatus } from './kubedns-status.js';

const restarts = Object.fromEntries(RESTART_REASONS.map((reason) => [reason, 0]));
const watch = (changes: Partial<ResourceStatistics> = {}): ResourceStatistics => ({
  resource: 'services',
  objects: 3,
  lastEventMs: performance.now() - 2_000,
  relists: 0,
  rejected: 0,
  passedOver: 0,
  isOverLimit: false,
  excess: '',
  isConnected: true,
  isWatched: true,
  isSynced: true,
  isDenied: false,
  isOptional: false,
  isAbsent: false,
  version: '42',
  lastFailure: '',
  noContactMs: 0,
  restarts: restarts as ResourceStatistics['restarts'],
  ...changes,
});

const { top } = new Telemetry();

function status(changes: Partial<KubednsParts> = {}, watches = [watch()]) {
  return kubednsStatus({
    flags: { domain: 'cluster.local.', 'ready-without-api': true },
    dnsPort: { isOpen: true, listeners: [] },
    watch: {
      isSynced: true,
      isOverLimit: false,
      pending: [],
      noContactMs: 0,
      snapshot: undefined,
      statistics: watches,
    },
    zone: new ClusterZone({ domain: 'cluster.local.', negativeTtlSeconds: 5 }),
    beside: [
      {
        id: 'route-names',
        count: () => ({ names: 2, conflicts: 1, leftOut: 0 }),
        problems: () => [],
      },
    ],
    hosts: { size: 4 },
    configuration: { status: undefined, isActive: true },
    telemetry: { top },
    subscribers: {
      count: 1,
      limit: 2,
      behind: 0,
      dropped: 0,
      refused: { limit: 3, network: 0 },
      rows: () => [
        {
          host: '10.0.0.1',
          port: 99,
          forMs: 5_000,
          lastSeenAgoMs: 100,
          behindMs: undefined,
          unreadBytes: 0,
        },
      ],
      feed: { serial: 7, names: 9, lag: new BucketHistogram([1]), flushes: {} },
    },
    snapshots: { failure: '', facts: () => ({ file: null }) },
    servers: { groups: [] },
    upstreams: { of: () => ({ queries: 0, health: new NameServerHealth() }) },
    federations: { domains: new Map(), locality: undefined },
    ...changes,
  });
}

describe('the status of kubedns', () => {
  it('says that answers are from a snapshot, and that the file is not written', () => {
    const snapshot = { from: '/var/snapshot', writtenMs: Date.now() - 90_000 };
    const serving = {
      watch: {
        isSynced: true,
        isOverLimit: false,
        pending: [],
        noContactMs: 0,
        statistics: [],
        snapshot,
      },
      snapshots: { failure: 'snapshot /var/snapshot: disk full', facts: () => ({ file: null }) },
    };
    expect(status(serving).problems?.()).toEqual([
      'answers from a snapshot of 90 s ago (/var/snapshot), the API server is not reached',
      'snapshot /var/snapshot: disk full',
    ]);
    expect(status(serving).notReady?.()).toEqual([]);
    const flags = { domain: 'cluster.local.', 'ready-without-api': false };
    expect(status({ ...serving, flags }).notReady?.()).toEqual([
      'answers are from a snapshot, and --ready-without-api is false',
    ]);
  });

  it('says why it is not ready', () => {
    expect(status().notReady?.()).toEqual([]);
    const failing = watch({ isConnected: false, lastFailure: 'connect ECONNREFUSED' });
    const starting = status(
      {
        dnsPort: { isOpen: false, listeners: [] },
        configuration: { status: undefined, isActive: false },
        watch: {
          isSynced: false,
          isOverLimit: true,
          noContactMs: 0,
          snapshot: undefined,
          pending: ['services', 'namespaces'],
          statistics: [failing],
        },
      },
      [],
    );
    expect(starting.notReady?.()).toEqual([
      'the DNS port is not open',
      'no configuration is active yet',
      'the first list of services is not complete: connect ECONNREFUSED',
      'the first list of namespaces is not complete',
      'objects are missing: a resource exceeds its limits',
    ]);
  });

  it.each([
    [{}, []],
    [
      { isConnected: false, noContactMs: 90_000, lastFailure: 'no route' },
      ['the watch of services is stale, without contact for 90 s: no route'],
    ],
    [{ isConnected: false, noContactMs: 4_000, lastFailure: 'no route' }, []],
    [
      { isDenied: true },
      ['access to services is denied: see the ClusterRole; next try within 60 s'],
    ],
    [
      { isOverLimit: true, excess: 'there are more than 3 objects', lastFailure: 'no route' },
      ['services are incomplete: there are more than 3 objects'],
    ],
  ])('says what is wrong with a watch %j', (changes, problems) => {
    expect(status({}, [watch(changes)]).problems?.()).toEqual(problems);
  });

  it('shows the state of each watch, the zone and who is told its changes', async () => {
    const states = [
      { isConnected: true },
      { isConnected: false, noContactMs: 1_000 },
      { isConnected: false, noContactMs: 61_000 },
      { isDenied: true, isConnected: false },
      { isWatched: false, isConnected: false },
    ];
    const watches = states.map((each) => watch(each));
    const sections = await status({}, watches).sections();
    expect(sections['Watches of the API']).toMatchObject(
      ['open', 'connecting', 'stale', 'denied', 'not needed'].map((state) => ({ state })),
    );
    expect(sections['Watches of the API']).toMatchObject([
      { resource: 'services', isSynced: true, objects: 3, resourceVersion: '42', restarts: '' },
      {},
      {},
      {},
      {},
    ]);
    expect(sections.Zone).toMatchObject({ zone: 'cluster.local.', namespaces: 0 });
    expect(sections['Told changes']).toEqual({
      serial: '7',
      names: 9,
      subscribers: 1,
      subscribersAtMost: 2,
      subscribersDropped: 0,
      subscribersRefused: 3,
    });
    expect(sections.Subscribers).toEqual([
      {
        subscriber: '10.0.0.1:99',
        subscribedSeconds: 5,
        lastMessageSeconds: 0.1,
        behindSeconds: null,
        unreadBytes: 0,
      },
    ]);
    expect(sections).not.toHaveProperty('Federations');
  });

  it('has the settings of the environment, and federations', async () => {
    process.env.PROMETHEUS_PORT = '10055';
    const federations = {
      domains: new Map([['east', 'east.example']]),
      locality: { zone: 'z', region: 'r' },
    };
    const { settings, sections } = status({ federations });
    expect(settings?.()).toContainEqual({
      setting: 'PROMETHEUS_PORT',
      value: '10055',
      from: 'environment',
    });
    expect((await sections()).Federations).toEqual([
      { federation: 'east', domain: 'east.example', zone: 'z', region: 'r' },
    ]);
    delete process.env.PROMETHEUS_PORT;
  });
});
