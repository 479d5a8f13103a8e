import { buildQuery, ROOT_NAME, TYPE } from '@kube-dns/wire';
import { paddable } from '../encrypted/padding.js';
import type { ServerAddress } from '../server-address.js';
import { type Failure, type FailureReason, failureFrom } from './failure.js';
import type { ReplyHandler, SentQuery, ServerSockets, Unreachable } from './server-sockets.js';

/** After so many time-outs in a row a server is down. */
const MAX_TIMEOUTS = 3;
/** One probe in this time is sent to a server that is down, or may be. One without a reply for so long has timed out. */
export const PROBE_PAUSE_MS = 1_000;
/** The same while a server is suspect: datagrams may be lost. */
const SUSPECT_PAUSE_MS = 400;
/** A server that replied sooner before is down when it replies to nothing for so long. */
const SILENCE_MS = 1_400;
/** So long after its last probe silence begins anew: this program stood still, and replies may wait to be read. */
const LAST_PROBE_MS = 2 * SUSPECT_PAUSE_MS;
/** A question is noted as answered so often. */
const ANSWERED_MS = 100;
/** Probes that wait for a reply, which may take several pauses. */
const MAX_PROBES = 4;
/**
 * So many probes in a row, each from a port that is drawn at random, must come back as "port unreachable" before a server is
 * down for it: a forger that walks through the ports hits a question now and then, and hardly ever all of these.
 */
const MAX_ERRORS = 3;
/** A question that came back so is followed by such a probe, at most one in this time. */
const ERROR_PAUSE_MS = 100;
/** Weights of a new value, as TCP has them (RFC 6298 section 2). */
const MEAN_SHARE = 1 / 8;
const DEVIATION_SHARE = 1 / 4;

/**
 * Whether a server replies. It is down after time-outs in a row, after a silence that is long for it, or when its port is
 * closed, and up again with its first reply, to a probe or to a late question. A time-out counts only beside a probe that
 * timed out, too, because a client can choose questions that a server that is up leaves unanswered. That its port is closed
 * is reported by ICMP, which anyone can forge: a report is a hint, and probes find out. Probes repeat a
 * question that the server answered lately, and ask for the SOA of a name of its group, in turn; any reply will do.
 */
export class ServerHealth implements ReplyHandler {
  /** Why it is down; undefined while it is up. */
  failure: Failure | undefined;
  /** Since when it is down; of the past while it is up. */
  downSinceMs = 0;
  reason: FailureReason | undefined;
  readonly #server: ServerAddress;
  readonly #sockets: ServerSockets;
  readonly #now: () => number;
  readonly #onChange: () => void;
  #timeouts = 0;
  /** Probes that came back as unreachable since the last reply. */
  #errors = 0;
  /** When it replied last, to a question or a probe. */
  repliedAtMs = Number.NEGATIVE_INFINITY;
  #probedAtMs = Number.NEGATIVE_INFINITY;
  /** When the first probe after the last reply was sent. */
  #unansweredSinceMs = Number.POSITIVE_INFINITY;
  readonly #probes: SentQuery[] = [];
  /** How long it takes to reply to questions. */
  readonly replyTime = new ReplyTime();
  /** Of the group that had the last question without a reply. */
  #probeName: Uint8Array = ROOT_NAME;
  #answered: Buffer | undefined;
  #answeredAtMs = Number.NEGATIVE_INFINITY;
  #isRepeated = false;

  /** `now`: milliseconds that never fall. `onChange` is called when the server goes down, and when it is up again. */
  constructor(
    server: ServerAddress,
    sockets: ServerSockets,
    now: () => number,
    onChange: () => void,
  ) {
    this.#server = server;
    this.#sockets = sockets;
    this.#now = now;
    this.#onChange = onChange;
  }

  get isDown(): boolean {
    return this.failure !== undefined;
  }

  /** When it may be probed next. */
  get nextProbeMs(): number {
    return this.#probedAtMs + PROBE_PAUSE_MS;
  }

  /** Whether a probe has no reply yet. */
  get isSuspect(): boolean {
    return this.#unansweredSinceMs !== Number.POSITIVE_INFINITY;
  }

