import { MAX_PORT } from '@kube-dns/daemon';

/** A named or unnamed port; name and protocol are lower case: `http`, `tcp`, `udp`, `sctp`. */
export interface Port {
  /** Empty for an unnamed port. */
  readonly name: string;
  readonly protocol: string;
  readonly port: number;
}

/** The ports of a service or of a set of endpoints. */
export interface PortList {
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
  const more = right.ports.filter((port) => !left.ports.some((other) => isSamePort(port, other)));
  return more.length === 0 ? left : portList([...left.ports, ...more]);
}

/** Whether two lists are the same, order included. */
export function equalPorts(left: PortList, right: PortList): boolean {
  return (
    left.ports.length === right.ports.length &&
    left.ports.every((port, i) => isSamePort(port, right.ports[i]!))
  );
}

function portList(ports: readonly Port[]): PortList {
  return ports.length === 0
    ? NO_PORTS
    : { ports, numbers: [...new Set(ports.map(({ port }) => port))] };
}

function isSamePort(left: Port, right: Port): boolean {
  return left.port === right.port && left.name === right.name && left.protocol === right.protocol;
}
