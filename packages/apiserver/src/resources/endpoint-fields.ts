import { duplicate, invalidValue, required, unsupported, type FieldError } from './field-error.js';
import { refuseLabel, refuseSubdomain } from './names.js';

/** The protocols that services, Endpoints and slices accept. */
export const PROTOCOLS: readonly string[] = ['TCP', 'UDP', 'SCTP'];

/** Why a number is not a port, or undefined when it is one. */
export function refusePort(port: number): string | undefined {
  return port >= 1 && port <= 65535 ? undefined : 'must be between 1 and 65535, inclusive';
}

/** A port of Endpoints or of a slice. A slice may omit the number: all ports. */
export interface EndpointPort {
  name?: string;
  port?: number;
  protocol?: string;
  appProtocol?: string;
}

/** Sets the default protocol, TCP. */
export function setPortDefaults(ports: readonly EndpointPort[]): void {
  for (const port of ports) port.protocol ||= 'TCP';
}

/** Requires unique names, supported protocols and numbers in range. */
export function validatePorts(ports: readonly EndpointPort[], field: string): FieldError[] {
  const errors: FieldError[] = [];
  const names = new Set<string>();
  for (const [i, { name = '', port, protocol = '' }] of ports.entries()) {
    const path = `${field}[${i}]`;
    const badName = name === '' ? undefined : refuseLabel(name);
    if (badName) errors.push(invalidValue(`${path}.name`, name, badName));
    if (names.has(name)) errors.push(duplicate(`${path}.name`, name));
    names.add(name);
    const badPort = port === undefined ? undefined : refusePort(port);
    if (badPort) errors.push(invalidValue(`${path}.port`, port, badPort));
    if (!PROTOCOLS.includes(protocol)) {
      errors.push(unsupported(`${path}.protocol`, protocol, PROTOCOLS));
    }
  }
  return errors;
}

/** Checks host name (a DNS label) and node name of one endpoint; both may be missing. */
export function validateEndpointNames(
  endpoint: { readonly hostname?: string; readonly nodeName?: string },
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  const { hostname, nodeName } = endpoint;
  const badHost = hostname ? refuseLabel(hostname) : undefined;
  if (badHost) errors.push(invalidValue(`${path}.hostname`, hostname, badHost));
  const badNode = nodeName === undefined ? undefined : refuseSubdomain(nodeName);
  if (badNode) errors.push(invalidValue(`${path}.nodeName`, nodeName, badNode));
  return errors;
}

/** The error for a port without its number. */
export function requirePort(ports: readonly EndpointPort[], field: string): FieldError[] {
  return ports.flatMap(({ port }, i) =>
    port === undefined ? [required(`${field}[${i}].port`)] : [],
  );
}
