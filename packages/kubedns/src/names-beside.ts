import { StartupError } from '@kube-dns/daemon';
import type { Trace } from '@kube-dns/base';
import { overlaps } from '@kube-dns/push';
import type { ExplainedStep } from '@kube-dns/telemetry';
import { addressText, bindAddress, encodeKey, isInZone, ROOT_NAME } from '@kube-dns/wire';
import { IMPORT_READ, ImportedNames } from './answer/imported-names.js';
import { namingOf, ownAddresses } from './answer/kubedns-answerer.js';
import { combineLocalNames, type LocalNames } from './answer/local-names.js';
import { nameServerAddresses } from './answer/zone-answerer.js';
import type { KubednsFlags } from './config/flags.js';
import { importedSteps } from './explain/imported-steps.js';
import { externalNode, hostsNode } from './outside/outside-json.js';
import { transferableExternal } from './outside/external-transfer.js';
import { ExternalZone } from './outside/external-zone.js';
import type { FederatedNames } from './federation/federations.js';
import { RouteNames } from './outside/route-names.js';
import { SearchNames } from './search/search-names.js';
import type { ZoneChanges } from './subscription/announced-records.js';
import { transferableImports } from './transfer/imported-transfer.js';
import type { TransferableZone } from './transfer/transferable-zone.js';
import type { OptionalName, OptionalResource, OptionalState } from './watch/optional-watch.js';
import {
  type HostRecords,
  type KeptFields,
  packAddresses,
  type RecordStore,
} from './watch/projections.js';
import { serviceImports } from './watch/service-imports.js';
import type { DumpedZone } from './zone/cache-json.js';
import type { ClusterZone } from './zone/cluster-zone.js';
import { importedNode } from './zone/imported-json.js';
import { ImportedZone } from './zone/imported-zone.js';

const EXIT_FATAL = 255;
/** Of more conflicts these are shown. */
const MAX_SHOWN_CONFLICTS = 20;

/** Of the zones of the cluster and of search names together: leaves space for a name, and for a namespace of 63 bytes. */
const MAX_SEARCH_ZONE_BYTES = 120;

/** How many names a source has. */
export interface NameCount {
  readonly names: number;
  /** Names that several objects take, with different records. */
  readonly conflicts: number;
  /** Names that are too long for the zone. */
  readonly leftOut: number;
}

/** What sources of names beside the cluster's zone are made of. */
export interface BesideOptions {
  readonly flags: KubednsFlags;
  /** The zone of the cluster: its namespaces, and the addresses of its DNS service. */
  readonly zone: ClusterZone;
  /** Takes the names whose records changed; a source adds those of its own. */
  readonly changes: ZoneChanges;
  /** Whether the cluster itself is known. */
  readonly isSynced: () => boolean;
  /** Whether the objects of an optional resource are known. */
  readonly isKnown: (name: OptionalName) => boolean;
  /** Whether access to it is denied, so that its objects may never be known. */
  readonly isDenied: (name: OptionalName) => boolean;
  readonly stateOf: (name: OptionalName) => OptionalState;
  /** Whether what is known is from a snapshot. */
  readonly isFromSnapshot: () => boolean;
  /** The names of the configuration's key `hosts`. */
  readonly hosts: LocalNames;
  readonly federations: FederatedNames;
}

/**
 * A source of names that kubedns answers beside the cluster's zone, and all that the other parts need to know of it: what
 * is watched for it, who applies the objects, and what is announced.
 */
export interface NamesBeside {
  /** As in snapshots: which fields of objects are stored for it. */
  readonly id: string;
  readonly names: LocalNames;
  /** What is watched for it, beside what the cluster's zone needs. */
  readonly resources: readonly OptionalResource[];
  /** The number of its names, as metrics and the status page have it; none unless given. */
  readonly count?: (() => NameCount) | undefined;
  /** What the status page says of it as a problem; nothing unless given. */
  readonly problems?: (() => readonly string[]) | undefined;
  /** Which fields of services and namespaces are stored for it; none unless given. */
  readonly keeps?: Partial<KeptFields>;
  /** Gets the services, slices and namespaces of the cluster, each after the zone has it. */
  readonly records?: Partial<RecordStore>;
  /** The zones of its names: who subscribes to one learns its changes, and NOTIFY names it. */
  readonly zones: readonly Pick<TransferableZone, 'apex' | 'tellSoa'>[];
  /** The zones of which not every change is announced: caches keep their answers for as long as the TTLs say. None unless given. */
  readonly unannounced?: readonly Uint8Array[];
  /** What of it secondaries may transfer; nothing unless given. */
  readonly transferable?: readonly TransferableZone[];
  /** What led to the answer about a name, by the trace of its question; undefined where this source has no part in it. */
  readonly explain?: (name: string, trace: Trace) => ExplainedStep[] | undefined;
  /** What `/cache` shows. */
  readonly dump?: DumpedZone;
}

