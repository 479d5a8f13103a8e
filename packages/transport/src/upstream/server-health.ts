import { buildQuery, encodeKey, TYPE } from '@kube-dns/wire';
import { type Failure, NO_REPLY, UNREACHABLE } from './failure.js';
import type { ReplyHandler, SentQuery } from './upstream-socket.js';
import type { ServerSockets } from './upstream-sockets.js';

/** After so many time-outs in a row a server is down. */
const MAX_TIMEOUTS = 3;
/** A server that is down is asked by one probe in this time, while there are questions for it. */
const PROBE_PAUSE_MS = 1_000;

/**
 * Whether a server replies. It is down after time-outs in a row, or when its port is closed, and up again with
 * its first reply, to a probe or to a late question. The probe asks for the SOA of its domain: any reply will do,
 * and no client can choose a question that the server leaves unanswered.
 */
export class ServerHealth implements ReplyHandler {
  /** Why it is down; undefined while it is up. */
  failure: Failure | undefined;
  readonly #sockets: ServerSockets;
  #timeouts = 0;
  #repliedAtMs = Number.NEGATIVE_INFINITY;
  #probedAtMs = Number.NEGATIVE_INFINITY;
  #probe: SentQuery | undefined;

  constructor(sockets: ServerSockets) {
    this.#sockets = sockets;
  }

  get isDown(): boolean {
    return this.failure !== undefined;
  }

  /** The server has replied, whatever it said. */
  noteReply(nowMs: number): void {
    this.#repliedAtMs = nowMs;
    this.#timeouts = 0;
    if (this.failure === undefined) return;
    this.failure = undefined;
    this.close();
  }

  /** A question that was sent at this time has ended without a reply. */
  noteTimeout(sentAtMs: number): void {
    // A server that replied to others meanwhile is up: the question is a slow one.
    if (sentAtMs < this.#repliedAtMs) return;
    this.#timeouts++;
    if (this.#timeouts >= MAX_TIMEOUTS) this.failure ??= NO_REPLY;
  }

  /** Its machine reports that the port is closed. */
  noteUnreachable(): void {
    this.failure = UNREACHABLE;
  }

  /** Sends a probe when one is due; whether the last one was sent less than this time ago. */
  probe(domain: string, nowMs: number, replyMs: number): boolean {
    if (nowMs - this.#probedAtMs >= PROBE_PAUSE_MS) {
      this.#probedAtMs = nowMs;
      this.close();
      const query = buildQuery(encodeKey(domain), TYPE.SOA);
      this.#probe = this.#sockets.send(Buffer.from(query), this);
    }
    return nowMs - this.#probedAtMs < replyMs;
  }

  onReply(): void {
    this.noteReply(this.#probedAtMs);
  }

  onUnreachable(): void {
    this.noteUnreachable();
  }

  /** Waits for no reply to a probe any more. */
  close(): void {
    this.#probe?.socket.forget(this.#probe);
    this.#probe = undefined;
  }
}
