import { isIP, isIPv4 } from 'node:net';
import { addressBytes, reverseName } from '@kube-dns/wire';
import type { V1Endpoints, V1EndpointSlice, V1Service } from '@kubernetes/client-node';
import { hashLabel } from '../support/hash-label.js';

/** What the API has: the last state of each object. */
export interface Objects {
  readonly services: readonly V1Service[];
  readonly slices: readonly V1EndpointSlice[];
  readonly endpoints: readonly V1Endpoints[];
}

/** What slices and the subsets of Endpoints have in common. */
type Slice = Pick<V1EndpointSlice, 'endpoints' | 'ports'>;

/** `TYPE data` of each record by owner; owners without records exist because something is below them. */
export type Records = ReadonlyMap<string, ReadonlySet<string>>;

interface Port {
  readonly name: string;
  readonly protocol: string;
  readonly port: number;
}

interface Host {
  readonly addresses: Set<string>;
  readonly ports: Map<string, Port>;
}

const ZONE = 'cluster.local';

/**
 * All records of a cluster, computed from scratch and as plainly as can be: what the answers are to be
 * compared with. Addresses are in canonical text.
 */
export function expectedRecords({ services, slices, endpoints }: Objects): Records {
  const records = new Map<string, Set<string>>();
  const add = (owner: string, ...texts: string[]) => {
    for (let name = owner; name.endsWith(`.${ZONE}`); name = name.replace(/^[^.]*\./, '')) {
      if (!records.has(name)) records.set(name, new Set());
    }
    const set = records.get(owner) ?? new Set();
    for (const text of texts) set.add(text);
    records.set(owner, set);
  };
  for (const service of services) {
    const namespace = service.metadata?.namespace ?? '';
    const name = service.metadata?.name ?? '';
    const self = `${name}.${namespace}.svc.${ZONE}`;
    add(`${namespace}.svc.${ZONE}`);
    const { spec } = service;
    if (spec?.type === 'ExternalName') {
      const target = spec.externalName ?? '';
      if (isIP(target) === 0) add(self, `CNAME ${target}`);
      else addHosts(add, self, new Map([[self, hostOf([target], [])]]));
      continue;
    }
    const addresses = (spec?.clusterIPs ?? []).filter((ip) => isIP(ip) !== 0);
    if (addresses.length > 0) {
      const ports = portsOf(spec?.ports);
      addHosts(add, self, new Map([[self, hostOf(addresses, ports)]]));
      for (const ip of addresses) {
        const own = new Map([[`${hashLabel(ip)}.${self}`, hostOf([ip], ports)]]);
        addHosts(add, undefined, own);
        addHostPorts(add, self, own);
        add(reverseOf(ip), `PTR ${self}`);
      }
      continue;
    }
    const own = slices.filter(
      ({ metadata }) =>
        metadata?.namespace === namespace &&
        metadata.labels?.['kubernetes.io/service-name'] === name,
    );
    const subsets = endpoints
      .filter(({ metadata }) => metadata?.namespace === namespace && metadata.name === name)
      .flatMap((object) => object.subsets ?? [])
      .map(({ addresses, ports }) => ({
        endpoints: (addresses ?? []).map(({ ip, hostname }) => ({
          addresses: [ip],
          ...(hostname !== undefined && { hostname }),
        })),
        ports: ports ?? [],
      }));
    const hosts = hostsOf([...own, ...subsets], self);
    if (hosts.size > 0) addHosts(add, self, hosts);
    addHostPorts(add, self, hosts);
    for (const [owner, { addresses: ips }] of hosts) {
      for (const ip of ips) add(reverseOf(ip), `PTR ${owner}`);
    }
  }
  return records;
}

type Add = (owner: string, ...texts: string[]) => void;

/** The records of a service and its hosts; those of hosts alone where there is no `self`. */
function addHosts(add: Add, self: string | undefined, hosts: ReadonlyMap<string, Host>): void {
  for (const [owner, { addresses, ports }] of hosts) {
    for (const name of new Set([owner, self ?? owner])) add(name, ...[...addresses].map(recordOf));
    const numbers = numbersOf(ports);
    if (owner !== self) {
      for (const port of numbers) {
        add(owner, `SRV 10 ${Math.floor(100 / numbers.length)} ${port} ${owner}`);
      }
    }
  }
  if (self === undefined) return;
  const all = [...hosts].flatMap(([owner, { ports }]) =>
    numbersOf(ports).map((port) => ({ owner, port })),
  );
  for (const { owner, port } of all) {
    add(self, `SRV 10 ${Math.floor(100 / all.length)} ${port} ${owner}`);
  }
  const named = new Map<string, Set<string>>();
  for (const [owner, { ports }] of hosts) {
    for (const { name, protocol, port } of ports.values()) {
      if (name === '') continue;
      const key = `_${name}._${protocol}.${self}`;
      named.set(key, (named.get(key) ?? new Set()).add(`${port} ${owner}`));
    }
  }
  for (const [key, targets] of named) {
    const weight = Math.floor(100 / targets.size);
    add(key, ...[...targets].map((target) => `SRV 10 ${weight} ${target}`));
  }
}

/** The records that each host has for each of its named ports: `<host>._<port>._<protocol>.<service>`. */
function addHostPorts(add: Add, self: string, hosts: ReadonlyMap<string, Host>): void {
  for (const [owner, { ports }] of hosts) {
    const label = owner.slice(0, owner.indexOf('.'));
    const named = [...ports.values()].filter(({ name }) => name !== '');
    for (const { name, protocol } of named) {
      const numbers = named.filter((port) => port.name === name && port.protocol === protocol);
      const weight = Math.floor(100 / numbers.length);
      const records = numbers.map(({ port }) => `SRV 10 ${weight} ${port} ${owner}`);
      add(`${label}._${name}._${protocol}.${self}`, ...records);
    }
  }
}

function hostOf(addresses: readonly string[], ports: readonly Port[]): Host {
  return {
    addresses: new Set(addresses),
    ports: new Map(ports.map((port) => [JSON.stringify(port), port])),
  };
}

function hostsOf(slices: readonly Slice[], self: string): Map<string, Host> {
  const hosts = new Map<string, Host>();
  for (const { endpoints, ports } of slices) {
    for (const { addresses, hostname, conditions } of endpoints ?? []) {
      if (conditions?.ready === false) continue;
      for (const ip of addresses) {
        const owner = `${hostname ?? hashLabel(ip)}.${self}`;
        const host = hosts.get(owner) ?? hostOf([], []);
        host.addresses.add(ip);
        for (const port of portsOf(ports)) host.ports.set(JSON.stringify(port), port);
        hosts.set(owner, host);
      }
    }
  }
  return hosts;
}

function portsOf(
  ports: readonly { name?: string; protocol?: string; port?: number }[] | undefined,
): Port[] {
  return (ports ?? []).flatMap(({ name = '', protocol = 'TCP', port }) =>
    port === undefined ? [] : [{ name, protocol: protocol.toLowerCase(), port }],
  );
}

function numbersOf(ports: ReadonlyMap<string, Port>): number[] {
  return ports.size === 0 ? [0] : [...new Set([...ports.values()].map(({ port }) => port))];
}

function recordOf(ip: string): string {
  return `${isIPv4(ip) ? 'A' : 'AAAA'} ${ip}`;
}

/** The reverse name of an address. */
export function reverseOf(ip: string): string {
  return reverseName(addressBytes(ip));
}
