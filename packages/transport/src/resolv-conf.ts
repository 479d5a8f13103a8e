import { isIP } from 'node:net';
import type { ServerAddress } from './server-address.js';

/**
 * Reads the `nameserver` lines of a resolv.conf(5) in order; everything else, and a value that is no
 * IP address, is left aside. The port is always 53. A scoped address (`fe80::1%eth0`) is kept.
 */
export function parseResolvConf(text: string): ServerAddress[] {
  const servers: ServerAddress[] = [];
  for (const line of text.split('\n')) {
    const [keyword, value] = line.trim().split(/\s+/);
    if (keyword !== 'nameserver' || value === undefined || isIP(value) === 0) continue;
    servers.push({ address: value, port: 53 });
  }
  return servers;
}
