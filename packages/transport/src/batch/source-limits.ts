import { addressText, finishHash, randomSeed } from '@kube-dns/wire';
import type { ListenerCounters } from '../counters.js';
import type { LimitedClient, Overload } from '../udp-engine.js';
import * as linux from './constants.js';
import type { Libc } from './libc.js';
import {
  CLASSES,
  classOf,
  keyOf,
  MAX_LIMITED,
  passingPart,
  SourceFilter,
  type SourceKeys,
} from './source-filter.js';

/** What waits in a socket. */
export interface ReceiveBuffer {
  /** Reads what SO_MEMINFO has: numbers as in `MEMORY`. False where the kernel does not tell. */
  readMemory(into: Uint32Array): boolean;
  /** Gives it so much memory; undefined: as much as before the first call. */
  setBytes(bytes: number | undefined): void;
}

/** What the kernel does for the limits of a port. */
export interface LimitedPort {
  readonly isIpv6: boolean;
  /** Of the first socket: the one that gets all while there are no limits, and then what limited sources send. */
  readonly buffer: ReceiveBuffer;
  /** Of a second socket, which is received from first and has what other sources than the limited ones send. */
  readonly others: ReceiveBuffer | undefined;
  /** The choice is that of the socket, where there are two. False when the kernel refuses a program; nothing is limited then. */
  attach(filter: SourceFilter, choice: SourceFilter): boolean;
  /** May be called when nothing is attached. */
  detach(): void;
}

/** The buffer of a descriptor; `grow` gives it its usual bytes. */
export function receiveBuffer(libc: Libc, fd: number, grow: () => void): ReceiveBuffer {
  const { SOL_SOCKET, SO_MEMINFO, SO_RCVBUF } = linux;
  return {
    readMemory: (into) => {
      const length = Int32Array.of(into.byteLength);
      return libc.getsockopt(fd, SOL_SOCKET, SO_MEMINFO, into, length) === 0;
    },
    setBytes: (bytes) => {
      // The kernel doubles it.
      if (bytes === undefined) grow();
      else libc.setsockopt(fd, SOL_SOCKET, SO_RCVBUF, Int32Array.of(bytes / 2), 4);
    },
  };
}

/** Attaches a program to a descriptor, as SO_ATTACH_FILTER or SO_ATTACH_REUSEPORT_CBPF. */
export function attachProgram(
  libc: Libc,
  fd: number,
  option: number,
  { bytes, length }: SourceFilter,
): boolean {
  // struct sock_fprog: the number of instructions, and where they are.
  const program = BigUint64Array.of(BigInt(length), libc.addressOf(bytes));
  const value = new Int32Array(program.buffer);
  return libc.setsockopt(fd, linux.SOL_SOCKET, option, value, value.byteLength) === 0;
}

/**
 * Of SO_MEMINFO (include/uapi/linux/sock_diag.h): bytes that wait in the socket, that may wait, and datagrams it has dropped, for any
 * reason.
 */
export const MEMORY = { QUEUED_BYTES: 0, BUFFER_BYTES: 1, DROPPED: 8, NUMBERS: 9 } as const;

/** What the kernel has dropped at the first socket, and at that of other sources than the limited ones. */
interface Dropped {
  readonly first: number;
  readonly others: number;
}

/** A timer that the limits start; `unref` as of Node. */
export type StartTimer = (callback: () => void, ms: number) => { close(): void };

interface SourceLimitsOptions {
  readonly port: LimitedPort;
  readonly counters: ListenerCounters;
  /** Gets a line for the log when an overload begins and when it is over. */
  readonly onOverload: (text: string) => void;
  /** In milliseconds. */
  readonly now?: () => number;
  readonly startTimer?: StartTimer;
}

/** Between two looks at a socket that is in use. */
const IDLE_LOOK_MS = 25;
/** The same in an overload, where a look decides on the limits. */
const LOOK_MS = 100;
/** To the first look in an overload: until then all sources lose alike. */
const FIRST_LOOK_MS = 40;
/** What waited when an overload began shows who asks: it is read before there are limits, for so long or until so many were of each source. */
const READING_MS = 400;
const READING_LOOK_MS = 15;
const READ_OF_EACH = 5;
/**
 * Of the first messages that came several at a time so many are counted as in an overload: in the first moments of one there is no CPU
 * time to compile what has never run, and the code of each answer with it.
 */
const REHEARSED = 12_288;
/** After so many of them limits are decided on, for so many sources. */
const REHEARSED_TO_DECISION = 1_024;
const REHEARSED_SOURCES = 128;
/** Messages between two looks that show how much can be answered, if there were always more of them. */
const LEAST_IN_USE = 128;
/** A long list of limits takes longer to decide on: for each source in it the next look is so much later. */
const LOOK_MS_OF_LIMITED = 0.3;
/** An overload is decided on less often once it has lasted for so long, */
const SETTLED_MS = 3_000;
/** and limits which harm no other source stay for so long. */
const GOOD_LIMITS_MS = 5_000;
/** What a source asked counts for so long, less and less. */
const MEMORY_SECONDS = 2;
/** There is a backlog when the socket was never empty, or more than this part of what the limits let pass was lost. */
const LOST_PART = 0.02;
/** So many standard deviations more: less may be chance. */
const SURE = 2;
/**
 * At a look with a backlog the sources get so much less together, and so much more at each one without; with a backlog between
 * these parts of what was answered.
 */
