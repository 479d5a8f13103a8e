import { MAX_PORT } from '@kube-dns/base';
import { finishHash, FNV_OFFSET, hashByte } from '@kube-dns/wire';

/** A named or unnamed port; name and protocol are lower case: `http`, `tcp`, `udp`, `sctp`. */
export interface Port {
  /** Empty for an unnamed port. */
  readonly name: string;
  readonly protocol: string;
  readonly port: number;
}

/** The ports of a service or of a set of endpoints. */
export interface PortList {
  /** Each once, sorted by protocol, then name, then number. */
  readonly ports: readonly Port[];
  /** Every port number once: 53 over TCP and over UDP is one number. */
  readonly numbers: readonly number[];
}

/** A port in an API object. */
interface PortFields {
  readonly name?: string | null;
  readonly protocol?: string | null;
  readonly port?: number | null;
}

/** The memory of a port, as measured. */
export const PORT_BYTES = 100;

/** How many lists are remembered; most services of a cluster have one of a few. */
const REMEMBERED_LISTS = 256;
/** Longer ones are not remembered: they would stay in memory after their objects. */
const MAX_REMEMBERED_PORTS = 16;

/** The last list of each hash: equal lists are one object, in a large cluster a few in place of tens of thousands. */
const remembered: (PortList | undefined)[] = new Array<undefined>(REMEMBERED_LISTS).fill(undefined);

/** The ports of endpoints without a port. */
export const NO_PORTS: PortList = { ports: [], numbers: [] };

/** Reads the ports of an API object. One without a number means all ports, which SRV cannot express. */
export function readPorts(fields: readonly PortFields[] | null | undefined): PortList {
  const ports: Port[] = [];
  for (const { name, protocol, port } of fields ?? []) {
    if (port === undefined || port === null) continue;
    if (!Number.isInteger(port) || port < 0 || port > MAX_PORT) {
      throw new Error(`port ${JSON.stringify(port)} is not a port number`);
    }
    ports.push({
      name: (name ?? '').toLowerCase(),
      protocol: (protocol ?? 'TCP').toLowerCase(),
      port,
    });
  }
  return portList(ports);
}

/** The ports of both lists, each once. */
export function joinPorts(left: PortList, right: PortList): PortList {
  const both = portList([...left.ports, ...right.ports]);
  return both.ports.length === left.ports.length ? left : both;
}

/** Whether two lists are the same. */
export function equalPorts(left: PortList, right: PortList): boolean {
  return (
    left === right ||
    (left.ports.length === right.ports.length &&
      left.ports.every((port, i) => comparePorts(port, right.ports[i]!) === 0))
  );
}

function portList(all: readonly Port[]): PortList {
  if (all.length === 0) return NO_PORTS;
  const sorted = all.toSorted(comparePorts);
  const ports = sorted.filter((port, i) => i === 0 || comparePorts(sorted[i - 1]!, port) !== 0);
  return shared({ ports, numbers: [...new Set(ports.map(({ port }) => port))] });
}

/** The equal list that is remembered, else this one, which then is. */
function shared(list: PortList): PortList {
  if (list.ports.length > MAX_REMEMBERED_PORTS) return list;
  let hash = FNV_OFFSET;
  for (const { name, port } of list.ports) {
    for (let i = 0; i < name.length; i++) hash = hashByte(hash, name.charCodeAt(i));
    hash = hashByte(hash, port);
  }
  const at = finishHash(hash) & (REMEMBERED_LISTS - 1);
  const found = remembered[at];
  return found !== undefined && equalPorts(found, list) ? found : (remembered[at] = list);
}

function comparePorts(left: Port, right: Port): number {
  return (
    compareTexts(left.protocol, right.protocol) ||
    compareTexts(left.name, right.name) ||
    left.port - right.port
  );
}

function compareTexts(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
