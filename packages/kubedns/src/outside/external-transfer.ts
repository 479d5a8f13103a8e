import { prependLabels, type ResourceRecord, TYPE } from '@kube-dns/wire';
import {
  addressRecords,
  portRecords,
  type Records,
  srvRecords,
} from '../transfer/service-records.js';
import type { TransferableZone } from '../transfer/transferable-zone.js';
import type { HostRecords } from '../watch/projections.js';
import type { ExternalZone, OutsideService } from './external-zone.js';

/** The zone of `--external-domain`, for secondaries: all that is answered in it. */
export function transferableExternal(zone: ExternalZone, ttlSeconds: number): TransferableZone {
  const { apex } = zone;
  const nameServer = prependLabels(['ns', 'dns'], apex);
  return {
    apex,
    tellSoa: () => zone.tellSoa(),
    openView: () => {
      // A service that changes is replaced: the objects themselves are the state.
      const services = [...zone.services];
      const server = zone.serverRecords();
      return {
        soaRdata: zone.tellSoa(),
        close: () => void services.splice(0),
        *records() {
          yield { owner: apex, type: TYPE.NS, ttlSeconds, rdata: nameServer };
          yield* hostRecords(nameServer, server, ttlSeconds);
          for (const service of services) yield* outsideRecords(service, ttlSeconds);
        },
      };
    },
  };
}

function* outsideRecords(service: OutsideService, ttlSeconds: number): Records {
  const { name, records, ports } = service;
  yield* hostRecords(name, records, ttlSeconds);
  const targets = [{ name: records.target ?? name, ports }];
  // Nothing is beside a CNAME.
  if (records.target === undefined) yield* srvRecords(name, targets, ttlSeconds);
  yield* portRecords(undefined, targets, name, ttlSeconds);
}

function* hostRecords(owner: Uint8Array, records: HostRecords, ttlSeconds: number): Records {
  const { ipv4, ipv6, target } = records;
  if (target !== undefined) yield cname(owner, target, ttlSeconds);
  yield* addressRecords(owner, ipv4, ttlSeconds);
  yield* addressRecords(owner, ipv6, ttlSeconds);
}

function cname(owner: Uint8Array, rdata: Uint8Array, ttlSeconds: number): ResourceRecord {
  return { owner, type: TYPE.CNAME, ttlSeconds, rdata };
}
