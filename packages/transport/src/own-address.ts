import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { EVERY_ADDRESS, shortIpv6, unmappedAddress } from '@kube-dns/wire';
import type { ServerAddress } from './server-address.js';

const WILDCARDS: ReadonlySet<string> = new Set([EVERY_ADDRESS, '0.0.0.0', '::']);
let known: ReadonlySet<string> | undefined;

/**
 * Whether a server is the one that listens at `own`: the same port, and the same address or, when `own` is
 * a wildcard, any address of this machine. A wildcard as a server's address is this machine.
 */
export function isOwnAddress(server: ServerAddress, own: ServerAddress): boolean {
  if (server.port !== own.port) return false;
  const address = canonical(server.address);
  if (!WILDCARDS.has(own.address)) {
    return WILDCARDS.has(address) || address === canonical(own.address);
  }
  if (own.address !== EVERY_ADDRESS && isIPv6(own.address) !== isIPv6(address)) return false;
  if (WILDCARDS.has(address) || address.startsWith('127.')) return true;
  return machineAddresses().has(address);
}

/** The addresses of this machine, asked once in a turn of the event loop: a configuration has many servers. */
function machineAddresses(): ReadonlySet<string> {
  if (known === undefined) {
    const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
    known = new Set(all.map(({ address }) => canonical(address)));
    setImmediate(() => (known = undefined));
  }
  return known;
}

/** One spelling of each address, without a zone; IPv4 in IPv6 (`::ffff:192.0.2.1`) is the IPv4 address. */
function canonical(text: string): string {
  if (!isIPv6(text)) return text;
  return unmappedAddress(shortIpv6(text.replace(/%.*$/, '')));
}
