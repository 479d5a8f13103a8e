import type { ReplyOutline } from '@kube-dns/wire';
import type { ServerAddress } from '../server-address.js';
import type { Failure } from './failure.js';
import type { ServerGroup } from './servers.js';

const FIRST_PAUSE_MS = 1_000;
/** The first server's part of a short time-out. */
const FIRST_SHARE = 0.25;

export interface QueryForwarderOptions {
  /** Questions in flight per group of servers, and clients that joined them; beyond, REFUSED. */
  readonly maxInFlight: number;
  /**
   * Queries in flight of one address over UDP that has not shown that it is not forged: it has no good server cookie. Beyond,
   * REFUSED. 150 by default.
   */
  readonly maxUnproven?: number | undefined;
  /** Whether an address at that limit is known in another way: then it has no such limit. */
  readonly isKnownClient?: ((address: string) => boolean) | undefined;
  readonly plan: RetryPlan;
  /** How many source ports one question uses per server; 1 by default. */
  readonly portLimit?: number;
  /** The largest UDP answer that servers are asked for, in bytes. */
  readonly maxUdpBytes: number;
  /** AD stays as the server set it; it is cleared by default. */
  readonly passesAd?: boolean;
  /** Clients that ask for the version of the zone get that of the reply, if it names this process (RFC 9660); none by default. */
  readonly instance?: Uint8Array | undefined;
  /** The case of names that are sent is random, and the reply must have the same (0x20); as clients sent them by default. */
  readonly mixesCase?: boolean;
  /** What a client gets when its question cannot be sent to any server; REFUSED by default. */
  readonly unsentRcode?: number;
  /** How long SERVFAIL of a server is remembered; 0 is not at all, a second by default. */
  readonly servfailMs?: number;
  /** Called for each query that is refused because too many are in flight: of all, or of its client, which may be forged. */
  readonly onOverflow?: (group: ServerGroup, isOfClient: boolean) => void;
  /** Called for each answer that a client gets at once in place of a server's, with its Extended DNS Error. */
  readonly onRefusal?: ((answer: Uint8Array, errorCode: number) => void) | undefined;
  /** When clients get expired answers; they have none by default. */
  readonly stale?: StaleRules | undefined;
  /** Milliseconds that never fall; the clock of the process by default. */
  readonly now?: () => number;
}

/** When a question that got no reply is sent again (`--query-timeout`, `--fast-dns-retry`). */
export interface RetryPlan {
  /** After this time a client gets SERVFAIL. */
  readonly timeoutMs: number;
  /** A server without a reply for so long has timed out. */
  readonly replyMs: number;
  /** How long to wait after the first sending (0) and after each further one. */
  delayMs(retries: number): number;
}

/** `--fast-dns-retry`: the first pause, which doubles, and the time after which it ends. */
export interface FastRetry {
  readonly firstMs: number;
  readonly limitMs: number;
}

/** Each pause is twice the one before: a lost datagram costs little, a dead server no flood. */
export function retryPlan(timeoutMs: number, fast?: FastRetry): RetryPlan {
  const replyMs = Math.min(FIRST_PAUSE_MS, timeoutMs * FIRST_SHARE);
  const firstMs = fast?.firstMs ?? replyMs;
  const limitMs = fast?.limitMs ?? timeoutMs;
  return {
    timeoutMs,
    replyMs,
    delayMs: (retries) => {
      const pauseMs = firstMs * 2 ** retries;
      // The pauses so far add up to twice the last one, less the first.
      return 2 * pauseMs - firstMs < limitMs ? pauseMs : Number.POSITIVE_INFINITY;
    },
  };
}

/** EDNS options that a question is sent with. */
export interface AddedOptions {
  /** The options one after the other, as in an OPT record; not changed later. */
  readonly bytes: Uint8Array;
  /** The client's own subnet is among them: it gets the server's. */
  readonly hasClientSubnet: boolean;
}

/** None. */
export const NO_OPTIONS: AddedOptions = { bytes: new Uint8Array(0), hasClientSubnet: false };

/**
 * Inspects a reply before the clients get it and returns what they get: the reply, changed or not;
 * null to ignore it as if it had not arrived. `isCacheable` is false for a reply from servers
 * that no longer serve the question: it must not be cached. The reply is valid during the call, and has this outline, also
 * if it is changed and returned itself.
 */
export type ReplyInspector = (
  reply: Buffer,
  isCacheable: boolean,
  outline: ReplyOutline,
) => Buffer | null | undefined;

/** Called once with the reply to a question, whatever its rcode, and the server that it is from, or null when no server has one. */
export type AskCallback = (reply: Buffer | null, server?: ServerAddress) => void;

/**
 * Why a client got an expired answer: its question took too long, had no usable reply, or is known to have none
 * now.
 */
export type StaleReason = 'timeout' | 'failure' | 'known';

/** An expired answer for one client, which gets it unless there is a usable reply in time. */
export interface StaleAnswer {
  /** The whole message for this client. */
  readonly message: Uint8Array;
  /** The client gets it now. */
  onGiven(reason: StaleReason): void;
}

/** When clients get expired answers (RFC 8767 section 5). */
export interface StaleRules {
  /** How long a client waits for a reply that has one. */
  readonly timeoutMs: number;
  /**
   * A question (name in lower case, type, class) was asked in vain, at this time: its reply is late, or there is none.
   * `isSilent`: its servers may have been away; else they had a reply to others, or one that is of no use.
   */
  onTried(question: Uint8Array, atMs: number, isSilent: boolean): void;
}

/** What is known of a question before it is asked. */
export interface QuestionState {
  readonly isInFlight: boolean;
  /** Why it failed a moment ago, which is its answer until that is forgotten. */
  readonly failure: Failure | undefined;
}

/** Counts what a forwarder did; each number only grows. */
export class ForwarderCounters {
  /** Questions forwarded, alone or joined to an equal one in flight. */
  forwarded = 0;
  /** Queries over UDP that made us send a query upstream (dnsmasq's `misses`). */
  sentForUdp = 0;
  /** Queries that joined a question in flight; some of them made us send it again. */
  joined = 0;
  /** Queries refused because too many were in flight. */
  overflows = 0;
  /** Questions that no server answered; the client got SERVFAIL. */
  failures = 0;
}

/** The questions in flight now, and what became of others since the start. */
export interface ForwarderFacts {
  readonly inFlight: number;
  readonly maxInFlight: number;
  readonly counters: Readonly<ForwarderCounters>;
  readonly prefetches: Readonly<PrefetchResults>;
}

/** What became of prefetches: a new answer, none, or not sent because there was something better to do. */
export type PrefetchResults = Record<'fresh' | 'failed' | 'dropped', number>;
