import { encodeRdata, prependLabels, TYPE } from '@kube-dns/wire';
import { SCHEMA_VERSION } from '../answer/imported-names.js';
import { SRV_TOTAL_WEIGHT } from '../answer/service-answerer.js';
import { countOf, type PortList } from '../watch/projections.js';
import type { ClusterZone } from '../zone/cluster-zone.js';
import type { ImportedHost, ImportedZone, ImportState } from '../zone/imported-zone.js';
import { addressType } from '../zone/zone-names.js';
import {
  addressAt,
  addressRecords,
  portOwner,
  type Records,
  srvRecord,
} from './service-records.js';
import type { TransferableZone } from './transferable-zone.js';

export interface ImportedTransferOptions {
  /** The zone of the cluster, which has the namespaces. */
  readonly cluster: Pick<ClusterZone, 'hasAllNamespaces' | 'hasNamespace'>;
  readonly ttlSeconds: number;
  /** The addresses of this server, 4 or 16 bytes each. */
  readonly serverAddresses: () => readonly Uint8Array[];
  /** Whether all ServiceImports are. */
  readonly isKnown: () => boolean;
}

/** The zone of `--clusterset-domain`, for secondaries: all that is answered in it, see ImportedNames. */
export function transferableImports(
  zone: ImportedZone,
  { cluster, ttlSeconds, serverAddresses, isKnown }: ImportedTransferOptions,
): TransferableZone {
  const { apex, services } = zone;
  const nameServer = prependLabels(['ns', 'dns'], apex);
  const version = {
    owner: prependLabels(['dns-version'], apex),
    type: TYPE.TXT,
    ttlSeconds,
    rdata: encodeRdata({ type: 'TXT', name: '.', data: SCHEMA_VERSION }),
  };
  let wereListed = cluster.hasAllNamespaces;
  const tellSoa = () => {
    // Imports of namespaces that are not known are in the zone, or not.
    if (cluster.hasAllNamespaces !== wereListed) zone.noteChange();
    wereListed = cluster.hasAllNamespaces;
    return zone.tellSoa();
  };
  const isIn = ({ name }: ImportState) => {
    const namespace = name.subarray(1 + name[0]!, name.length - services.length);
    return !wereListed || cluster.hasNamespace(namespace, 0);
  };
  return {
    apex,
    isKnown,
    tellSoa,
    openView: () => {
      const soaRdata = tellSoa();
      const states = Array.from(zone.imports.values(), ({ state }) => state).filter(
        (state) => state !== undefined && isIn(state),
      );
      const addresses = serverAddresses();
      return {
        soaRdata,
        close: () => void states.splice(0),
        *records() {
          yield { owner: apex, type: TYPE.NS, ttlSeconds, rdata: nameServer };
          for (const rdata of addresses) {
            yield { owner: nameServer, type: addressType(rdata.length), ttlSeconds, rdata };
          }
          yield version;
          for (const state of states) yield* importRecords(state!, ttlSeconds);
        },
      };
    },
  };
}

function* importRecords({ name, object, content }: ImportState, ttl: number): Records {
  yield undefined;
  if (object.isHeadless) yield* hostRecords(name, content().hosts, ttl);
  else {
    yield* addressRecords(name, object.ipv4, ttl);
    yield* addressRecords(name, object.ipv6, ttl);
    yield* srvRecords(name, object, SRV_TOTAL_WEIGHT, ttl);
  }
}

/** The addresses of all clusters, each once: these may overlap. */
function* hostRecords(name: Uint8Array, hosts: readonly ImportedHost[], ttl: number): Records {
  const weight = Math.floor(SRV_TOTAL_WEIGHT / hosts.length);
  const seen = new Set<string>();
  for (const host of hosts) {
    yield undefined;
    for (const { size, bytes } of [host.ipv4, host.ipv6]) {
      for (let i = 0; i < countOf({ size, bytes }); i++) {
        const before = seen.size;
        if (seen.add(bytes.slice(i * size, (i + 1) * size)).size === before) continue;
        const rdata = addressAt(bytes, i * size, size);
        yield { owner: name, type: addressType(size), ttlSeconds: ttl, rdata };
      }
    }
    // Its name would be too long.
    if (host.name.length === 0) continue;
    yield* addressRecords(host.name, host.ipv4, ttl);
    yield* addressRecords(host.name, host.ipv6, ttl);
    yield* srvRecords(name, host, weight, ttl);
  }
}

/** SRV records of the import with one target: of each number of a port, and under `_PORT._PROTOCOL` of those with a name. */
function* srvRecords(
  owner: Uint8Array,
  { name: target = owner, ports: list }: { readonly name?: Uint8Array; readonly ports: PortList },
  weight: number,
  ttl: number,
): Records {
  for (const port of list.numbers) yield srvRecord(owner, { weight, port, target }, ttl);
  for (const { name, protocol, port } of list.ports) {
    const below = name === '' ? undefined : portOwner(undefined, `${name}/${protocol}`, owner);
    if (below !== undefined) yield srvRecord(below, { weight, port, target }, ttl);
  }
}
