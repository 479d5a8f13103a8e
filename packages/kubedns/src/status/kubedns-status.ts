import { formatHostPort } from '@kube-dns/base';
import {
  type CountedNameServer,
  limitedClientRows,
  overloadProblems,
  type Setting,
  type StatusFacts,
  type StatusSections,
  type StatusSource,
} from '@kube-dns/daemon';
import {
  type Publisher,
  type SubscriberCounts,
  subscriberFacts,
  subscriberProblems,
} from '@kube-dns/push';
import { serverProblems, serverRows } from '@kube-dns/resolver';
import type { Telemetry } from '@kube-dns/telemetry';
import type { Listener } from '@kube-dns/transport';
import type { Configuration } from '../config/configuration.js';
import type { KubednsFlags } from '../config/flags.js';
import type { Upstreams } from '../config/upstreams.js';
import type { Federations } from '../federation/federations.js';
import type { NamesBeside } from '../names-beside.js';
import type { StaticHosts } from '../outside/static-hosts.js';
import { type ClusterWatch, snapshotText } from '../watch/cluster-watch.js';
import type { ResourceStatistics } from '../watch/list-watch.js';
import { DEFAULT_PACE } from '../watch/pace.js';
import type { Snapshots } from '../watch/snapshots.js';
import type { ClusterZone } from '../zone/cluster-zone.js';

/** The parts of kubedns that its status page reads, at each request. */
export interface KubednsParts {
  readonly flags: Pick<KubednsFlags, 'domain' | 'ready-without-api'>;
  readonly dnsPort: {
    readonly isOpen: boolean;
    readonly listeners: readonly Pick<Listener, 'overloads'>[];
  };
  readonly watch: Pick<
    ClusterWatch,
    'isSynced' | 'isOverLimit' | 'pending' | 'statistics' | 'noContactMs' | 'snapshot'
  >;
  readonly snapshots: Pick<Snapshots, 'facts' | 'failure'>;
  readonly zone: ClusterZone;
  /** The sources of names beside the zone. */
  readonly beside: readonly Pick<NamesBeside, 'id' | 'count' | 'problems'>[];
  readonly hosts: Pick<StaticHosts, 'size'>;
  readonly configuration: Pick<Configuration, 'status' | 'isActive'>;
  readonly subscribers: SubscriberCounts & Pick<Publisher, 'rows'>;
  readonly servers: Pick<Upstreams, 'groups'>;
  /** The counts of each server. */
  readonly upstreams: { of(server: string): CountedNameServer };
  readonly federations: Pick<Federations, 'domains' | 'locality'>;
  readonly telemetry: Pick<Telemetry, 'top'>;
}

/** A watch without contact for this long is stale. One that is open always has contact: see `noContactMs`. */
const STALE_MS = 5_000;
const DENIED_SECONDS = DEFAULT_PACE.deniedPauseMs / 1_000;
const VARIABLES = ['PORT', 'PATH', 'NAMESPACE', 'SUBSYSTEM'].map((name) => `PROMETHEUS_${name}`);

/** What the status page of kubedns says. */
export function kubednsStatus(parts: KubednsParts): StatusSource {
  return {
    notReady: () => notReady(parts),
    problems: () => [
      ...snapshotProblems(parts),
      ...Array.from(parts.watch.statistics).flatMap(watchProblems),
      ...parts.beside.flatMap(({ problems }) => problems?.() ?? []),
      ...overloadProblems(parts.dnsPort.listeners),
      ...subscriberProblems(parts.subscribers),
      ...serverProblems(parts.servers.groups, performance.now(), parts.upstreams),
    ],
    settings: () => environmentSettings(process.env),
    configuration: () => parts.configuration.status,
    sections: () => sections(parts),
  };
}

function notReady({ watch, ...parts }: KubednsParts): string[] {
  const failures = new Map(
    Array.from(watch.statistics, (each) => [each.resource, failureOf(each)]),
  );
  return [
    ...(parts.dnsPort.isOpen ? [] : ['the DNS port is not open']),
    ...(parts.configuration.isActive ? [] : ['no configuration is active yet']),
    ...(watch.isSynced ? [] : watch.pending).map((resource) => {
      const failure = failures.get(resource) ?? '';
      return `the first list of ${resource} is not complete${failure === '' ? '' : `: ${failure}`}`;
    }),
    ...(watch.isOverLimit ? ['objects are missing: a resource exceeds its limits'] : []),
    ...(watch.snapshot !== undefined && !parts.flags['ready-without-api']
      ? ['answers are from a snapshot, and --ready-without-api is false']
      : []),
  ];
}