/** Each makes its source where the flags ask for it; the first that has a name answers it. */
const SOURCES: readonly ((options: BesideOptions) => NamesBeside | undefined)[] = [
  importedNames,
  externalNames,
  routeNames,
];

/** The sources that the flags ask for. */
export function namesBeside(options: BesideOptions): readonly NamesBeside[] {
  const { 'clusterset-domain': imported, 'external-domain': external } = options.flags;
  if (external !== '' && imported === external) {
    const problem = `--clusterset-domain and --external-domain are both ${external}`;
    throw new StartupError(problem, EXIT_FATAL);
  }
  const sources = SOURCES.flatMap((create) => create(options) ?? []);
  return [...sources, ...searchNames(options, sources)];
}

/** The fields of objects that are stored for any of these. */
export function keptFields(sources: readonly NamesBeside[]): KeptFields {
  return {
    outside: sources.some(({ keeps }) => keeps?.outside === true),
    hostNames: sources.some(({ keeps }) => keeps?.hostNames === true),
  };
}

function externalNames({ flags, zone, changes, isSynced }: BesideOptions): NamesBeside | undefined {
  const { 'external-domain': domain } = flags;
  if (domain === '') return undefined;
  const apex = encodeKey(domain);
  if (isInZone(apex, apex.length, zone.apex)) {
    throw new StartupError(
      `--external-domain: ${domain} is in the zone of the cluster`,
      EXIT_FATAL,
    );
  }
  const names = new ExternalZone({
    domain,
    ttlSeconds: flags['record-ttl'],
    negativeTtlSeconds: flags['negative-ttl'],
    changes,
    isSynced,
    ownRecords: () => dnsRecords(zone, flags),
  });
  return {
    id: 'external-domain',
    names,
    resources: [],
    count: () => ({ names: names.size, conflicts: 0, leftOut: names.tooLong }),
    keeps: { outside: true },
    records: { putService: (key, service) => names.putService(key, service) },
    zones: [names],
    transferable: [transferableExternal(names, flags['record-ttl'])],
    dump: { apex: names.apex, node: () => externalNode(names) },
  };
}

/** The cluster addresses of the DNS service, or else those of this machine. */
function dnsRecords(zone: ClusterZone, flags: KubednsFlags): HostRecords {
  const own = ownAddresses(bindAddress(flags['dns-bind-address']));
  const addresses = nameServerAddresses(zone, own).map(addressText);
  const [ipv4, ipv6] = [packAddresses(addresses, 4), packAddresses(addresses, 16)];
  return { ipv4, ipv6, target: undefined };
}

function routeNames(options: BesideOptions): NamesBeside | undefined {
  const { flags, zone, changes, isSynced, isKnown, isDenied } = options;
  if (!flags['route-names']) return undefined;
  const names = new RouteNames({
    zone,
    ttlSeconds: flags['record-ttl'],
    negativeTtlSeconds: flags['negative-ttl'],
    changes,
    isSynced,
    isSettled: (name) => isKnown(name) || isDenied(name),
  });
  return {
    id: 'route-names',
    names,
    resources: names.resources,
    count: () => {
      const { size, conflicts } = names.index;
      return { names: size, conflicts: conflicts.size, leftOut: 0 };
    },
    problems: () => conflictProblems(names),
    keeps: { outside: true, hostNames: true },
    records: {
      putService: (key, service) => names.putService(key, service),
      putNamespace: (name, exists, hasHostNames) => names.putNamespace(name, exists, hasHostNames),
    },
    zones: [],
    dump: { apex: ROOT_NAME, node: () => hostsNode(names.hosts()) },
  };
}

