import type { CountedNameServer, StatusFacts } from '@kube-dns/daemon';
import type { ServerGroup, UpstreamServer } from '@kube-dns/transport';
import { serverFacts } from '../explain/server-facts.js';

/** Further domains of a server are counted. */
const MAX_DOMAINS = 3;

/** Servers, and the groups that they are in. */
export interface ShownServers {
  readonly servers: Iterable<UpstreamServer>;
  readonly groups: readonly ServerGroup[];
  readonly statistics: { of(server: string): CountedNameServer };
  /** The clock of the forwarder, in milliseconds. */
  readonly nowMs: number;
}

/** A row for each server, those that are down first. */
export function serverRows({ servers, groups, statistics, nowMs }: ShownServers): StatusFacts[] {
  const several = groups.filter((group) => group.servers.length > 1);
  const preferred = new Set(several.map((group) => group.preferred));
  const rows = Array.from(servers, (server): StatusFacts => {
    const isPreferred = preferred.has(server);
    const { queries, health } = statistics.of(server.text);
    const {
      server: text,
      protocol,
      state,
      reason,
      downSeconds,
      retryMs,
      rttMs,
    } = serverFacts(server, nowMs);
    const failures = Object.entries(health.failures).filter(([, count]) => count > 0);
    return {
      server: text,
      state,
      isPreferred,
      rttMs,
      queries,
      failed: failures.reduce((sum, [, count]) => sum + count, 0),
      failures: failures.map(([why, count]) => `${why} ${count}`).join(', '),
      reason,
      downSeconds,
      retryMs,
      protocol,
      domains: domainsText(server, groups),
    };
  });
  const rank = ({ state }: StatusFacts) => Number(state !== 'down');
  return rows.sort((one, other) => rank(one) - rank(other));
}

/** A sentence for each group without servers, or none of whose servers replies, and for each other server that is down. */
export function serverProblems(groups: readonly ServerGroup[], nowMs: number): string[] {
  const down = new Map<string, string>();
  const without: string[] = [];
  for (const { domain, servers } of groups) {
    const about = domain === '.' ? 'names of no other domain' : `names of ${domain}`;
    const silent = servers.filter(({ health }) => health.isDown);
    if (servers.length === 0) without.push(`there is no server for ${about}`);
    else if (silent.length === servers.length) {
      const names = silent.map((server) => downText(server, nowMs));
      without.push(`no server for ${about} replies: ${names.join(', ')}`);
    } else {
      for (const server of silent)
        down.set(server.text, `a server is down, others are asked: ${downText(server, nowMs)}`);
    }
  }
  return [...without, ...down.values()];
}

function downText(server: UpstreamServer, nowMs: number): string {
  const { reason, downSeconds } = serverFacts(server, nowMs);
  return `${server.text} (${reason ?? ''}, for ${downSeconds ?? 0} s)`;
}

/** The domains whose questions a server gets. */
function domainsText(server: UpstreamServer, groups: readonly ServerGroup[]): string {
  const domains = groups.filter(({ servers }) => servers.includes(server));
  const shown = domains.slice(0, MAX_DOMAINS).map(({ domain }) => domain);
  const more = domains.length - shown.length;
  return [...shown, ...(more > 0 ? [`${more} more`] : [])].join(', ');
}
