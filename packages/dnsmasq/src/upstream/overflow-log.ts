import type { Log } from '@kube-dns/daemon';
import type { ServerGroup } from '@kube-dns/transport';

/** dnsmasq src/forward.c, query_full. */
const LOG_EVERY_MS = 5_000;

/** Logs, rate-limited and in dnsmasq's words, that the queries of a group are refused because too many are in flight. */
export function overflowLog(
  maxInFlight: number,
  log: Pick<Log, 'warn'>,
  now = () => performance.now(),
): (group: ServerGroup) => void {
  let loggedAtMs = Number.NEGATIVE_INFINITY;
  return ({ domain }) => {
    const nowMs = now();
    if (nowMs - loggedAtMs <= LOG_EVERY_MS) return;
    loggedAtMs = nowMs;
    const target = domain === '.' ? '' : ` to ${domain}`;
    log.warn(`Maximum number of concurrent DNS queries${target} reached (max: ${maxInFlight})`);
  };
}
