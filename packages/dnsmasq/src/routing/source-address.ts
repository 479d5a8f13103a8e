import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { ServerSource as ConfiguredSource } from '../options/server-value.js';
import type { ServerSource } from '@kube-dns/transport';

/**
 * The source of queries to a server. For an interface it is the first address of the server's family:
 * Node cannot bind to a device, nor can a container without NET_RAW. Without such an address it is the name
 * of the interface, from which nothing can be sent, rather than any other address.
 */
export function sourceOf(server: string, source: ConfiguredSource | undefined): ServerSource {
  if (source === undefined) return {};
  const { address = addressOf(source.interface, isIPv6(server)), port } = source;
  return { ...(address !== undefined && { address }), ...(port !== undefined && { port }) };
}

function addressOf(device: string | undefined, isIpv6: boolean): string | undefined {
  if (device === undefined) return undefined;
  const addresses = networkInterfaces()[device] ?? [];
  return addresses.find(({ family }) => (family === 'IPv6') === isIpv6)?.address ?? device;
}
