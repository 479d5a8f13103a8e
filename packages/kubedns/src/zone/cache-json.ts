import { decodeName } from '@kube-dns/wire';
import {
  IPV4_BYTES,
  IPV6_BYTES,
  type PackedAddresses,
  type PortList,
} from '../watch/projections.js';
import type { ClusterZone, ZoneNamespace } from './cluster-zone.js';
import { writeIpv6Text } from './zone-names.js';
import type { ServiceIndex } from './service-index.js';
import { ZONAL_LABEL } from './zonal-names.js';
import { type EndpointSet, writeHostLabel, type ZoneService } from './zone-service.js';

/** A node of the original's tree (kubernetes/dns pkg/dns/treecache): nodes below it, and records. */
export interface Node {
  readonly children: Iterable<readonly [label: string, node: Node]>;
  readonly entries: Iterable<readonly [leaf: string, entry: Entry]>;
}

/** A record of the original's tree (skydns msg.Service); zero values are left out. */
export interface Entry {
  readonly host: string;
  readonly port?: number;
}

/** Another zone than the cluster's that is shown. */
export interface DumpedZone {
  readonly apex: Uint8Array;
  /** What is below its name. */
  readonly node: () => Node;
}

const PRIORITY = 10;
const WEIGHT = 10;
const TTL_SECONDS = 30;
/** Size of one yielded chunk. */
const CHUNK_CHARACTERS = 64 * 1024;
const MAX_TEXT_BYTES = 64;

/**
 * The records of the zone as the original shows them at `/cache`: JSON, indented by tabs, namespaces and
 * services sorted, in chunks of some 64 KiB that are generated on demand. A change during the iteration may
 * be included or not. Further addresses of one hostname, which the original leaves out, end in `#2`, `#3` …
 */
export function* cacheJson(
  zone: ClusterZone,
  beside: readonly DumpedZone[] = [],
): Generator<string, void> {
  let chunk = '';
  for (const piece of nodePieces(rootOf(zone, beside), '')) {
    chunk += piece;
    if (chunk.length < CHUNK_CHARACTERS) continue;
    yield chunk;
    chunk = '';
  }
  yield chunk;
}

function* nodePieces({ children, entries }: Node, indent: string): Generator<string, void> {
  const inner = `${indent}\t`;
  yield `{\n${inner}"ChildNodes": `;
  yield* mapPieces(children, inner, (node, at) => nodePieces(node, at));
  yield `,\n${inner}"Entries": `;
  yield* mapPieces(entries, inner, entryPieces);
  yield `\n${indent}}`;
}

function* mapPieces<T>(
  pairs: Iterable<readonly [string, T]>,
  indent: string,
  pieces: (value: T, indent: string) => Iterable<string>,
): Generator<string, void> {
  const inner = `${indent}\t`;
  let isEmpty = true;
  for (const [key, value] of pairs) {
    yield `${isEmpty ? '{' : ','}\n${inner}${JSON.stringify(key)}: `;
    yield* pieces(value, inner);
    isEmpty = false;
  }
  yield isEmpty ? '{}' : `\n${indent}}`;
}

function entryPieces({ host, port = 0 }: Entry, indent: string): string[] {
  const fields = [
    ['host', host],
    ...(port === 0 ? [] : [['port', port]]),
    ['priority', PRIORITY],
    ['weight', WEIGHT],
    ['ttl', TTL_SECONDS],
  ];
  const lines = fields.map(([name, value]) => `${indent}\t"${name!}": ${JSON.stringify(value)}`);
  return [`{\n${lines.join(',\n')}\n${indent}}`];
}

function rootOf(zone: ClusterZone, beside: readonly DumpedZone[]): Node {
  const own = () => servicesNode(namespaceNodes(zone));
  const zones = [
    ...(zone.namespaces.size === 0 ? [] : [{ apex: zone.apex, node: own }]),
    ...beside,
  ];
  return treeOf(zones.map(({ apex, node }) => ({ labels: labelsOf(decodeName(apex)), node })));
}

/** The node of a zone with these namespaces. */
export function servicesNode(namespaces: Node['children']): Node {
  return { children: [['svc', { children: namespaces, entries: [] }]], entries: [] };
}

/** The tree above zones; `labels` are those that are left of a zone's name, the first one below the root first. */
function treeOf(zones: readonly { labels: readonly string[]; node: () => Node }[]): Node {
  const [own, others] = [true, false].map((isOwn) =>
    zones.filter(({ labels }) => (labels.length === 0) === isOwn),
  );
  const tops = [...new Set(others!.map(({ labels }) => labels[0]!))].sort();
  const children = tops.map((top) => {
    const below = others!.filter(({ labels }) => labels[0] === top);
    const rest = below.map(({ labels, node }) => ({ labels: labels.slice(1), node }));
    return [top, treeOf(rest)] as const;
  });
  const nodes = own!.map(({ node }) => node());
  return merged(
    tops.length === 0 && nodes.length > 0 ? nodes : [...nodes, { children, entries: [] }],
  );
}

/** Nodes of one name as one: hosts may be of any zone. */
function merged(nodes: readonly Node[]): Node {
  const [first] = nodes;
  if (nodes.length === 1) return first!;
  return {
    get children() {
      const byLabel = new Map<string, Node[]>();
      for (const [label, node] of nodes.flatMap(({ children }) => [...children])) {
        byLabel.set(label, [...(byLabel.get(label) ?? []), node]);
      }
      return sorted(byLabel).map(([label, same]) => [label, merged(same)] as const);
    },
    get entries() {
      return new Map(nodes.flatMap(({ entries }) => [...entries]));
    },
  };
}

