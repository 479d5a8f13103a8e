import { serverText } from '@kube-dns/transport';
import type { ServerSource } from '../options/server-value.js';
import type { Routes } from './routes.js';

/** How many servers and local domains are listed (dnsmasq src/config.h, SERVERS_LOGGED, LOCALS_LOGGED). */
const MAX_SERVERS = 30;
const MAX_LOCALS = 8;

/** dnsmasq's log lines about servers and domains (src/network.c, check_servers). */
export function routeLines({ routes, defaultServers, defaultDomains }: Routes): string[] {
  const servers: string[] = [];
  const devices = new Map(defaultServers.map(({ server, source }) => [server, deviceText(source)]));
  const locals = defaultDomains.map((domain) => `using standard nameservers for ${about(domain)}`);
  for (const route of routes) {
    const suffix = ` for ${about(route.domain, 'domain ')}`;
    for (const server of route.servers) {
      // dnsmasq shows the device for the default servers alone.
      const detail = route.domain === '.' ? devices.get(server)! : suffix;
      servers.push(`using nameserver ${serverText(server)}${detail}`);
    }
    if (route.isLocal) locals.push(`using only locally-known addresses for ${about(route.domain)}`);
  }
  const lines = [...servers.slice(0, MAX_SERVERS), ...locals.slice(0, MAX_LOCALS)];
  const [more, moreLocals] = [servers.length - MAX_SERVERS, locals.length - MAX_LOCALS];
  if (more > 0) lines.push(`using ${more} more nameservers`);
  if (moreLocals > 0) lines.push(`using ${moreLocals} more local addresses`);
  return lines;
}

function deviceText(source: ServerSource | undefined): string {
  return source?.interface === undefined ? '' : `(via ${source.interface})`;
}

function about(domain: string, word = ''): string {
  return domain === '' ? 'unqualified names' : `${word}${domain}`;
}
