import { decodeName } from '@kube-dns/wire';
import { type PackedAddresses, type PortList } from '../watch/projections.js';
import {
  addressText,
  type Entry,
  type Node,
  numbered,
  servicesNode,
  sorted,
} from './cache-json.js';
import type { ImportedService, ImportedZone } from './imported-zone.js';

/** What `/cache` shows of imported services: their addresses, those of their endpoints, and their named ports. */
export function importedNode(zone: ImportedZone): Node {
  const namespaces = new Map<string, Map<string, ImportedService>>();
  for (const each of zone.imports.values()) {
    if (!each.hasRecords) continue;
    const [namespace = '', name = ''] = each.key.split('/');
    const services = namespaces.get(namespace) ?? new Map<string, ImportedService>();
    namespaces.set(namespace, services.set(name, each));
  }
  return servicesNode(
    sorted(namespaces).map(([namespace, services]) => {
      const children = sorted(services).map(([name, each]) => [name, serviceNode(each)] as const);
      return [namespace, { children, entries: [] }] as const;
    }),
  );
}

/** One name with its addresses and ports: the import itself, or a host of it. */
export interface Target {
  /** The labels before the name of the import; empty for itself. */
  readonly leaf: string;
  readonly name: string;
  readonly ipv4: PackedAddresses;
  readonly ipv6: PackedAddresses;
  readonly ports: PortList;
}

/** Made when the iteration reaches it. */
function serviceNode(service: ImportedService): Node {
  return {
    get children() {
      return protocolNodes(targetsOf(service));
    },
    get entries() {
      return targetsOf(service).flatMap(({ leaf, ...addresses }) =>
        addressTexts(addresses).map(
          (host, i) =>
            [numbered(leaf === '' ? host : leaf, leaf === '' ? 0 : i), { host }] as const,
        ),
      );
    },
  };
}

function targetsOf({ object, content, name }: ImportedService): Target[] {
  const own = decodeName(name);
  if (!object!.isHeadless) return [{ ...object!, leaf: '', name: `${own}.` }];
  return content.hosts
    .filter((host) => host.name.length > 0)
    .map((host) => {
      const whole = decodeName(host.name);
      return { ...host, leaf: whole.slice(0, -own.length - 1), name: `${whole}.` };
    });
}

/** Of the named ports of targets: `_<protocol>`, and `_<port>` below it. */
export function protocolNodes(targets: readonly Target[]): (readonly [string, Node])[] {
  const byProtocol = new Map<string, Map<string, (readonly [string, Entry])[]>>();
  for (const { leaf, name, ports } of targets) {
    for (const { protocol, name: portName, port } of ports.ports) {
      if (portName === '') continue;
      const byPort = byProtocol.get(protocol) ?? new Map<string, (readonly [string, Entry])[]>();
      byProtocol.set(protocol, byPort);
      const entries = byPort.get(portName) ?? [];
      byPort.set(portName, [...entries, [leaf === '' ? String(port) : leaf, { host: name, port }]]);
    }
  }
  return sorted(byProtocol).map(([protocol, byPort]) => {
    const children = sorted(byPort).map(
      ([port, entries]) => [`_${port}`, { children: [], entries }] as const,
    );
    return [`_${protocol}`, { children, entries: [] }] as const;
  });
}

/** IPv4 first. */
export function addressTexts({ ipv4, ipv6 }: Pick<Target, 'ipv4' | 'ipv6'>): string[] {
  return [...textsOf(ipv4), ...textsOf(ipv6)];
}

function textsOf(packed: PackedAddresses): string[] {
  return Array.from({ length: packed.bytes.length / packed.size }, (_, i) =>
    addressText(packed, i * packed.size),
  );
}
