import { isIpAddress } from '@kube-dns/daemon';
import {
  encodeName,
  MAX_LABEL_BYTES,
  prependLabels,
  TYPE,
  WireError,
  writeUint16,
} from '@kube-dns/wire';
import type { EndpointSlice } from '../cluster/endpoint-slice.js';
import type { Port, Service } from '../cluster/service.js';
import { addressBytes, addressType, reverseName } from './address.js';
import { hashLabel } from './endpoint-name.js';
import type { ZoneRecord } from './record-tree.js';

/** What a service is in DNS: names below the zone, and reverse names. */
export interface ServiceRecords {
  readonly forward: readonly ZoneRecord[];
  readonly reverse: readonly ZoneRecord[];
}

/** One host of a service: a name with its addresses, and the ports that it serves. */
interface Host {
  readonly name: Uint8Array;
  readonly addresses: Map<string, Uint8Array>;
  readonly ports: Map<string, Port>;
  readonly rank: number;
}

/** Priority of every SRV record, and the weight that a set shares (skydns server/server.go). */
const SRV_PRIORITY = 10;
const SRV_TOTAL_WEIGHT = 100;
/** PTR order where an address has several names: the service itself, hostnames, generated names. */
const RANK = { SERVICE: 0, HOSTNAME: 1, GENERATED: 2 } as const;
const UNNAMED: Port = { name: '', protocol: '', port: 0 };

/**
 * The records of one service: a pure function of the service and its endpoint slices, by the schema
 * "Kubernetes DNS-Based Service Discovery" 1.1.0. `servicesZone` is the wire form of `svc.<zone>`.
 */
export function serviceRecords(
  service: Service,
  slices: Iterable<EndpointSlice>,
  servicesZone: Uint8Array,
): ServiceRecords {
  const name = prependLabels([service.name, service.namespace], servicesZone);
  switch (service.kind) {
    case 'cluster-ip':
      return clusterIpRecords(service, name);
    case 'headless':
      return headlessRecords(slices, name);
    case 'external-name':
      return { forward: externalNameRecords(service, name), reverse: [] };
  }
}

function clusterIpRecords(service: Service, name: Uint8Array): ServiceRecords {
  const forward: ZoneRecord[] = [];
  const reverse: ZoneRecord[] = [];
  for (const text of service.addresses) {
    const address = addressBytes(text);
    forward.push(addressRecord(name, address));
    forward.push(addressRecord(prependLabels([hashLabel(text)], name), address));
    reverse.push(pointer(address, name, RANK.SERVICE));
  }
  const locations = serviceLocations(name, [{ name, ports: service.ports }]);
  return { forward: [...forward, ...locations], reverse };
}

function headlessRecords(slices: Iterable<EndpointSlice>, name: Uint8Array): ServiceRecords {
  const hosts = [...groupHosts(slices, name).values()];
  const forward: ZoneRecord[] = [];
  const reverse: ZoneRecord[] = [];
  for (const host of hosts) {
    for (const address of host.addresses.values()) {
      forward.push(addressRecord(name, address), addressRecord(host.name, address));
      reverse.push(pointer(address, host.name, host.rank));
    }
    forward.push(...shortLocations(host.name, [{ name: host.name, ports: portsOf(host) }]));
  }
  const targets = hosts.map((host) => ({ name: host.name, ports: portsOf(host) }));
  return { forward: [...forward, ...serviceLocations(name, targets)], reverse };
}

/** Endpoints that share a hostname are one host with several addresses (schema section 2.4.1). */
function groupHosts(slices: Iterable<EndpointSlice>, name: Uint8Array): Map<string, Host> {
  const hosts = new Map<string, Host>();
  for (const slice of slices) {
    for (const { address, hostname } of slice.endpoints) {
      const label = hostname === '' ? hashLabel(address) : hostname.toLowerCase();
      let host = hosts.get(label);
      if (host === undefined) {
        const rank = hostname === '' ? RANK.GENERATED : RANK.HOSTNAME;
        host = {
          name: prependLabels([label], name),
          addresses: new Map(),
          ports: new Map(),
          rank,
        };
        hosts.set(label, host);
      }
      host.addresses.set(address, addressBytes(address));
      for (const port of slice.ports) {
        host.ports.set(`${port.protocol}/${port.name}/${port.port}`, port);
      }
    }
  }
  return hosts;
}

function portsOf(host: Host): Port[] {
  return [...host.ports.values()];
}

interface Target {
  readonly name: Uint8Array;
  readonly ports: readonly Port[];
}

/** What one SRV record points to. */
interface Location {
  readonly target: Target;
  readonly port: Port;
}

/** The SRV records of a service: under its own name, and under `_port._protocol` for named ports. */
function serviceLocations(name: Uint8Array, targets: readonly Target[]): ZoneRecord[] {
  const byPort = new Map<string, { owner: Uint8Array; locations: Location[] }>();
  for (const target of targets) {
    for (const port of target.ports) {
      // The underscore makes the longest port names too long for a label: these have no record.
      if (port.name === '' || port.name.length >= MAX_LABEL_BYTES) continue;
      const labels = [`_${port.name.toLowerCase()}`, `_${port.protocol}`];
      const key = labels.join('.');
      const group = byPort.get(key) ?? { owner: prependLabels(labels, name), locations: [] };
      group.locations.push({ target, port });
      byPort.set(key, group);
    }
  }
  const named = [...byPort.values()].flatMap(({ owner, locations }) =>
    locationSet(owner, locations),
  );
  return [...shortLocations(name, targets), ...named];
}

/** SRV asked without a port: every port of every target, port 0 only where there are no ports. */
function shortLocations(owner: Uint8Array, targets: readonly Target[]): ZoneRecord[] {
  const locations = targets.flatMap((target) =>
    numbersOf(target.ports).map((port) => ({ target, port })),
  );
  return locationSet(owner, locations);
}

/** One port of each number: 53 over TCP and over UDP would make the same record twice. */
function numbersOf(ports: readonly Port[]): Port[] {
  return ports.length === 0
    ? [UNNAMED]
    : [...new Map(ports.map((port) => [port.port, port])).values()];
}

function locationSet(owner: Uint8Array, locations: readonly Location[]): ZoneRecord[] {
  const weight = Math.floor(SRV_TOTAL_WEIGHT / locations.length);
  return locations.map(({ target, port }) => location(owner, weight, port.port, target.name));
}

function externalNameRecords(service: Service, owner: Uint8Array): ZoneRecord[] {
  const target = service.externalName.replace(/\.$/, '');
  // An address in place of a name is answered as one: users of the original rely on it.
  if (isIpAddress(target)) return [addressRecord(owner, addressBytes(target))];
  if (target === '') throw new WireError('bad-name', 'the service has no externalName');
  return [{ owner, type: TYPE.CNAME, rdata: encodeName(target), rank: 0 }];
}

function addressRecord(owner: Uint8Array, address: Uint8Array): ZoneRecord {
  return { owner, type: addressType(address), rdata: address, rank: 0 };
}

function pointer(address: Uint8Array, name: Uint8Array, rank: number): ZoneRecord {
  return { owner: reverseName(address), type: TYPE.PTR, rdata: name, rank };
}

function location(owner: Uint8Array, weight: number, port: number, target: Uint8Array): ZoneRecord {
  const rdata = new Uint8Array(6 + target.length);
  writeUint16(rdata, 0, SRV_PRIORITY);
  writeUint16(rdata, 2, weight);
  writeUint16(rdata, 4, port);
  rdata.set(target, 6);
  return { owner, type: TYPE.SRV, rdata, rank: 0 };
}