/** With `--search-zone`: what is looked up there may be a name of any other source. */
function searchNames(options: BesideOptions, sources: readonly NamesBeside[]): NamesBeside[] {
  const { flags, zone, isSynced, isFromSnapshot, hosts } = options;
  const { 'search-zone': domain, 'search-extra': extra } = flags;
  if (domain === '') return [];
  const apex = encodeKey(domain);
  const zones = [zone, ...sources.flatMap((each) => each.zones)];
  if (zones.some((other) => overlaps(apex, other.apex))) {
    const problem = `--search-zone=${domain}: it is, or is in, or has in it, another zone of this server`;
    throw new StartupError(problem, EXIT_FATAL);
  }
  if (zone.apex.length + apex.length > MAX_SEARCH_ZONE_BYTES) {
    const problem = `--search-zone=${domain}: with ${flags.domain} before it, it leaves no space for names`;
    throw new StartupError(problem, EXIT_FATAL);
  }
  const { pods, wildcards, zonal, federate } = namingOf(options);
  const own = ownAddresses(bindAddress(flags['dns-bind-address']));
  const names = new SearchNames({
    domain,
    extra,
    zone,
    reading: {
      pods,
      wildcards,
      zonal,
      federate,
      hiddenNamespaces: [...flags['hidden-namespaces']],
      random: Math.random,
    },
    others: combineLocalNames([hosts, ...sources.map((each) => each.names)]),
    ttlSeconds: flags['record-ttl'],
    negativeTtlSeconds: flags['negative-ttl'],
    isSynced,
    isFromSnapshot,
    serverAddresses: () => nameServerAddresses(zone, own),
  });
  // What its names lead to is a matter of other servers, too.
  return [{ id: 'search-zone', names, resources: [], zones: [], unannounced: [names.apex] }];
}

function conflictProblems(names: RouteNames): string[] {
  const problems: string[] = [];
  const { size } = names.index.conflicts;
  for (const { host, owner, others } of names.conflicts()) {
    if (problems.length === MAX_SHOWN_CONFLICTS) {
      problems.push(`${size - MAX_SHOWN_CONFLICTS} more hosts are taken by several objects`);
      break;
    }
    problems.push(`the host ${host} is that of ${owner}, which is older than ${others.join(', ')}`);
  }
  return problems;
}
/** The services of other clusters, with `--clusterset-domain`. */
function importedNames(options: BesideOptions): NamesBeside | undefined {
  const { flags, zone, changes, isSynced, isKnown, stateOf } = options;
  if (flags['clusterset-domain'] === '') return undefined;
  const { 'clusterset-domain': domain, 'negative-ttl': negativeTtlSeconds } = flags;
  const imported = new ImportedZone({ domain, negativeTtlSeconds, changes });
  if (overlaps(imported.apex, zone.apex)) {
    const problem = `--clusterset-domain=${domain} and --domain=${flags.domain} are in one another`;
    throw new StartupError(problem, EXIT_FATAL);
  }
  const own = ownAddresses(bindAddress(flags['dns-bind-address']));
  const parts = {
    cluster: zone,
    ttlSeconds: flags['record-ttl'],
    serverAddresses: () => nameServerAddresses(zone, own),
  };
  const areKnown = () => isKnown('serviceimports');
  const transferable = transferableImports(imported, { ...parts, isKnown: areKnown });
  return {
    id: 'clusterset',
    names: new ImportedNames({
      zone: imported,
      ...parts,
      negativeTtlSeconds,
      isSynced: () => isSynced() && areKnown(),
    }),
    resources: [serviceImports((key, after) => imported.putImport(key, after))],
    records: {
      replaceSlice: (before, after) => imported.replaceSlice(before, after),
      putNamespace: (name) => imported.putNamespace(name),
      putService: (key) => imported.putService(key),
    },
    zones: [transferable],
    transferable: [transferable],
    explain: (name, trace) => {
      const reading = trace.first(IMPORT_READ);
      const state = stateOf('serviceimports');
      return reading && importedSteps(name, reading, { zone: imported, state });
    },
    dump: { apex: imported.apex, node: () => importedNode(imported) },
    count: () => ({
      names: imported.imports.size,
      conflicts: 0,
      leftOut: imported.countLeftOut(),
    }),
  };
}