const LESS = 0.93;
const MORE = 1.02;
/** After so many looks in a row without one it is more by twice as much, and so on. */
const TIMELY_LOOKS = 6;
/** It is not more while so much of the room in the socket is taken. */
const ENOUGH_WAITS = 0.3;
const MORE_AT_FIRST = 1.25;
/** The same where other sources have a socket of their own, and lose nothing by it. */
const MORE_AT_ONCE = 2;
const HIGHEST = 1.15;
const LEAST = 0.86;
const MOST = 1;
/** A backlog is answered in this time: until then the sources get less, but this part of what they would get at least. */
const DRAIN_SECONDS = 0.3;
const LEAST_DRAINED = 0.2;
/** How much the newest look counts in what can be answered, and in what is answered when nothing is lost. */
const NEWEST = 0.3;
const NEWEST_USUAL = 0.1;
const NEWEST_MORE = 0.25;
/** What waits in the socket in an overload is so much work at most: a container has no CPU time for most of such a period. */
const BUFFER_SECONDS = 0.1;
const LEAST_BUFFER = 1 << 16;
/** Where other sources have a socket of their own, limited ones get so much of what these leave: what they lose is their own. */
const AHEAD = 1.5;
/** Looks in a row without an overload that end it. */
const CALM_LOOKS = 4;
/** A question that waits longer is not answered when an overload begins: it is asked again by then, behind new ones. */
const PATIENCE_SECONDS = 0.15;
/** Of a short datagram in the socket, at least: struct sk_buff, and its data with a struct skb_shared_info. */
const QUEUED_BYTES = 768;
/** How sure it is that a source asks more than its part: so many standard deviations of a count, */
const DEVIATIONS = 1.5;
/** and so many messages at least: one is nothing to know a rate from. */
const LEAST_SEEN = 1.5;
const LEAST_SEEN_LIMITED = 0.4;
/** Lines for the log come no more often; overloads in between are in the metrics alone. */
const LOG_PAUSE_MS = 60_000;
/** The first one comes when there are limits and the backlog is answered, or after this time. */
const LOG_DELAY_MS = 1_000;
/** Clients that ask for less than this part of all are not why. */
const LITTLE = 0.1;
const LOGGED_CLIENTS = 5;
const SHOWN_CLIENTS = 10;
/** A kernel that refuses a program with so few has no such filter. */
const LEAST_LIMITED = 16;

const PASSING = Float64Array.from({ length: CLASSES }, (_, limitClass) => passingPart(limitClass));

/**
 * Limits the sources of a UDP port that gets more than can be answered. The kernel then drops datagrams without regard for
 * whose they are, so a client that asks ten times a second loses as many of its questions as one that floods. In an overload the
 * datagrams are counted by source, an IPv4 address or an IPv6 /64, and a filter in the kernel drops those of the heavy ones, so
 * that each gets an equal part of what can be answered, and the others are not limited (max-min fairness). Dropping there
 * costs this process nothing; to receive a datagram costs nearly what an answer does.
 *
 *     in use ──(the kernel has dropped)──► overload: count, decide each 100 ms ──(all would fit, four times)──► in use
 *
 * After some seconds, limits that harm no other source stay for longer.
 *
 * What all others send goes to a second socket of the port meanwhile, which is received from first: they lose nothing to the heavy
 * ones, and do not wait for what these have sent. Where the port has one socket, what passes must fit in it, and is found by trial.
 *
 * Outside of an overload nothing is counted, but for a rehearsal in the first moments in use.
 */
export class SourceLimits {
  readonly #port: LimitedPort;
  readonly #counters: ListenerCounters;
  readonly #onOverload: (text: string) => void;
  readonly #now: () => number;
  readonly #startTimer: StartTimer;
  readonly #keys: SourceKeys;
  readonly #memory = new Uint32Array(MEMORY.NUMBERS);
  readonly #othersMemory = new Uint32Array(MEMORY.NUMBERS);
  #timer: ReturnType<StartTimer> | undefined;
  #isClosed = false;
  /** Messages that came several at a time since the last look. */
  #inUse = 0;
  /** Of these a second, where it was much: so many can be answered at least. */
  #usual = Number.NaN;
  /** Made in the rehearsal, and used again. */
  #sources: SourceTable | undefined;
  /** Messages that are still to come in the rehearsal. */
  #rehearsed = 0;
  #filter: SourceFilter | undefined;
  #choice: SourceFilter | undefined;
  #hasFilter = false;
  #hasBound = false;
  #maxLimited = MAX_LIMITED;
  #isOverload = false;
  #sinceMs = Number.NaN;
  #lookedMs = Number.NaN;
  #calmLooks = 0;
  /** Looks in a row without a backlog. */
  #timelyLooks = 0;
  /** What the kernel had dropped at the last look. */
  #dropped = 0;
  #othersDropped = 0;
  /** Since the last look. */
  #emptied = 0;
  #othersEmptied = 0;
  /** At the last look without a decision. */
  #othersEmptiedThen = 0;
  #droppedThen = 0;
  #discarded = 0;
  /** This many messages, which the first socket has next, came before the limits, and whether that is too long ago. */
  #before = 0;
  #areTooOld = false;
  /** There were some since the last look. */
  #wereBefore = false;
  /** Datagrams a second: what the sources get together, and what was answered when there was a backlog. */
  #budget = Number.POSITIVE_INFINITY;
  #capacity = Number.POSITIVE_INFINITY;
  /** There has been no backlog since the first limits. */
  #isSeeking = true;
  /** Of the last look, a second. */
  #arriving = Number.NaN;
  #answering = Number.NaN;
  #level = Number.NaN;
  #lost = 0;
  #loggedMs = Number.NEGATIVE_INFINITY;
  #log: 'due' | 'written' | 'left out' = 'left out';