function snapshotProblems({ watch: { snapshot }, snapshots: { failure } }: KubednsParts): string[] {
  return [
    ...(snapshot === undefined ? [] : [snapshotText(snapshot)]),
    ...(failure === '' ? [] : [failure]),
  ];
}

function watchProblems(watch: ResourceStatistics): string[] {
  const { resource, noContactMs, isOverLimit, excess, isWatched, isDenied } = watch;
  // What does not exist is not missing: it is looked for again each minute.
  if (watch.isAbsent) return [];
  const lastFailure = failureOf(watch);
  if (isOverLimit) return [`${resource} are incomplete: ${excess}`];
  if (isWatched && isDenied && (resource === 'services' || watch.isOptional))
    return [
      `access to ${resource} is denied: see the ClusterRole; next try within ${DENIED_SECONDS} s`,
    ];
  if (noContactMs < STALE_MS) return [];
  const why = lastFailure === '' ? '' : `: ${lastFailure}`;
  const seconds = Math.round(noContactMs / 1_000);
  return [`the watch of ${resource} is stale, without contact for ${seconds} s${why}`];
}

function sections(parts: KubednsParts): StatusSections {
  const { watch, zone, subscribers, federations, telemetry } = parts;
  const nowMs = performance.now();
  const { groups } = parts.servers;
  return {
    'Watches of the API': Array.from(watch.statistics, (each) => watchRow(each, nowMs)),
    Zone: {
      zone: parts.flags.domain,
      serial: String(zone.serial),
      lastChangeSeconds: Math.max(0, seconds(Date.now() - zone.serial * 1_000)),
      namespaces: zone.namespaces.size,
      addresses: zone.addresses.size,
    },
    'Names beside the zone': [
      { source: 'hosts', names: parts.hosts.size, conflicts: 0, leftOut: 0 },
      ...parts.beside.flatMap(({ id, count }) => (count ? [{ source: id, ...count() }] : [])),
    ],
    Snapshot: parts.snapshots.facts(),
    'Records by type': zone.countRecords(),
    'Upstream servers': serverRows({
      servers: new Set(groups.flatMap((group) => group.servers)),
      groups,
      statistics: parts.upstreams,
      nowMs,
    }),
    'Told changes': subscriberFacts(subscribers),
    Subscribers: subscribers.rows().map(({ host, port, ...row }) => ({
      subscriber: formatHostPort({ host, port }),
      subscribedSeconds: seconds(row.forMs),
      lastMessageSeconds: seconds(row.lastSeenAgoMs),
      behindSeconds: row.behindMs === undefined ? null : seconds(row.behindMs),
      unreadBytes: row.unreadBytes,
    })),
    ...(federations.domains.size > 0 && {
      Federations: Array.from(federations.domains, ([federation, domain]) => ({
        federation,
        domain,
        zone: federations.locality?.zone ?? null,
        region: federations.locality?.region ?? null,
      })),
    }),
    'Limited clients': limitedClientRows(parts.dnsPort.listeners),
    ...telemetry.top.sections(),
  };
}

function watchRow(watch: ResourceStatistics, nowMs: number): StatusFacts {
  const restarts = Object.entries(watch.restarts).filter(([, count]) => count > 0);
  return {
    resource: watch.resource,
    state: stateOf(watch),
    isSynced: watch.isSynced,
    objects: watch.objects,
    resourceVersion: watch.version,
    lastEventSeconds: watch.lastEventMs === 0 ? null : seconds(nowMs - watch.lastEventMs),
    relists: watch.relists,
    restarts: restarts.map(([reason, count]) => `${reason} ${count}`).join(', '),
    leftOut: watch.rejected + watch.passedOver,
    lastFailure: failureOf(watch),
  };
}

/** Why the last try failed; '' while a watch is open. */
function failureOf({ isConnected, lastFailure }: ResourceStatistics): string {
  return isConnected ? '' : lastFailure;
}

function stateOf(watch: ResourceStatistics): string {
  const { isWatched, isAbsent, isDenied, isConnected, noContactMs } = watch;
  if (!isWatched) return 'not needed';
  if (isAbsent) return 'not installed';
  if (isDenied) return 'denied';
  if (isConnected) return 'open';
  return noContactMs < STALE_MS ? 'connecting' : 'stale';
}

/** The variables that set what has no flag. */
function environmentSettings(env: NodeJS.ProcessEnv): Setting[] {
  return VARIABLES.flatMap((setting) => {
    const value = env[setting] ?? '';
    return value === '' ? [] : [{ setting, value, from: 'environment' }];
  });
}

/** To a tenth. */
function seconds(ms: number): number {
  return Math.round(ms / 100) / 10;
}
