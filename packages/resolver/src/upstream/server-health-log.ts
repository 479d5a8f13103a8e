import type { Log } from '@kube-dns/daemon';
import type { ServerStatistics } from './server-statistics.js';

/** Logs once that a server is down, or up again, and notes it for its metric. */
export function noteHealth(
  { text, health }: { readonly text: string; readonly health: { readonly isDown: boolean } },
  statistics: Pick<ServerStatistics, 'of'>,
  log: Pick<Log, 'info' | 'warn'>,
): void {
  const { isDown } = health;
  statistics.of(text).isUp = !isDown;
  if (isDown) log.warn(`nameserver ${text} does not reply - not used until it does`);
  else log.info(`nameserver ${text} replies again`);
}