  /** The server has replied to this query, sent at this time, whatever it said. */
  noteReply(nowMs: number, query?: Uint8Array, sentAtMs?: number): void {
    if (sentAtMs !== undefined) this.replyTime.note(nowMs - sentAtMs);
    this.repliedAtMs = nowMs;
    this.#unansweredSinceMs = Number.POSITIVE_INFINITY;
    this.#timeouts = this.#errors = 0;
    if (query !== undefined && nowMs - this.#answeredAtMs >= ANSWERED_MS) {
      this.#answered = Buffer.from(query);
      this.#answeredAtMs = nowMs;
    }
    if (this.#probes.length > 0) this.close();
    if (this.failure !== undefined) this.#change(undefined);
  }

  /** A question that was sent at this time has no reply for a while: the server may be down. */
  noteSilence(probeName: Uint8Array, sentAtMs: number): void {
    // A server that replied to others meanwhile is up: the question is a slow one.
    if (sentAtMs <= this.repliedAtMs) return;
    this.#probeName = probeName;
    this.probe(this.#now());
  }

  /**
   * A question that was sent at this time has no reply from any server yet: finds out whether this one replies to
   * anything. It is down if it does not for long, and for longer than this, which its replies may take.
   */
  suspect(probeName: Uint8Array, sentAtMs: number, limitMs: number): void {
    if (sentAtMs <= this.repliedAtMs || this.isDown) return;
    const nowMs = this.#now();
    this.#probeName = probeName;
    if (nowMs - this.#probedAtMs > LAST_PROBE_MS) this.#unansweredSinceMs = nowMs;
    this.probe(nowMs, SUSPECT_PAUSE_MS);
    if (nowMs - this.#unansweredSinceMs >= Math.max(SILENCE_MS, limitMs)) this.#change('timeout');
  }

  /** A question that was sent at this time has ended without a reply. */
  noteTimeout(probeName: Uint8Array, sentAtMs: number): void {
    if (sentAtMs <= this.repliedAtMs) return;
    this.#timeouts++;
    const isConfirmed = this.#now() - this.#unansweredSinceMs >= PROBE_PAUSE_MS;
    if (!isConfirmed) this.noteSilence(probeName, sentAtMs);
    else if (this.#timeouts >= MAX_TIMEOUTS && !this.isDown) this.#change('timeout');
  }

  /**
   * A question came back: the port is said to be closed, or there is no connection to it. Without a reason it is a
   * datagram's, which is a hint: probes find out. One that takes connections may have closed one of them: a probe, too.
   */
  noteUnreachable(probeName: Uint8Array, why?: Unreachable): void {
    this.#probeName = probeName;
    if (why === undefined) this.probe(this.#now(), ERROR_PAUSE_MS);
    else if (why.code === 'closed') this.probe(this.#now());
    else this.#fail(why);
  }

  /** Sends a probe when one is due; false when none is. */
  probe(nowMs: number, pauseMs = PROBE_PAUSE_MS): boolean {
    const ageMs = nowMs - this.#probedAtMs;
    if (ageMs < pauseMs) return false;
    this.#probedAtMs = nowMs;
    this.#unansweredSinceMs = Math.min(this.#unansweredSinceMs, nowMs);
    if (this.#probes.length === MAX_PROBES) forget(this.#probes.shift()!);
    const sent = this.#sockets.send(this.#nextProbe(), this);
    if (sent !== undefined) this.#probes.push(sent);
    return true;
  }

  onReply(): void {
    this.noteReply(this.#now());
  }

  onUnreachable(sent: SentQuery, why?: Unreachable): void {
    // One that came back is followed by another: it counts once, and its reply may still come.
    if (sent !== this.#probes.at(-1)) return;
    const isHint = why === undefined && !this.isDown && ++this.#errors < MAX_ERRORS;
    if (isHint) this.probe(this.#now(), 0);
    else this.#fail(why);
  }

  /** Waits for no reply to a probe any more. */
  close(): void {
    for (const probe of this.#probes.splice(0)) forget(probe);
    this.#unansweredSinceMs = Number.POSITIVE_INFINITY;
    this.#isRepeated = false;
  }

  #fail(why?: Unreachable): void {
    const reason = why?.code ?? 'unreachable';
    if (this.reason !== reason || why !== undefined) this.#change(reason, why?.failure);
  }

  #nextProbe(): Buffer {
    this.#isRepeated = !this.#isRepeated && this.#answered !== undefined;
    if (this.#isRepeated) return Buffer.from(this.#answered!);
    const query = buildQuery(this.#probeName, TYPE.SOA);
    return this.#server.encryption === undefined ? Buffer.from(query) : paddable(query);
  }

  #change(reason: FailureReason | undefined, failure?: Failure): void {
    const wasDown = this.isDown;
    if (!wasDown) this.downSinceMs = this.#now();
    this.reason = reason;
    this.failure = failure ?? (reason && failureFrom(reason, this.#server));
    if (wasDown !== this.isDown) this.#onChange();
  }
}

function forget(sent: SentQuery): void {
  sent.socket.forget(sent);
}

/** How long a server takes for its replies. */
export class ReplyTime {
  #meanMs = -1;
  #deviationMs = 0;

  /** A reply took so long. */
  note(ms: number): void {
    if (this.#meanMs < 0) {
      this.#meanMs = ms;
      this.#deviationMs = ms / 2;
      return;
    }
    const error = ms - this.#meanMs;
    this.#meanMs += error * MEAN_SHARE;
    this.#deviationMs += (Math.abs(error) - this.#deviationMs) * DEVIATION_SHARE;
  }

  /** The mean of the last ones, in milliseconds; negative when there was none. */
  get meanMs(): number {
    return this.#meanMs;
  }

  /** Whether there was one. */
  get isKnown(): boolean {
    return this.#meanMs >= 0;
  }

  /** A reply that takes longer is late for this server. */
  get limitMs(): number {
    return 2 * this.#meanMs + 4 * this.#deviationMs;
  }
}
