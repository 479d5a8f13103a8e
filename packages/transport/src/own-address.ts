import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { shortIpv6 } from '@kube-dns/wire';
import type { ServerAddress } from './server-address.js';

const ANY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);
let known: ReadonlySet<string> | undefined;

/**
 * Whether a server is the one that listens at `own`: the same port, and the same address or, when `own` is
 * a wildcard, any address of this machine. A wildcard as a server's address is this machine.
 */
export function isOwnAddress(server: ServerAddress, own: ServerAddress): boolean {
  if (server.port !== own.port) return false;
  const address = canonical(server.address);
  if (!ANY_ADDRESS.has(own.address)) {
    return ANY_ADDRESS.has(address) || address === canonical(own.address);
  }
  if (own.address === '0.0.0.0' && isIPv6(address)) return false;
  if (ANY_ADDRESS.has(address) || address.startsWith('127.')) return true;
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

/** One spelling of each address, without a zone. */
function canonical(text: string): string {
  if (!isIPv6(text)) return text;
  return shortIpv6(text.replace(/%.*$/, ''));
}
