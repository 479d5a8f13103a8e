import { errorText, type Log } from '@kube-dns/daemon';
import {
  encodeKey,
  encodeRdata,
  prependLabels,
  readUint32,
  TYPE,
  writeUint32,
} from '@kube-dns/wire';
import type { RecordKeeper } from '../cluster/cluster-state.js';
import type { EndpointSlice } from '../cluster/endpoint-slice.js';
import type { Service } from '../cluster/service.js';
import { RecordTree } from './record-tree.js';
import { type ServiceRecords, serviceRecords } from './service-records.js';

/** The version of the schema "Kubernetes DNS-Based Service Discovery" that the zone follows. */
const SCHEMA_VERSION = '1.1.0';
const SOA_TIMES = { refresh: 28_800, retry: 7_200, expire: 604_800 };
/** The serial stands before four other 32-bit numbers at the end of the rdata. */
const SOA_SERIAL_FROM_END = 20;
const NO_RECORDS: ServiceRecords = { forward: [], reverse: [] };

export interface ClusterZoneOptions {
  /** As `cluster.local.`; every label is valid. */
  readonly domain: string;
  /** The SOA's minimum, in seconds. */
  readonly negativeTtlSeconds: number;
  readonly log: Log;
  readonly now?: () => number;
}

/** The zone of one cluster: what its services and namespaces come to in DNS. */
export class ClusterZone implements RecordKeeper {
  readonly apex: Uint8Array;
  /** `pod.<zone>`, the parent of the names of pods. */
  readonly pods: Uint8Array;
  /** Names in the zone. */
  readonly forward: RecordTree;
  /** Names below in-addr.arpa and ip6.arpa that the cluster owns. */
  readonly reverse = new RecordTree();
  readonly soaRdata: Uint8Array;
  /** Whether namespaces are known by themselves, and not only by their services. */
  knowsNamespaces = false;
  readonly #services: Uint8Array;
  readonly #log: Log;
  readonly #now: () => number;

  constructor(options: ClusterZoneOptions) {
    this.apex = encodeKey(options.domain);
    this.#services = prependLabels(['svc'], this.apex);
    this.pods = prependLabels(['pod'], this.apex);
    this.#log = options.log;
    this.#now = options.now ?? Date.now;
    this.forward = new RecordTree(this.apex);
    const domain = options.domain.replace(/\.$/, '');
    this.soaRdata = encodeRdata({
      type: 'SOA',
      name: domain,
      data: {
        ...SOA_TIMES,
        mname: `ns.dns.${domain}`,
        rname: `hostmaster.${domain}`,
        serial: 0,
        minimum: options.negativeTtlSeconds,
      },
    });
    const version = encodeRdata({ type: 'TXT', name: domain, data: SCHEMA_VERSION });
    const owner = prependLabels(['dns-version'], this.apex);
    this.forward.replace(
      'zone',
      [{ owner, type: TYPE.TXT, rdata: version, rank: 0 }],
      [this.#services, this.pods],
    );
    this.#countChange();
  }

  putService(key: string, service: Service | undefined, slices: Iterable<EndpointSlice>): void {
    const source = `service ${key}`;
    const records = service === undefined ? NO_RECORDS : this.#recordsOf(key, service, slices);
    this.forward.replace(source, records.forward);
    this.reverse.replace(source, records.reverse);
    this.#countChange();
    this.#log.verbose(
      3,
      `${key}: ${records.forward.length} records, ${records.reverse.length} reverse`,
    );
  }

  putNamespace(name: string, exists: boolean): void {
    const parents = exists ? [this.#services, this.pods] : [];
    const names = parents.map((parent) => prependLabels([name], parent));
    this.forward.replace(`namespace ${name}`, [], names);
    this.#countChange();
  }

  /** A service that makes no valid names has no records; its old ones must not stay. */
  #recordsOf(key: string, service: Service, slices: Iterable<EndpointSlice>): ServiceRecords {
    try {
      return serviceRecords(service, slices, this.#services);
    } catch (error) {
      this.#log.error(`service ${key}: ${errorText(error)}; it gets no records`);
      return NO_RECORDS;
    }
  }

  /** The serial is the time of the last change; it stands still while the clock is behind it. */
  #countChange(): void {
    const at = this.soaRdata.length - SOA_SERIAL_FROM_END;
    const seconds = Math.floor(this.#now() / 1000);
    writeUint32(this.soaRdata, at, Math.max(seconds, readUint32(this.soaRdata, at)));
  }
}
