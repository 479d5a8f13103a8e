import { isIP } from 'node:net';
import type { ServerAddress } from './server-address.js';

/**
 * Reads the `nameserver` lines (or those of other keywords) of a resolv.conf(5) in order; everything else
 * is ignored, also a value that is not an IP address. The port is always 53. A scope (`fe80::1%eth0`) stays.
 */
export function parseResolvConf(
  text: string,
  keywords: readonly string[] = ['nameserver'],
): ServerAddress[] {
  const servers: ServerAddress[] = [];
  for (const line of text.split('\n')) {
    const [keyword = '', value] = line.trim().split(/\s+/);
    if (!keywords.includes(keyword) || value === undefined || isIP(value) === 0) continue;
    servers.push({ address: value, port: 53 });
  }
  return servers;
}
