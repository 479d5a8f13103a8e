import { hostname, networkInterfaces } from 'node:os';
import { isIpAddress } from '@kube-dns/daemon';
import type { QueryForwarder } from '@kube-dns/transport';
import { addressBytes, bindAddress, EVERY_ADDRESS } from '@kube-dns/wire';
import type { KubednsFlags } from '../config/flags.js';
import type { Upstreams } from '../config/upstreams.js';
import { federatedTarget, type Federations } from '../federation/federations.js';
import type { ClusterZone } from '../zone/cluster-zone.js';
import type { ZoneName } from '../zone/zone-name.js';
import { ChaosAnswerer } from './chaos-answerer.js';
import { ExternalNames } from './external-name.js';
import { KubednsAnswerer } from './kubedns-answerer.js';
import type { QueryStatistics } from './query-statistics.js';
import { ReverseAnswerer } from './reverse-answerer.js';
import { UpstreamRecords } from './upstream-records.js';
import { ZoneAnswerer } from './zone-answerer.js';

/** Clients time out after 5 s; they get SERVFAIL before. */
export const UPSTREAM_DEADLINE_MS = 4_000;

/** The parts that answers are made from. */
export interface CompositionOptions {
  readonly flags: KubednsFlags;
  readonly version: string;
  readonly zone: ClusterZone;
  readonly forwarder: QueryForwarder;
  readonly upstreams: Pick<Upstreams, 'groupFor'>;
  readonly federations: Pick<Federations, 'isActive' | 'find' | 'locality'>;
  readonly statistics: QueryStatistics;
  readonly isSynced: () => boolean;
}

/** How the names of the zone are read, from the flags. */
export function namingOf({
  flags,
  zone,
  federations,
}: Pick<CompositionOptions, 'flags' | 'zone' | 'federations'>) {
  return {
    zone,
    pods: flags.pods,
    wildcards: flags.wildcards,
    federate: (name: ZoneName) => federatedTarget(federations, name, zone),
  };
}

/** Composes the answerer from the flags. */
export function composeAnswerer(options: CompositionOptions): KubednsAnswerer {
  const { flags, version, zone, forwarder, upstreams, statistics, isSynced } = options;
  const ttls = { ttlSeconds: flags['record-ttl'], negativeTtlSeconds: flags['negative-ttl'] };
  const zoneAnswerer = new ZoneAnswerer({
    ...ttls,
    ...namingOf(options),
    ownAddresses: ownAddresses(bindAddress(flags['dns-bind-address'])),
  });
  const reverse = new ReverseAnswerer({ ...ttls, zone, mode: flags.ptr });
  const records = new UpstreamRecords({ zone: zoneAnswerer, reverse, isSynced });
  return new KubednsAnswerer({
    zone: zoneAnswerer,
    reverse,
    chaos: new ChaosAnswerer({ version: `kube-dns ${version}`, hostname: hostname() }),
    externalNames: new ExternalNames({
      zone: zoneAnswerer,
      records,
      forwarder,
      upstreams,
      ...ttls,
    }),
    upstreamRecords: records,
    forwarder,
    upstreams,
    statistics,
    isSynced,
  });
}

/** The addresses that clients use for this server, as far as they can be found out. */
function ownAddresses(given: string): Uint8Array[] {
  if (given !== EVERY_ADDRESS) return [given].filter(isIpAddress).map(addressBytes);
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, address }) => !internal && !address.startsWith('fe80:'))
    .map(({ address }) => addressBytes(address));
}