/** The labels of a name, the one next to the root first. */
export function labelsOf(name: string): string[] {
  return name
    .split('.')
    .filter((label) => label !== '')
    .reverse();
}

/** Each is made when the iteration reaches it. */
function* namespaceNodes({ namespaces, index }: ClusterZone): Generator<readonly [string, Node]> {
  for (const [name, namespace] of sorted(namespaces)) yield [name, namespaceNode(index, namespace)];
}

function namespaceNode(index: ServiceIndex, { services }: ZoneNamespace): Node {
  const nodes: (readonly [string, Node])[] = [];
  const entries: (readonly [string, Entry])[] = [];
  for (const [name, service] of sorted(services)) {
    const { kind, cname } = service.service ?? {};
    if (cname !== undefined) entries.push([name, { host: `${decodeName(cname)}.` }]);
    else if (kind === 'external-name') entries.push(...hostEntries(service.makeSet(), () => name));
    else if (kind === 'cluster-ip' || (service.isHeadless && service.hasEndpoints)) {
      nodes.push([name, serviceNode(index, service)]);
    }
  }
  return { children: nodes, entries };
}

/** Sets are made when the iteration reaches the service, and not stored. */
function serviceNode(index: ServiceIndex, service: ZoneService): Node {
  return {
    get children() {
      return [...protocolNodes(index, service), ...zonalNodes(service)];
    },
    get entries() {
      const set = service.makeSet();
      return hostEntries(set, (host) => leafOf(set, host));
    },
  };
}

function protocolNodes(index: ServiceIndex, service: ZoneService): (readonly [string, Node])[] {
  const set = service.makeSet();
  const lists = new Set<PortList>();
  for (let host = 0; host < set.hostCount; host++) lists.add(set.portsOf(host));
  const byProtocol = new Map<string, Set<string>>();
  for (const { name, protocol } of [...lists].flatMap(({ ports }) => ports)) {
    if (name === '') continue;
    byProtocol.set(protocol, (byProtocol.get(protocol) ?? new Set<string>()).add(name));
  }
  return sorted(byProtocol).map(([protocol, names]) => {
    const children = [...names].sort().map((name) => {
      const entries = portEntries(index, service, set, name, protocol);
      return [`_${name}`, { children: [], entries }] as const;
    });
    return [`_${protocol}`, { children, entries: [] }] as const;
  });
}

/**
 * The endpoints of a headless service by zone, where zones are stored: below `_zone` and `pin`. What `prefer` has of a zone is the
 * same.
 */
function zonalNodes(service: ZoneService): (readonly [string, Node])[] {
  const zones = new Set<string>();
  for (const { groups } of service.isHeadless ? service.slices : []) {
    for (const { zone } of groups) if (zone !== undefined) zones.add(zone);
  }
  if (zones.size === 0) return [];
  const children = [...zones].sort().map((zone) => [zone, zoneNode(service, zone)] as const);
  const pin = { children: [['pin', { children, entries: [] }]], entries: [] } as const;
  return [[ZONAL_LABEL, pin]];
}

function zoneNode(service: ZoneService, zone: string): Node {
  const set = service.makeSet(zone);
  return { children: [], entries: [...hostEntries(set, (host) => leafOf(set, host))] };
}

function* portEntries(
  index: ServiceIndex,
  service: ZoneService,
  set: EndpointSet,
  name: string,
  protocol: string,
): Generator<readonly [string, Entry], void> {
  const self = `${decodeName(index.nameOf(service.number))}.`;
  for (let host = 0; host < set.hostCount; host++) {
    const { ports } = set.portsOf(host);
    const found = ports.filter((port) => port.name === name && port.protocol === protocol);
    const leaf = leafOf(set, host);
    const target = service.isHeadless ? `${leaf}.${self}` : self;
    for (const [i, { port }] of found.entries()) yield [numbered(leaf, i), { host: target, port }];
  }
}

function* hostEntries(
  set: EndpointSet,
  leafOf: (host: number) => string,
): Generator<readonly [string, Entry], void> {
  for (let host = 0; host < set.hostCount; host++) {
    let count = 0;
    for (const size of [IPV4_BYTES, IPV6_BYTES] as const) {
      const end = set.endOf(host, size);
      for (let i = set.startOf(host, size); i < end; i++) {
        const text = addressText(set.addresses(size), set.numbers[i]! * size);
        yield [numbered(leafOf(host), count++), { host: text }];
      }
    }
  }
}

function leafOf(set: EndpointSet, host: number): string {
  const bytes = Buffer.allocUnsafe(MAX_TEXT_BYTES);
  return bytes.toString('latin1', 1, writeHostLabel(set, host, bytes, 0));
}

export function addressText({ size, bytes }: PackedAddresses, at: number): string {
  if (size === IPV6_BYTES) {
    const text = Buffer.allocUnsafe(MAX_TEXT_BYTES);
    return text.toString('latin1', 0, writeIpv6Text(bytes, at, text));
  }
  return Array.from(bytes.slice(at, at + size), (byte) => byte.charCodeAt(0)).join('.');
}

export function numbered(leaf: string, i: number): string {
  return i === 0 ? leaf : `${leaf}#${i + 1}`;
}

export function sorted<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([left], [right]) => (left < right ? -1 : 1));
}