  constructor({ port, counters, onOverload, now, startTimer }: SourceLimitsOptions) {
    this.#port = port;
    this.#counters = counters;
    this.#onOverload = onOverload;
    this.#now = now ?? (() => performance.now());
    this.#startTimer = startTimer ?? startNodeTimer;
    const { isIpv6 } = port;
    this.#keys = { isIpv6, first: randomSeed() | 1, second: randomSeed() | 1 };
    // Where the kernel does not tell, nothing is known and nothing is limited.
    if (this.#readMemory()) this.#takeDropped();
    else this.#isClosed = true;
  }

  /** Whether each message is to be counted. */
  get isCounting(): boolean {
    return this.#isOverload || this.#rehearsed > 0;
  }

  /** Whether limited sources have their socket for themselves, where there are two. */
  get isLimiting(): boolean {
    return this.#hasFilter;
  }

  /** So many messages were received together: the socket is looked at soon. */
  noteUse(messages: number): void {
    this.#inUse += messages;
    if (this.#timer !== undefined || this.#isClosed) return;
    if (this.#sources === undefined) {
      this.#sources = new SourceTable(this.#isSeparate);
      this.#rehearsed = REHEARSED;
    }
    this.#lookedMs = this.#now();
    this.#emptied = 0;
    this.#lookIn(IDLE_LOOK_MS);
  }

  /** Everything in a socket was received; `isOther`: in the second one. */
  noteEmpty(isOther: boolean): void {
    if (isOther) {
      this.#othersEmptied++;
      return;
    }
    this.#emptied++;
    this.#before = 0;
  }

  /**
   * Counts a message of so many datagrams; the source address starts with these numbers, of IPv4 the first. `isOther`: it came to the
   * second socket. False: it is too old, and is not answered.
   */
  admit(first: number, second: number, datagrams: number, isOther: boolean): boolean {
    const isRehearsed = this.#rehearsed > 0;
    if (isRehearsed) this.#rehearse();
    const isBefore = !isOther && this.#before > 0;
    const sources = this.#sources!;
    if (isBefore) {
      this.#before--;
      this.#wereBefore = true;
      if (this.#areTooOld) this.#discarded += datagrams;
    }
    // Of a limited source the rate is known from those that the limits let pass.
    if (isBefore && this.#isSeparate && this.#hasFilter) sources.countUnknown(datagrams);
    else sources.count(keyOf(this.#keys, first, second), first, second, datagrams, isOther);
    return isRehearsed || !isBefore || !this.#areTooOld;
  }

  get #isSeparate(): boolean {
    return this.#port.others !== undefined;
  }

  /** The current overload; undefined when there is none. */
  get overload(): Overload | undefined {
    if (!this.#isOverload) return undefined;
    return {
      seconds: Math.round((this.#now() - this.#sinceMs) / 1_000),
      arriving: Math.round(this.#arriving),
      answering: Math.round(this.#answering),
      limited: this.#sources!.limited,
      clients: this.#clients(SHOWN_CLIENTS),
    };
  }

  /** May be called twice. */
  close(): void {
    this.#isClosed = true;
    this.#timer?.close();
    this.#timer = undefined;
  }

  #lookIn(ms: number): void {
    this.#timer = this.#startTimer(() => {
      this.#timer = undefined;
      if (!this.#isClosed) this.#look();
    }, ms);
  }

  #readMemory(): boolean {
    const { buffer, others } = this.#port;
    return buffer.readMemory(this.#memory) && others?.readMemory(this.#othersMemory) !== false;
  }

  /** What the kernel has dropped since the last call. */
  #takeDropped(): Dropped {
    const total = this.#memory[MEMORY.DROPPED]!;
    const othersTotal = this.#othersMemory[MEMORY.DROPPED]!;
    const first = (total - this.#dropped) >>> 0;
    const others = (othersTotal - this.#othersDropped) >>> 0;
    this.#dropped = total;
    this.#othersDropped = othersTotal;
    return { first, others };
  }

  #look(): void {
    this.#readMemory();
    const nowMs = this.#now();
    if (this.#isReading(nowMs)) {
      this.#lookIn(READING_LOOK_MS);
      return;
    }
    if (this.#isOverload && this.#areLimitsGood(nowMs)) {
      this.#lookIn(LOOK_MS);
      return;
    }
    const dropped = this.#takeDropped();
    if (this.#isOverload) {
      this.#decide(nowMs, dropped);
      this.#lookIn(LOOK_MS + LOOK_MS_OF_LIMITED * this.#sources!.limited);
    } else if (dropped.first + dropped.others > 0) {
      this.#counters.droppedFull += dropped.first + dropped.others;
      this.#begin(nowMs);
      this.#lookIn(FIRST_LOOK_MS);
    } else if (this.#inUse > 0) {
      this.#noteUsual((1_000 * this.#inUse) / Math.max(1, nowMs - this.#lookedMs));
      this.#inUse = this.#emptied = 0;
      this.#lookedMs = nowMs;
      this.#lookIn(IDLE_LOOK_MS);
    }
  }

  /** Whether the limited sources lose more than can be answered, and others nothing, and the limits are not too old. */
  #areLimitsGood(nowMs: number): boolean {
    if (!this.#hasFilter || !this.#isSeparate || this.#discarded > 0 || this.#emptied > 0)
      return false;
    const isNew = nowMs - this.#sinceMs < SETTLED_MS;
    if (isNew || nowMs - this.#lookedMs >= GOOD_LIMITS_MS) return false;
    const dropped = this.#memory[MEMORY.DROPPED]!;
    const lost = (dropped - this.#droppedThen) >>> 0;
    const isMuchLost = lost > (this.#capacity * LOOK_MS) / 1_000;
    const areOthersTimely = this.#othersEmptied > this.#othersEmptiedThen;
    const areOthersLost = this.#othersMemory[MEMORY.DROPPED] !== this.#othersDropped;
    this.#droppedThen = dropped;
    this.#othersEmptiedThen = this.#othersEmptied;
    return isMuchLost && areOthersTimely && !areOthersLost;
  }

  #noteUsual(perSecond: number): void {
    if (this.#inUse < LEAST_IN_USE) return;
    const before = Number.isNaN(this.#usual) ? perSecond : this.#usual;
    this.#usual = before + (perSecond - before) * NEWEST_USUAL;
  }

  /**
   * A message takes each way that it can take in an overload. Compiled code holds a field that was never changed for a constant, and
   * the first change throws all such code away.
   */
  #rehearse(): void {
    this.#rehearsed--;
    if (this.#rehearsed % REHEARSED_TO_DECISION === 0) this.#rehearseDecision();
    const isTurn = this.#rehearsed % 2 === 1;
    this.#areTooOld = this.#hasFilter = isTurn;
    this.#before = isTurn ? 1 : 0;
    this.#isOverload = true;
    this.#isOverload = false;
    if (this.#rehearsed === 0) this.#endRehearsal();
  }

  /** Makes limits that no kernel gets. */
  #rehearseDecision(): void {
    const sources = this.#sources!;
    sources.clear();
    for (let n = 0; n < REHEARSED_SOURCES * 3; n++) {
      const source = n % REHEARSED_SOURCES;
      sources.count(keyOf(this.#keys, source, 0), source, 0, 1, false);
    }
    sources.beforeLimits(1);
    sources.endWindow(1, 1, 1, false);
    sources.limit(REHEARSED_SOURCES, 0, MAX_LIMITED);
    this.#writePrograms();
    sources.clear();
  }

  #endRehearsal(): void {
    this.#discarded = 0;
    this.#wereBefore = false;
    // The next message starts it again.
    this.#timer?.close();
    this.#timer = undefined;
  }

  #begin(nowMs: number): void {
    const sources = this.#sources!;
    this.#rehearsed = this.#before = 0;
    this.#areTooOld = this.#hasFilter = this.#wereBefore = false;
    this.#isOverload = true;
    // Else it is a burst, or the process was not running.
    const isFull = this.#emptied === 0 && this.#inUse >= LEAST_IN_USE;
    const perSecond = (1_000 * this.#inUse) / Math.max(1, nowMs - this.#lookedMs);
    this.#inUse = 0;
    this.#sinceMs = this.#lookedMs = nowMs;
    this.#calmLooks = this.#emptied = this.#discarded = this.#lost = 0;
    this.#arriving = this.#answering = Number.NaN;
    this.#log = nowMs - this.#loggedMs >= LOG_PAUSE_MS ? 'due' : 'left out';
    sources.clear();
    this.#budget = this.#capacity = Number.POSITIVE_INFINITY;
    this.#isSeeking = !this.#isSeparate;
    this.#timelyLooks = 0;
    const waiting = this.#memory[MEMORY.QUEUED_BYTES]! / QUEUED_BYTES;
    if (isFull) this.#noteBefore(waiting, perSecond);
    else if (this.#isSeparate) this.#noteBefore(waiting, Number.POSITIVE_INFINITY);
    // With one socket what the limits let pass must be what is answered, rather exactly.
    const most = Math.max(isFull ? perSecond : 0, this.#usual || 0);
    if (this.#isSeparate && most > 0) this.#capacity = most;
  }

  /** Whether the first socket still has what came before the limits, of which they are made. */
  #isReading(nowMs: number): boolean {
    const isFirst = this.#isOverload && this.#isSeparate && !this.#hasFilter;
    if (!isFirst || this.#before === 0 || nowMs - this.#sinceMs >= READING_MS) return false;
    if (this.#sources!.isKnown(READ_OF_EACH)) return false;
    // A process that was not running for a while answers what waits, but no longer when much more comes.
    const dropped = (this.#memory[MEMORY.DROPPED]! - this.#dropped) >>> 0;
    if (dropped > this.#sources!.messages) this.#areTooOld ||= this.#isTooMuch(this.#before, this.#capacity); // prettier-ignore
    return true;
  }

  #isTooMuch(waiting: number, perSecond: number): boolean {
    return waiting > perSecond * PATIENCE_SECONDS;
  }

  #decide(nowMs: number, dropped: Dropped): void {
    const sources = this.#sources!;
    const seconds = Math.max(0.001, (nowMs - this.#lookedMs) / 1_000);
    this.#lookedMs = nowMs;
    const { messages, datagrams } = sources;
    const allDropped = dropped.first + dropped.others;
    const arrived = messages + allDropped;
    const isBehind =
      (sources.limitedMessages > 0 && this.#emptied === 0) ||
      (messages > sources.limitedMessages && this.#othersEmptied === 0);
    const { lost, deviation, sent } = this.#isSeparate
      ? this.#countSeparate(seconds, dropped)
      : this.#countTogether(seconds, dropped.first);
    this.#counters.droppedOld += this.#discarded;
    this.#lost += allDropped + this.#discarded;
    const perMessage = messages === 0 ? 1 : datagrams / messages;
    // What is discarded arrived before.
    this.#arriving = Math.max(sent, perMessage * arrived - this.#discarded) / seconds;
    this.#answering = (datagrams - this.#discarded) / seconds;
    const isKnown = this.#capacity !== Number.POSITIVE_INFINITY;
    const fits = allDropped === 0 || (isKnown && this.#arriving < this.#capacity * LESS);
    const isLost = messages > 0 && !fits && lost > arrived * LOST_PART + SURE * deviation;
    const isLate = isBehind || isLost;
    if (this.#discarded === 0) {
      const isMore = this.#capacity < this.#answering;
      if (isLate && !isKnown) this.#capacity = this.#answering;
      else if (isBehind || isMore) {
        // Without a backlog it may be that of a moment.
        const part = isBehind ? NEWEST : this.#isSeparate ? 1 : NEWEST_MORE;
        this.#capacity += (this.#answering - this.#capacity) * (this.#isSeeking ? 1 : part);
      }
    }
    if (this.#discarded === 0 || this.#isSeparate) this.#share(isLate, dropped.first);
    this.#emptied = this.#othersEmptied = this.#othersEmptiedThen = this.#discarded = 0;
    this.#wereBefore = false;
    this.#calmLooks = isLate || (isKnown && !fits) ? 0 : this.#calmLooks + 1;
    if (this.#calmLooks >= CALM_LOOKS) this.#end(nowMs);
    else {
      const waiting = isLate ? this.#memory[MEMORY.QUEUED_BYTES]! / QUEUED_BYTES : 0;
      const isFirst = !this.#hasFilter;
      this.#limit(waiting * perMessage);
      if (isFirst && this.#hasFilter) this.#noteBefore(waiting, this.#capacity / perMessage);
      const isSettled = waiting === 0 && sources.limited > 0;
      if (isSettled || nowMs - this.#sinceMs > LOG_DELAY_MS) this.#logBegin(nowMs);
    }
  }

  /** `lost` is what other sources than the limited ones have lost, and `sent` what all sent; estimates. */
  #countSeparate(seconds: number, { first, others }: Dropped) {
    const sources = this.#sources!;
    const { messages, limitedMessages } = sources;
    this.#counters[this.#hasFilter ? 'droppedLimited' : 'droppedFull'] += first;
    this.#counters.droppedFull += others;
    const otherMessages = messages - limitedMessages;
    const otherWeight = otherMessages === 0 ? 1 : (otherMessages + others) / otherMessages;
    const { counted } = sources.beforeLimits(seconds);
    const weight = counted === 0 ? 1 : (limitedMessages + first) / counted;
    // No turn was left for what waits.
    const isUnread = this.#hasFilter && limitedMessages === 0 && this.#memory[MEMORY.QUEUED_BYTES]! > 0; // prettier-ignore
    const isUnknown = this.#wereBefore || isUnread;
    const sent = sources.endWindow(seconds, weight, otherWeight, isUnknown);
    return { lost: this.#hasFilter ? others : first, deviation: 0, sent };
  }

  /** The same where all share a socket: what is dropped there for want of room, and by limits, is found by counting. */
  #countTogether(seconds: number, dropped: number) {
    const sources = this.#sources!;
    const { messages } = sources;
    const arrived = messages + dropped;
    // What came to the filter, if all that passed it had found room. What is less was lost after it, of all alike; more is chance,
    // or waited since before the limits.
    const { counted, deviation } = sources.beforeLimits(seconds);
    const weight = counted === 0 ? 1 : arrived / counted;
    const isAll = messages === 0 && this.#hasFilter;
    const limited = isAll ? dropped : Math.round((counted - messages) * weight);
    const byLimits = Math.min(dropped, limited);
    this.#counters.droppedLimited += byLimits;
    this.#counters.droppedFull += dropped - byLimits;
    return {
      lost: arrived - counted,
      deviation,
      sent: sources.endWindow(seconds, weight, weight, false),
    };
  }

  /** What the sources get together, from what was answered since the last look. */
  #share(isLate: boolean, dropped: number): void {
    if (this.#isSeparate) {
      if (this.#budget === Number.POSITIVE_INFINITY) {
        if (!isLate || this.#capacity === Number.POSITIVE_INFINITY) return;
        this.#counters.overloads++;
        this.#boundBuffer();
      }
      // What the limits let pass is answered immediately: they are of a moment in which the process had no CPU time.
      const isTooLittle = this.#hasFilter && this.#emptied > 0 && dropped > 0;
      const least = isLate ? 0 : this.#budget * (isTooLittle ? MORE_AT_ONCE : 1);
      this.#budget = Math.max(this.#capacity * LESS, least);
      return;
    }
    if (isLate) {
      this.#timelyLooks = 0;
      // The first one is why there are limits.
      if (this.#hasFilter && this.#budget > this.#capacity) this.#isSeeking = false;
      const less = Math.min(this.#budget, this.#capacity * MOST) * LESS;
      const isFirst = this.#budget === Number.POSITIVE_INFINITY;
      if (isFirst) this.#counters.overloads++;
      this.#budget = isFirst ? this.#capacity * LESS : Math.max(less, this.#capacity * LEAST);
      if (isFirst) this.#boundBuffer();
      return;
    }
    const waiting = this.#memory[MEMORY.QUEUED_BYTES]! / this.#memory[MEMORY.BUFFER_BYTES]!;
    if (waiting > ENOUGH_WAITS) return;
    const most = Math.max(this.#budget, HIGHEST * this.#capacity);
    const quick = Math.min(this.#budget * MORE_AT_FIRST, this.#capacity * LEAST);
    const factor = this.#isSeeking
      ? MORE_AT_FIRST
      : MORE ** (1 + this.#timelyLooks++ / TIMELY_LOOKS);
    this.#budget = Math.min(Math.max(this.#budget * factor, quick), most);
  }

  /** More than clients wait for is not to wait in the socket: what finds no room is new, but what waits would be answered too late. */
  #boundBuffer(): void {
    const bytes = Math.max(LEAST_BUFFER, this.#capacity * BUFFER_SECONDS * QUEUED_BYTES);
    if (bytes >= this.#memory[MEMORY.BUFFER_BYTES]!) return;
    this.#hasBound = true;
    this.#setRoom(2 * Math.ceil(bytes / 2));
  }

  #setRoom(bytes: number | undefined): void {
    const { buffer, others } = this.#port;
    buffer.setBytes(bytes);
    others?.setBytes(bytes);
  }

  /** What has waited for longer than clients wait is not answered: newer questions are, in its place. */
  #noteBefore(waiting: number, perSecond: number): void {
    this.#areTooOld = this.#isTooMuch(waiting, perSecond);
    if (this.#isSeparate) this.#before = Math.floor(waiting);
    // With what arrives meanwhile.
    else if (this.#areTooOld) this.#before = 2 * Math.floor(waiting);
  }

  /** `waiting`: datagrams that are a backlog in the socket, and are to be answered, too. */
  #limit(waiting = 0): void {
    const sources = this.#sources!;
    const least = this.#budget * (1 - LEAST_DRAINED);
    // A backlog delays no one where others have a socket of their own.
    const less = this.#isSeparate ? 0 : Math.min(least, waiting / DRAIN_SECONDS);
    this.#level = sources.limit(this.#budget, less, this.#maxLimited);
    if (!sources.isChanged) return;
    if (sources.limited === 0) {
      this.#unlimit();
      return;
    }
    const { filter, choice } = this.#writePrograms();
    this.#hasFilter = this.#port.attach(filter, choice);
    // What was dropped until now counts for no source in the next window.
    this.#readMemory();
    const { first, others } = this.#takeDropped();
    this.#counters.droppedFull += first + others;
    this.#lost += first + others;
    if (this.#hasFilter) return;
    // The memory for filters is limited (net.core.optmem_max), and that of the one before counts, too.
    this.#unlimit();
    if (this.#maxLimited > LEAST_LIMITED) this.#maxLimited = Math.floor(this.#maxLimited / 2);
  }

  #writePrograms(): { readonly filter: SourceFilter; readonly choice: SourceFilter } {
    const filter = (this.#filter ??= new SourceFilter(this.#keys));
    const choice = (this.#choice ??= new SourceFilter(this.#keys));
    this.#sources!.writeTo(filter, choice);
    return { filter, choice };
  }

  #unlimit(): void {
    this.#port.detach();
    this.#hasFilter = false;
    this.#sources!.unlimit();
  }

  #end(nowMs: number): void {
    const { limited } = this.#sources!;
    if (limited > 0) this.#unlimit();
    if (this.#hasBound) this.#setRoom(undefined);
    this.#hasBound = false;
    this.#isOverload = false;
    this.#before = 0;
    // Of the overload: it would be what came since this look.
    this.#inUse = this.#emptied = 0;
    if (this.#log !== 'written') return;
    const seconds = Math.max(1, Math.round((nowMs - this.#sinceMs) / 1_000));
    this.#onOverload(`all queries are answered again, after ${seconds} s: ${this.#lost} were lost`);
  }

  #logBegin(nowMs: number): void {
    if (this.#log !== 'due' || this.#budget === Number.POSITIVE_INFINITY) return;
    this.#log = 'written';
    this.#loggedMs = nowMs;
    const rates = `${Math.round(this.#arriving)} a second arrive, ${Math.round(this.#capacity)} can be answered`;
    this.#onOverload(`more queries than can be answered: ${rates}; ${this.#limitedText()}`);
  }

  #limitedText(): string {
    const sources = this.#sources!;
    if (sources.limitedPerSecond < this.#arriving * LITTLE)
      return 'no client asks much more than others, and all lose alike';
    const clients = this.#clients(LOGGED_CLIENTS);
    const named = clients.map(({ client, perSecond }) => `${client} (${perSecond} a second)`);
    const more = sources.limited - clients.length;
    if (more > 0) named.push(`${more} more`);
    return `each of these gets ${Math.max(1, Math.round(this.#level))} of them: ${named.join(', ')}`;
  }

  /** Those that are limited, highest rate first. */
  #clients(limit: number): LimitedClient[] {
    return this.#sources!.heaviest(limit).map(({ first, second, perSecond, part }) => ({
      client: this.#nameOf(first, second),
      perSecond: Math.round(perSecond),
      passing: Math.round(Math.min(perSecond * part, this.#level)),
    }));
  }

  #nameOf(first: number, second: number): string {
    const isIpv4 = !this.#keys.isIpv6;
    const bytes = new Uint8Array(isIpv4 ? 4 : 16);
    const view = new DataView(bytes.buffer);
    view.setUint32(0, first);
    if (isIpv4) return addressText(bytes);
    view.setUint32(4, second);
    return `${addressText(bytes)}/64`;
  }
}

function startNodeTimer(callback: () => void, ms: number): { close(): void } {
  const timer = setTimeout(callback, ms).unref();
  return { close: () => clearTimeout(timer) };
}

/** Sources that are counted at a time; further ones count together until others have gone. */
const MAX_SOURCES = 3_072;
const INDEX_BITS = 13;
const NONE = 0xffff;
/** Sources beyond those with a counter are a crowd when they send this part of what can be answered, or more, */
const CROWD = 10;
/** and then who asks for less than such a part of it is not limited. */
const CROWD_PARTS = 50;
/** The same for such a part where the sources that are known to be heavy are not all that ask too much, as at the beginning. */
const MOST_PARTS = MAX_LIMITED;
/** A source is limited where it asks for more than so many times its part. */
const MARGIN = 1.5;
/** Steps of a class that are much. */
const FRESH = 8;
/** A source of which so little is left in the memory of the last seconds has gone. */
const GONE = 0.1;

/** The part of a count that a source has at least, however small that count is: the lower end of the score interval of a Poisson mean. */
function surePart(count: number): number {
  const half = DEVIATIONS / 2;
  return (Math.sqrt(count + half * half) - half) ** 2 / count;
}

/** A source that is limited. */
interface HeavySource {
  readonly first: number;
  readonly second: number;
  /** Datagrams that it sends. */
  readonly perSecond: number;
  /** Of them those that pass. */
  readonly part: number;
}

/**
 * What sources sent in the last seconds, each with its limit: a place in the arrays, which an index finds by the key. Nothing is
 * allocated while it counts.
 */
class SourceTable {
  /** Whether other sources than the limited ones have a socket of their own. */
  readonly #isSeparate: boolean;
  readonly #index = new Uint16Array(1 << INDEX_BITS).fill(NONE);
  readonly #seed = randomSeed();
  #size = 0;
  readonly #keys = new Uint32Array(MAX_SOURCES);
  readonly #first = new Uint32Array(MAX_SOURCES);
  readonly #second = new Uint32Array(MAX_SOURCES);
  /** In this window: received, and of these at the first socket. */
  readonly #messages = new Float64Array(MAX_SOURCES);
  readonly #datagrams = new Float64Array(MAX_SOURCES);
  readonly #limitedMessages = new Float64Array(MAX_SOURCES);
  readonly #limitedDatagrams = new Float64Array(MAX_SOURCES);
  /** In the last seconds: messages that were received, and datagrams that were sent, as far as that can be known. */
  readonly #seen = new Float64Array(MAX_SOURCES);
  readonly #sent = new Float64Array(MAX_SOURCES);
  readonly #classes = new Uint8Array(MAX_SOURCES);
  /** Whether the limit is much another one than in the last window: what is received now may have passed that. */
  readonly #isFresh = new Uint8Array(MAX_SOURCES);
  /** The seconds that these are of, and the same of all other sources together. */
  #span = 0;
  #othersSent = 0;
  /** A source with a limit has gone. */
  #hasLostLimit = false;
  #othersMessages = 0;
  #othersDatagrams = 0;
  /** For `limit`. */
  readonly #order = new Uint16Array(MAX_SOURCES);
  readonly #atLeast = new Float64Array(MAX_SOURCES);
  readonly #chosen = new Uint8Array(MAX_SOURCES);
  readonly #programKeys = new Uint32Array(MAX_LIMITED);
  readonly #programClasses = new Uint8Array(MAX_LIMITED);
  /** In this window. */
  messages = 0;
  datagrams = 0;
  limitedMessages = 0;
  /** How many sources are limited, and whether `limit` has changed a limit. */
  limited = 0;
  isChanged = false;

  constructor(isSeparate: boolean) {
    this.#isSeparate = isSeparate;
  }

  /** A message that is not known to have passed the limits. */
  countUnknown(datagrams: number): void {
    this.messages++;
    this.limitedMessages++;
    this.datagrams += datagrams;
  }

  /** `isOther`: it came to the socket of other sources than the limited ones. */
  count(key: number, first: number, second: number, datagrams: number, isOther: boolean): void {
    this.messages++;
    this.datagrams += datagrams;
    const slot = this.#find(key);
    let source = this.#index[slot]!;
    if (source === NONE) {
      if (this.#size === MAX_SOURCES) {
        this.#othersMessages++;
        this.#othersDatagrams += datagrams;
        return;
      }
      source = this.#size++;
      this.#index[slot] = source;
      this.#keys[source] = key;
      this.#first[source] = first;
      this.#second[source] = second;
      this.#seen[source] = this.#sent[source] = 0;
      this.#startWindow(source);
      this.#classes[source] = this.#isFresh[source] = 0;
    }
    this.#messages[source]!++;
    this.#datagrams[source]! += datagrams;
    if (isOther) return;
    this.limitedMessages++;
    this.#limitedMessages[source]!++;
    this.#limitedDatagrams[source]! += datagrams;
  }

  /** Whether so many messages of each source have come since `clear`, in the mean. */
  isKnown(ofEach: number): boolean {
    return this.#span === 0 && this.messages >= Math.max(LEAST_IN_USE, ofEach * this.#size);
  }

  #startWindow(source: number): void {
    this.#messages[source] = this.#datagrams[source] = 0;
    this.#limitedMessages[source] = this.#limitedDatagrams[source] = 0;
  }

  /** How many messages of this window there would have been at the first socket without the limits, and the standard deviation of that. */
  beforeLimits(seconds: number): { readonly counted: number; readonly deviation: number } {
    let counted = this.#isSeparate ? 0 : this.#othersMessages;
    let variance = 0;
    for (let i = 0; i < this.#size; i++) {
      const part = PASSING[this.#classes[i]!]!;
      if (this.#isFresh[i] === 1) {
        const expected = this.#expected(i, seconds);
        counted += expected;
        variance += expected * expected;
        continue;
      }
      counted += this.#limitedMessages[i]! / part;
      // One more: none that has passed is no proof that none was sent.
      if (part < 1) variance += (this.#limitedMessages[i]! + 1) / (part * part);
    }
    return { counted, deviation: Math.sqrt(variance) };
  }

  /** What a source sends in a window, as far as is known from those before. */
  #expected(source: number, seconds: number): number {
    return (this.#sent[source]! * seconds) / this.#span;
  }

  /**
   * `weight` and `otherWeight`: each datagram that was received at the first socket or the other one stands for so many that found room
   * or not. `isUnknown`: what limited sources sent is not known, and counts as before. Returns how many were sent.
   */
  endWindow(seconds: number, weight: number, otherWeight: number, isUnknown: boolean): number {
    const left = Math.exp(-seconds / MEMORY_SECONDS);
    let allSent = this.#othersDatagrams * otherWeight;
    this.#othersSent = this.#othersSent * left + allSent;
    this.#othersMessages = this.#othersDatagrams = 0;
    this.messages = this.datagrams = this.limitedMessages = 0;
    let kept = 0;
    for (let i = 0; i < this.#size; i++) {
      const isHidden = isUnknown && this.#classes[i] !== 0;
      const isExpected = this.#isFresh[i] === 1 || isHidden;
      const seen = this.#seen[i]! * (isHidden ? 1 : left) + this.#messages[i]!;
      const limited = this.#limitedDatagrams[i]!;
      const passed = weight * (limited / PASSING[this.#classes[i]!]!);
      const counted = otherWeight * (this.#datagrams[i]! - limited) + passed;
      const sent = isExpected ? this.#expected(i, seconds) : counted;
      allSent += sent;
      if (seen < GONE) {
        if (this.#classes[i] !== 0) this.#hasLostLimit = true;
        continue;
      }
      this.#keys[kept] = this.#keys[i]!;
      this.#first[kept] = this.#first[i]!;
      this.#second[kept] = this.#second[i]!;
      this.#classes[kept] = this.#classes[i]!;
      this.#isFresh[kept] = this.#isFresh[i]!;
      this.#seen[kept] = seen;
      this.#sent[kept] = this.#sent[i]! * left + sent;
      this.#startWindow(kept);
      kept++;
    }
    this.#span = this.#span * left + seconds;
    if (kept === this.#size) return allSent;
    this.#size = kept;
    this.#index.fill(NONE);
    for (let i = 0; i < kept; i++) this.#index[this.#find(this.#keys[i]!)] = i;
    return allSent;
  }

  /**
   * Limits those that send more than their part of `whole`, in datagrams a second, at most `most` of them; returns that part.
   * They get less than that together, for a while. A source counts with the rate that it has at least, given how few of its
   * messages were seen.
   */
  limit(whole: number, less: number, most: number): number {
    const budget = whole - less;
    const span = Math.max(this.#span, Number.MIN_VALUE);
    let rest = this.#othersSent / span;
    let heavy = 0;
    let candidates = 0;
    const fairPart = budget / Math.max(1, this.#size);
    // With more sources than can be counted, equal parts are next to nothing: who asks for little is not limited then.
    const isCrowd = rest * CROWD > whole;
    // Who asks for a little more delays no one where heavy sources have another socket.
    const margin = this.#isSeparate ? MARGIN : 1;
    const leastPart = Math.max(fairPart, whole / (isCrowd ? CROWD_PARTS : MOST_PARTS));
    for (let i = 0; i < this.#size; i++) {
      const rate = this.#sent[i]! / span;
      rest += rate;
      this.#atLeast[i] = rate * surePart(this.#seen[i]!);
      // A limit stays while few are read of any source: that none of this one was among them says little.
      if (this.#seen[i]! < (this.#classes[i] === 0 ? LEAST_SEEN : LEAST_SEEN_LIMITED)) continue;
      if (this.#atLeast[i]! <= (isCrowd ? leastPart : margin * fairPart)) continue;
      this.#order[candidates++] = i;
      heavy += rate;
    }
    this.#chosen.fill(0, 0, this.#size);
    let level = budget;
    if (rest > budget) {
      const atLeast = this.#atLeast;
      const order = this.#order.subarray(0, candidates).sort((a, b) => atLeast[b]! - atLeast[a]!);
      // Else the others alone ask for more than can be answered.
      const isEnough = rest - heavy < budget;
      for (let n = 0; n < Math.min(candidates, most); n++) {
        const source = order[n]!;
        // Those after it ask for no more than each of those before it gets.
        if (n > 0 && atLeast[source]! <= margin * level) break;
        rest -= this.#sent[source]! / span;
        this.#chosen[source] = 1;
        level = isEnough ? (budget - rest) / (n + 1) : leastPart;
      }
    }
    level = Math.max(level, fairPart);
    this.#setClasses((this.#isSeparate ? AHEAD : 1) * level * span);
    return level;
  }

  #setClasses(levelSent: number): void {
    this.isChanged = this.#hasLostLimit;
    this.#hasLostLimit = false;
    this.limited = 0;
    for (let i = 0; i < this.#size; i++) {
      const before = this.#classes[i]!;
      let limitClass = this.#chosen[i] === 0 ? 0 : Math.max(1, classOf(levelSent / this.#sent[i]!));
      if (limitClass !== 0) {
        this.limited++;
        // A new program for each small change would cost more than it saves.
        if (before !== 0 && Math.abs(limitClass - before) <= 1) limitClass = before;
      }
      const isMuch = Math.abs(limitClass - before) >= FRESH;
      this.#isFresh[i] = isMuch && this.#isFresh[i] === 0 ? 1 : 0;
      if (limitClass === before) continue;
      this.#classes[i] = limitClass;
      this.isChanged = true;
    }
  }

  /** Writes the programs of the limits. */
  writeTo(filter: SourceFilter, choice: SourceFilter): void {
    const keys = this.#programKeys;
    let count = 0;
    for (let i = 0; i < this.#size; i++) {
      if (this.#classes[i] !== 0) keys[count++] = this.#keys[i]!;
    }
    keys.subarray(0, count).sort();
    for (let i = 0; i < count; i++) {
      this.#programClasses[i] = this.#classes[this.#index[this.#find(keys[i]!)]!]!;
    }
    filter.write(keys, this.#programClasses, count);
    if (this.#isSeparate) choice.writeChoice(keys, this.#programClasses, count);
  }

  unlimit(): void {
    this.#classes.fill(0, 0, this.#size);
    this.#isFresh.fill(0, 0, this.#size);
    this.limited = 0;
  }

  clear(): void {
    this.#size = 0;
    this.#index.fill(NONE);
    this.#span = this.#othersSent = this.#othersMessages = this.#othersDatagrams = 0;
    this.messages = this.datagrams = this.limitedMessages = this.limited = 0;
  }

  /** Datagrams that the limited sources send together. */
  get limitedPerSecond(): number {
    let sent = 0;
    for (let i = 0; i < this.#size; i++) if (this.#classes[i] !== 0) sent += this.#sent[i]!;
    return sent / this.#span;
  }

  /** Of the limited ones. */
  heaviest(limit: number): HeavySource[] {
    const found: HeavySource[] = [];
    for (let i = 0; i < this.#size; i++) {
      if (this.#classes[i] === 0) continue;
      found.push({
        first: this.#first[i]!,
        second: this.#second[i]!,
        perSecond: this.#sent[i]! / this.#span,
        part: PASSING[this.#classes[i]!]!,
      });
    }
    return found.sort((a, b) => b.perSecond - a.perSecond).slice(0, limit);
  }

  /** The slot of the index where a key is, or where it goes. */
  #find(key: number): number {
    const mask = (1 << INDEX_BITS) - 1;
    let slot = finishHash(this.#seed ^ key) & mask;
    for (;;) {
      const source = this.#index[slot]!;
      if (source === NONE || this.#keys[source] === key) return slot;
      slot = (slot + 1) & mask;
    }
  }
}
