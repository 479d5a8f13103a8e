import {
  buildQuery,
  MAX_NAME_BYTES,
  NameTable,
  QUESTION_FIXED_BYTES,
  randomBytes,
  readUint16,
  ROOT_NAME,
} from '@kube-dns/wire';
import { paddable } from '../encrypted/padding.js';
import { LOOP } from './failure.js';
import type { UpstreamQuery } from './query.js';
import type { QuestionKey } from './question.js';
import type { ReplyHandler, SentQuery } from './server-sockets.js';

/** Questions that are suspect at the same time. */
const MAX_PROBES = 64;
const PROBE_MS = 5_000;
/** A question that was asked again, and has no reply for so long, is suspect. */
const ASKED_AGAIN_MS = 250;
/** What the label in front of the name begins with, so that other forwarders know a probe, and its hexadecimal digits. */
const PROBE_PREFIX = Buffer.from('loop-');
const RANDOM_BYTES = 8;
const LABEL_BYTES = PROBE_PREFIX.length + 2 * RANDOM_BYTES;
/** The bit that a letter has in lower case; a hyphen has it, too. */
const LOWER_CASE = 0x20;

interface LoopProbe {
  readonly question: Uint8Array;
  readonly query: UpstreamQuery;
  readonly sent: readonly SentQuery[];
  readonly endsAtMs: number;
}

/**
 * Finds questions that come back to us from the servers that we ask. A question is suspect when a server that has it
 * asks it, when anybody else does and there is no reply for a moment, and when there is none for long. Its servers get
 * a question for a random name below its name, which takes the same way: if that arrives here, the question is in a
 * loop, whatever lies between.
 */
export class LoopProbes implements ReplyHandler {
  readonly #byQuestion = new NameTable<LoopProbe>();
  /** In order of time. */
  #probes: LoopProbe[] = [];

  /** Sends a probe if a question has no reply for too long, once. */
  check(query: UpstreamQuery, nowMs: number, replyMs: number): void {
    const ageMs = nowMs - query.startedAtMs;
    if (ageMs < ASKED_AGAIN_MS && ageMs < replyMs) return;
    const isAskedAgain = query.waiters.length > 1 || query.hasSibling;
    if (isAskedAgain || ageMs >= replyMs) this.#probe(query, nowMs);
  }

  /** A client asks what is in flight: sends a probe, once, if it has the address of a server that was asked. */
  noteAsker(query: UpstreamQuery, client: string, nowMs: number): void {
    for (const { address } of query.group.servers) {
      if (address === client) this.#probe(query, nowMs);
    }
  }

  /**
   * Whether a question shows a loop: it is a probe, and then the one that it is for ends; or it is the probe of another
   * forwarder and comes again while it is in flight, and then it ends itself.
   */
  catches({ question, length }: QuestionKey, existing?: UpstreamQuery): boolean {
    if (existing?.isInFlight === true && isProbe(question)) {
      existing.fail(LOOP);
      return true;
    }
    if (this.#probes.length === 0) return false;
    const query = this.#byQuestion.get(question, 0, length)?.query;
    if (query?.isInFlight === true) query.fail(LOOP);
    return query !== undefined;
  }

  /** Forgets the probes whose time is over; all of them by default. */
  forget(nowMs = Number.POSITIVE_INFINITY): void {
    while (this.#probes.length > 0 && this.#probes[0]!.endsAtMs <= nowMs) {
      const { question, sent } = this.#probes.shift()!;
      this.#byQuestion.delete(question);
      for (const each of sent) each.socket.forget(each);
    }
  }

  onReply(): void {
    // Only the arrival of the question itself tells.
  }

  onUnreachable(): void {
    // As a reply.
  }

  /**
   * Not when too many questions are suspect, or the name is too long. Nor for the probe of another forwarder: in a circle with
   * several servers for a domain there would be probes for probes, each time more.
   */
  #probe(query: UpstreamQuery, nowMs: number): void {
    if (query.isProbed || query.state === 'queued') return;
    query.isProbed = true;
    if (this.#probes.length >= MAX_PROBES) return;
    const question = Buffer.from(query.question.copy());
    const name = query.group.isUnqualified
      ? ROOT_NAME
      : question.subarray(0, -QUESTION_FIXED_BYTES);
    if (name.length + LABEL_BYTES >= MAX_NAME_BYTES || isProbe(question)) return;
    const label = Buffer.from(randomBytes(RANDOM_BYTES).toString('hex'));
    const probed = Buffer.concat([Buffer.from([LABEL_BYTES]), PROBE_PREFIX, label, name]);
    const end = question.subarray(-QUESTION_FIXED_BYTES);
    const sent = query.group.servers.flatMap(({ sockets, health, encryption }) => {
      const message = Buffer.from(buildQuery(probed, readUint16(end, 0)));
      // The class, too, is that of the question.
      end.copy(message, message.length - QUESTION_FIXED_BYTES);
      const probe = encryption === undefined ? message : paddable(message);
      return health.isDown ? [] : (sockets.send(probe, this) ?? []);
    });
    const probe = {
      question: Buffer.concat([probed, end]),
      query,
      sent,
      endsAtMs: nowMs + PROBE_MS,
    };
    query.isPinned = true;
    this.#probes.push(probe);
    this.#byQuestion.set(probe.question, probe);
  }
}

/** Whether the name of a question is that of a probe, of this forwarder or another one. */
function isProbe(question: Uint8Array): boolean {
  return (
    question[0] === LABEL_BYTES &&
    PROBE_PREFIX.every((byte, at) => (question[at + 1]! | LOWER_CASE) === byte)
  );
}
