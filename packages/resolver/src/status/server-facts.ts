import type { CountedNameServer, StatusFacts } from '@kube-dns/daemon';
import type { ServerGroup, UpstreamServer } from '@kube-dns/transport';

/** One server as explanations and the status page show it. */
export interface ServerFacts {
  readonly server: string;
  readonly protocol: 'udp' | 'tcp' | 'tls' | 'https';
  /** `unknown`: it has not replied yet. */
  readonly state: 'up' | 'down' | 'unknown';
  /** Why it is down. */
  readonly reason: string | null;
  readonly downSeconds: number | null;
  /** In how many milliseconds it may be probed again while it is down. */
  readonly retryMs: number | null;
  /** The mean of its last replies. */
  readonly rttMs: number | null;
  readonly isPreferred: boolean;
}

/** What is known of a server, at a time of the forwarder's clock. */
export function serverFacts(
  server: UpstreamServer,
  nowMs: number,
  group?: Pick<ServerGroup, 'preferred' | 'servers'>,
): ServerFacts {
  const { health } = server;
  const { meanMs } = health.replyTime;
  const hasReplied = health.repliedAtMs !== Number.NEGATIVE_INFINITY;
  const { isDown } = health;
  return {
    server: server.text,
    protocol: server.encryption?.protocol ?? (server.keepsTcp === true ? 'tcp' : 'udp'),
    state: isDown ? 'down' : hasReplied ? 'up' : 'unknown',
    reason: isDown ? (health.reason ?? 'timeout') : null,
    downSeconds: isDown ? Math.round((nowMs - health.downSinceMs) / 100) / 10 : null,
    retryMs: isDown ? Math.max(0, Math.round(health.nextProbeMs - nowMs)) : null,
    rttMs: meanMs < 0 ? null : Math.round(meanMs * 100) / 100,
    isPreferred: group !== undefined && group.servers.length > 1 && group.preferred === server,
  };
}

/** A server and its state in a few words: `10.0.0.1#53 (preferred, 2.1 ms)`. */
export function serverFactsText({
  server,
  state,
  reason,
  downSeconds,
  rttMs,
  isPreferred,
}: ServerFacts) {
  const words = [
    ...(isPreferred ? ['preferred'] : []),
    ...(state === 'down' ? [`down for ${downSeconds ?? 0} s: ${reason ?? ''}`] : []),
    ...(state === 'unknown' ? ['not replied yet'] : []),
    ...(state === 'up' && rttMs !== null ? [`${rttMs} ms`] : []),
  ];
  return words.length === 0 ? server : `${server} (${words.join(', ')})`;
}

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
    const { queries, health } = statistics.of(server.text);
    const facts = serverFacts(server, nowMs);
    const failures = Object.entries(health.failures).filter(([, count]) => count > 0);
    return {
      server: facts.server,
      state: facts.state,
      isPreferred: preferred.has(server),
      rttMs: facts.rttMs,
      queries,
      failed: failures.reduce((sum, [, count]) => sum + count, 0),
      failures: failures.map(([why, count]) => `${why} ${count}`).join(', '),
      reason: facts.reason,
      downSeconds: facts.downSeconds,
      retryMs: facts.retryMs,
      protocol: facts.protocol,
      domains: domainsText(server, groups),
    };
  });
  return downFirst(rows);
}

export function downFirst(rows: StatusFacts[]): StatusFacts[] {
  const rank = ({ state }: StatusFacts) => Number(state !== 'down');
  return rows.sort((one, other) => rank(one) - rank(other));
}

/** Of few queries most failed: as of the finding KD0107 of `kube-dns check`. */
const MIN_FAILED = 10;
const MOST = 0.5;

/**
 * A sentence for each group without servers, or none of whose servers replies, for each other server that is down, and for each
 * that replies, but fails most of its queries.
 */
export function serverProblems(
  groups: readonly ServerGroup[],
  nowMs: number,
  statistics: ShownServers['statistics'],
): string[] {
  const faulty = new Map<string, string>();
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
        faulty.set(server.text, `a server is down, others are asked: ${downText(server, nowMs)}`);
    }
    for (const { text, health } of servers) {
      const failed = health.isDown ? '' : failedText(statistics.of(text));
      if (failed !== '') faulty.set(text, `${text} failed in ${failed}`);
    }
  }
  return [...without, ...faulty.values()];
}

/** `60 of 60 queries: servfail 50, refused 10`; empty where most do not fail. */
function failedText({ queries, health }: CountedNameServer): string {
  const failures = Object.entries(health.failures).filter(([, count]) => count > 0);
  const failed = failures.reduce((sum, [, count]) => sum + count, 0);
  if (failed < MIN_FAILED || failed < queries * MOST) return '';
  return `${failed} of ${queries} queries: ${failures.map(([why, count]) => `${why} ${count}`).join(', ')}`;
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
