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
import type { Flight } from './flight.js';
import type { QuestionKey } from './question-key.js';
import type { ReplyHandler, SentQuery } from './server-sockets.js';

/** Questions that are in doubt at the same time. */
const MAX_PROBES = 64;
const PROBE_MS = 5_000;
/** A question that was asked again, and has no reply for so long, is in doubt. */
const ASKED_AGAIN_MS = 250;
/** The domain of a group for names of one label: a name below one of these takes another way. */
const UNQUALIFIED = '';
/** The hexadecimal digits of the label in front of the name. */
const LABEL_BYTES = 16;

interface LoopProbe {
  readonly question: Uint8Array;
  readonly flight: Flight;
  readonly sent: readonly SentQuery[];
  readonly endsAtMs: number;
}

/**
 * Finds questions that come back to us from the servers that we ask. A question is in doubt when a server that has it
 * asks it, when anybody else does and there is no reply for a moment, and when there is none for long. Its servers get
 * a question for a random name below its name, which takes the same way: if that arrives here, the question is in a
 * loop, whatever lies between.
 */
export class LoopProbes implements ReplyHandler {
  readonly #byQuestion = new NameTable<LoopProbe>();
  /** In order of time. */
  #probes: LoopProbe[] = [];

  /** Sends a probe if a question has no reply for too long, once. */
  check(flight: Flight, nowMs: number, replyMs: number): void {
    const ageMs = nowMs - flight.startedAtMs;
    if (ageMs < ASKED_AGAIN_MS && ageMs < replyMs) return;
    const isAskedAgain = flight.waiters.length > 1 || flight.hasSibling;
    if (isAskedAgain || ageMs >= replyMs) this.#probe(flight, nowMs);
  }

  /** A client asks what is in flight: sends a probe, once, if it has the address of a server that was asked. */
  noteAsker(flight: Flight, client: string, nowMs: number): void {
    for (const { address } of flight.group.servers) {
      if (address === client) this.#probe(flight, nowMs);
    }
  }

  /** Whether a question is a probe: then the flight that it is for ends. */
  catches({ question, length }: QuestionKey): boolean {
    if (this.#probes.length === 0) return false;
    const flight = this.#byQuestion.get(question, 0, length)?.flight;
    if (flight?.isCounted === true) flight.fail(LOOP);
    return flight !== undefined;
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

  /** Not when too many questions are in doubt, or the name is too long. */
  #probe(flight: Flight, nowMs: number): void {
    if (flight.isProbed || flight.isQueued) return;
    flight.isProbed = flight.isKept = true;
    const asked = Buffer.from(flight.asked.copy());
    const isUnqualified = flight.group.domain === UNQUALIFIED;
    const name = isUnqualified ? ROOT_NAME : asked.subarray(0, -QUESTION_FIXED_BYTES);
    const isRoom = name.length + LABEL_BYTES < MAX_NAME_BYTES && this.#probes.length < MAX_PROBES;
    if (!isRoom) return;
    const label = randomBytes(LABEL_BYTES / 2).toString('hex');
    const probed = Buffer.concat([Buffer.from([LABEL_BYTES]), Buffer.from(label), name]);
    const end = asked.subarray(-QUESTION_FIXED_BYTES);
    const sent = flight.group.servers.flatMap(({ sockets, health, encryption }) => {
      const query = Buffer.from(buildQuery(probed, readUint16(end, 0)));
      // The class, too, is that of the question.
      end.copy(query, query.length - QUESTION_FIXED_BYTES);
      const probe = encryption === undefined ? query : paddable(query);
      return health.isDown ? [] : (sockets.send(probe, this) ?? []);
    });
    const question = Buffer.concat([probed, end]);
    const probe = { question, flight, sent, endsAtMs: nowMs + PROBE_MS };
    this.#probes.push(probe);
    this.#byQuestion.set(question, probe);
  }
}
