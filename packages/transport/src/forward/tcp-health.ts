import { buildQuery, encodeKey, TYPE } from '@kube-dns/wire';
import { PROBE_PAUSE_MS } from './server-health.js';
import { type TcpRoundOwner, TcpRound } from './tcp-round.js';
import type { UpstreamServer } from './upstream-servers.js';

/**
 * Whether a server replies over TCP, for questions that come over TCP while it is down over UDP: only then it is
 * probed.
 */
export class TcpHealth implements TcpRoundOwner {
  /** The last query over TCP had a reply. */
  isUp = false;
  readonly #now: () => number;
  #probedAtMs = Number.NEGATIVE_INFINITY;
  #probe: TcpRound | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Probes the server when that is due; false when it is not. */
  probe(server: UpstreamServer, domain: string, nowMs: number): boolean {
    if (nowMs - this.#probedAtMs < PROBE_PAUSE_MS) return false;
    this.close();
    this.#probedAtMs = nowMs;
    const query = Buffer.from(buildQuery(encodeKey(domain), TYPE.SOA));
    this.#probe = new TcpRound(this, query, [server], nowMs + PROBE_PAUSE_MS, 0);
    this.#probe.askNext();
    return true;
  }

  now(): number {
    return this.#now();
  }

  onTcpReply(): void {
    // The round has noted it.
  }

  onTcpError(): void {
    // As a reply.
  }

  onTcpEnd(): void {
    // No client waits for more.
  }

  /** Waits for no reply to a probe any more. */
  close(): void {
    this.#probe?.cancel();
    this.#probe = undefined;
  }
}
