import { setTimeout as delay } from 'node:timers/promises';
import { exchange } from '@kube-dns/testkit';

/**
 * Asks on a new connection. Resolves to undefined after `limitMs`, not earlier: a client whose connection
 * is refused or reset asks again as late as one whose datagram is lost.
 */
export function askOverTcp(
  port: number,
  query: Buffer,
  limitMs: number,
): Promise<Buffer | undefined> {
  const timeout = delay(limitMs, undefined, { ref: false });
  const answer = exchange(port, query, { isOverTcp: true, limitMs }).catch(() => timeout);
  return Promise.race([answer, timeout]);
}
