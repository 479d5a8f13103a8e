import type { SubscribedServer } from '@kube-dns/push';
import type { ServerRule } from '../options/server-value.js';

/** The servers of `--server=/ZONE/ADDRESS`, which may tell the changes of these zones. */
export function subscribedServers(rules: readonly ServerRule[]): SubscribedServer[] {
  return rules.flatMap(({ domains, target }) => {
    if (target.kind !== 'server' || domains.length === 0) return [];
    // A connection could not leave by an interface, as queries do, and what is encrypted is never asked in plain text.
    if (target.source !== undefined || target.server.encryption !== undefined) return [];
    return [{ server: target.server, zones: domains }];
  });
}
