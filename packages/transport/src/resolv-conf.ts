import { isIP } from 'node:net';
import type { ServerAddress } from './server-address.js';

/**
 * Reads the `nameserver` lines of a resolv.conf(5) in order; everything else is ignored, also a
 * value that is not an IP address. The port is always 53. A scope (`fe80::1%eth0`) stays.
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
