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
