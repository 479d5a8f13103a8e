import type { Log } from '@kube-dns/daemon';
import {
  type ServerAddress,
  ServerGroup,
  type ServerOrder,
  type UpstreamServer,
  UpstreamServers,
  type UpstreamSockets,
} from '@kube-dns/transport';
import { noteHealth, type ServerStatistics } from './server-statistics.js';

export interface WatchedServersOptions {
  readonly sockets: UpstreamSockets;
  readonly statistics: ServerStatistics;
  /** Another set of servers, whose counts are also there, decides which counts stay; this one by default. */
  readonly sharesCounts?: boolean;
  readonly tlsCa: string | undefined;
  readonly usesCookies?: boolean;
  /** Are tried again with a server that replies again. */
  readonly subscriptions: { retry(server: ServerAddress): void };
  readonly log: Pick<Log, 'info' | 'warn'>;
}

/** Upstream servers whose health is logged, counted, and followed by subscriptions. */
export function watchedServers(options: WatchedServersOptions): UpstreamServers {
  const { sockets, statistics, sharesCounts = false, subscriptions, log } = options;
  const retain = (servers: ReadonlySet<string>) => {
    if (!sharesCounts) statistics.retain(servers);
  };
  const counters = { of: (server: string) => statistics.of(server), retain };
  return new UpstreamServers(sockets, counters, {
    tlsCa: options.tlsCa,
    usesCookies: options.usesCookies === true,
    onTlsFailure: ({ text }, why) => log.warn(`nameserver ${text}: ${why.text}`),
    onHealthChange: (server) => {
      noteHealth(server, statistics, log);
      if (!server.health.isDown) subscriptions.retry(server);
    },
  });
}

/** The group of these servers: the existing one when they are the same, as it has measured which is good. */
export function groupOf(
  existing: ServerGroup | undefined,
  domain: string,
  servers: readonly UpstreamServer[],
  order: ServerOrder,
): ServerGroup {
  const isSame =
    existing?.servers.length === servers.length &&
    servers.every((server, at) => server === existing.servers[at]);
  return isSame ? existing : new ServerGroup(domain, servers, order);
}
