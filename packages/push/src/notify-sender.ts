import { TokenBucket } from '@kube-dns/base';
import { by, byBoth, type Log, type MetricFamily, type MetricPrefix } from '@kube-dns/daemon';
import {
  exchange,
  type Exchange,
  isReplyTo,
  randomId,
  type ServerAddress,
  serverText,
} from '@kube-dns/transport';
import {
  checkTsig,
  encodeKey,
  MAX_NAME_BYTES,
  OPCODE_MASK,
  OPCODE_NOTIFY,
  RCODE,
  RCODE_MASK,
  readTsig,
  readUint16,
  signMessage,
  isInZone,
  type TsigKey,
  writeNotify,
} from '@kube-dns/wire';
import type { ChangeFeed, ChangeObserver } from './change-feed.js';

/** A TSIG without the key's name: the rest of the record, with the longest MAC. */
const TSIG_BYTES = 128;

/** The zone whose changes are announced. */
export interface NotifiedZone {
  /** Lower-cased, in wire form. */
  readonly apex: Uint8Array;
  /** The data of its SOA record as it is now. */
  readonly soaRdata: Uint8Array;
}

/** A message that waits for its reply. */
export interface SentNotify {
  readonly message: Uint8Array;
  /** Whether a datagram is the reply; with a key one that is not rightly signed is none. */
  isReply(reply: Uint8Array): boolean;
  /** What was wrong with a datagram that would be the reply otherwise. */
  readonly badReplyReason: string | undefined;
}

/** Writes the NOTIFY messages of a zone, signed when there is a key, and knows their replies. */
export class NotifyMessages {
  readonly #zone: NotifiedZone;
  readonly #ttlSeconds: number;
  readonly #key: TsigKey | undefined;
  readonly #wallNow: () => number;
  /** Other zones, whose names are announced, too. */
  readonly beside: readonly NotifiedZone[];

  /** `wallNow` is in milliseconds since the epoch. */
  constructor(
    zone: NotifiedZone,
    ttlSeconds: number,
    key: TsigKey | undefined,
    wallNow: () => number = Date.now,
    beside: readonly NotifiedZone[] = [],
  ) {
    this.beside = beside;
    this.#zone = zone;
    this.#ttlSeconds = ttlSeconds;
    this.#key = key;
    this.#wallNow = wallNow;
  }

  get apex(): Uint8Array {
    return this.#zone.apex;
  }

  /** The zone of a name: one of those beside the first, or that. */
  zoneOf(name: Uint8Array): NotifiedZone {
    return this.beside.find(({ apex }) => isInZone(name, name.length, apex)) ?? this.#zone;
  }

  /** A message about a name (lower-cased, in wire form) with a random ID. */
  write(name: Uint8Array): SentNotify {
    const { apex, soaRdata } = this.zoneOf(name);
    const plain = writeNotify({
      id: randomId(),
      name,
      apex,
      soaRdata,
      ttlSeconds: this.#ttlSeconds,
    });
    const key = this.#key;
    if (key === undefined) {
      return {
        message: plain,
        isReply: (reply) => isNotifyReply(plain, reply),
        badReplyReason: undefined,
      };
    }
    const out = new Uint8Array(plain.length + MAX_NAME_BYTES + TSIG_BYTES);
    out.set(plain);
    const length = signMessage(out, plain.length, key, { timeSeconds: this.#nowSeconds });
    return new SignedNotify(out.subarray(0, length), key, () => this.#nowSeconds);
  }

  get #nowSeconds(): number {
    return Math.floor(this.#wallNow() / 1_000);
  }
}

class SignedNotify implements SentNotify {
  readonly message: Uint8Array;
  badReplyReason: string | undefined;
  readonly #key: TsigKey;
  readonly #nowSeconds: () => number;
  readonly #mac: Uint8Array | undefined;

  constructor(message: Uint8Array, key: TsigKey, nowSeconds: () => number) {
    this.message = message;
    this.#key = key;
    this.#nowSeconds = nowSeconds;
    const tsig = readTsig(message);
    this.#mac = typeof tsig === 'string' ? undefined : tsig.mac;
  }

  /** RFC 8945 section 5.3: the reply may still come after one that anyone can have sent. */
  isReply(reply: Uint8Array): boolean {
    if (!isNotifyReply(this.message, reply)) return false;
    const tsig = readTsig(reply);
    const rcode = readUint16(reply, 2) & RCODE_MASK;
    if (typeof tsig === 'string') {
      this.badReplyReason = `a reply with rcode ${rcode} is not signed`;
      return false;
    }
    const error = checkTsig(reply, tsig, this.#key, this.#nowSeconds(), this.#mac);
    if (error === RCODE.NOERROR) return true;
    this.badReplyReason = `a reply with rcode ${rcode} and TSIG error ${tsig.error} is not signed by the key`;
    return false;
  }
}

function isNotifyReply(message: Uint8Array, reply: Uint8Array): boolean {
  return isReplyTo(message, reply) && (readUint16(reply, 2) & OPCODE_MASK) === OPCODE_NOTIFY;
}

/** How long each sending waits for a reply before the next one, and before it is given up. */
const WAITS_MS = [100, 400, 1_600, 2_000] as const;
/** A name is not sent anew more often than this. */
const PAUSE_MS = 50;

export interface AnnouncementEvents {
  onSent(): void;
  onReply(rcode: number): void;
  onGivenUp(reason: string): void;
  /** Nothing is left to do. */
  onIdle(): void;
}

/** The NOTIFY of one name to one server, repeated until there is a reply (RFC 1996 section 3.6). */
export class Announcement {
  readonly name: Uint8Array;
  readonly #server: ServerAddress;
  readonly #messages: NotifyMessages;
  readonly #events: AnnouncementEvents;
  readonly #ask: typeof exchange;
  #sent: SentNotify | undefined;
  #exchange: Exchange | undefined;
  #next: NodeJS.Timeout | undefined;
  #pause: NodeJS.Timeout | undefined;
  /** Whether the name changed again during the pause. */
  #isDue = false;

  constructor(
    name: Uint8Array,
    server: ServerAddress,
    messages: NotifyMessages,
    events: AnnouncementEvents,
    ask = exchange,
  ) {
    this.name = name;
    this.#server = server;
    this.#messages = messages;
    this.#events = events;
    this.#ask = ask;
  }

  /** The name changed: a reply to an earlier message says nothing of it. */
  start(): void {
    this.#isDue = this.#pause !== undefined;
    if (this.#isDue) return;
    this.#pause = setTimeout(() => this.#endPause(), PAUSE_MS);
    this.#cancel();
    this.#sent = this.#messages.write(this.name);
    this.#send(this.#sent, 0);
  }

  close(): void {
    clearTimeout(this.#pause);
    this.#cancel();
  }

  #endPause(): void {
    this.#pause = undefined;
    if (this.#isDue) this.start();
    else if (this.#sent === undefined) this.#events.onIdle();
  }

  #send(notify: SentNotify, attempt: number): void {
    const timeoutMs = WAITS_MS[attempt]!;
    const sentMs = performance.now();
    this.#events.onSent();
    this.#exchange = this.#ask(
      {
        query: notify.message,
        server: this.#server,
        protocol: 'udp',
        timeoutMs,
        isReply: (_, reply) => notify.isReply(reply),
      },
      (error, reply) => {
        this.#exchange = undefined;
        if (reply !== null) {
          this.#end();
          this.#events.onReply(readUint16(reply, 2) & RCODE_MASK);
          return;
        }
        // A closed port is reported at once, and may be open when the server has started.
        const leftMs = Math.max(0, timeoutMs - (performance.now() - sentMs));
        this.#next = setTimeout(() => {
          if (attempt + 1 < WAITS_MS.length) this.#send(notify, attempt + 1);
          else {
            this.#events.onGivenUp(notify.badReplyReason ?? error?.message ?? '');
            this.#end();
          }
        }, leftMs);
      },
    );
  }

  #end(): void {
    this.#sent = undefined;
    if (this.#pause === undefined) this.#events.onIdle();
  }

  #cancel(): void {
    this.#exchange?.cancel();
    this.#exchange = undefined;
    clearTimeout(this.#next);
    this.#sent = undefined;
  }
}

/** Names that wait for a reply or for their next turn; with more their zone is named instead. */
const MAX_NAMES = 16;
/** Names a second; with more their zone is named instead, which adds 60 a second at most. */
const NAMES_PER_SECOND = 40;
/** A target that does not reply is logged as often as this. */
const LOG_EVERY_MS = 60_000;
const REVERSE_ZONES = ['in-addr.arpa', 'ip6.arpa'].map(encodeKey);

export interface NotifyTargetOptions {
  readonly server: ServerAddress;
  readonly messages: NotifyMessages;
  readonly log: Pick<Log, 'warn'>;
  /** It is a secondary, which has zones and knows no names in them: NSD gives no reply about one that is to be believed. */
  readonly isSecondary?: boolean;
  /** Sends a message and waits for its reply; on a socket of its own unless given. */
  readonly ask?: typeof exchange;
}

/** One server that is notified (RFC 1996) which names changed. */
export class NotifyTarget {
  /** Messages that were sent, and how names ended: with NOERROR, with another rcode, or without a reply. */
  sent = 0;
  readonly results = { acknowledged: 0, refused: 0, given_up: 0 };
  readonly #options: NotifyTargetOptions;
  readonly #bucket = new TokenBucket(NAMES_PER_SECOND, MAX_NAMES);
  /** By the bytes of the name as text. */
  readonly #announcements = new Map<string, Announcement>();
  #loggedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: NotifyTargetOptions) {
    this.#options = options;
  }

  /** As in the log and in metrics: `192.0.2.1#53`. */
  get text(): string {
    return serverText(this.#options.server);
  }

  /** Names a name that changed, lower-cased in wire form: the zone or a name in it, or a reverse name. */
  notify(name: Uint8Array): void {
    if (this.#options.isSecondary === true) {
      this.#announceZone(this.#zoneOf(name));
      return;
    }
    const mayBeNamed = this.#announcements.size < MAX_NAMES && this.#bucket.take();
    if (mayBeNamed) this.#announce(name);
    else this.#announceZone(this.#zoneOf(name));
  }

  /** Everything may have changed. */
  notifyZones(): void {
    const { apex, beside } = this.#options.messages;
    const apexes = [apex, ...beside.map((zone) => zone.apex)];
    for (const zone of [...apexes, ...REVERSE_ZONES]) this.#announceZone(zone);
  }

  close(): void {
    for (const each of this.#announcements.values()) each.close();
    this.#announcements.clear();
  }

  #zoneOf(name: Uint8Array): Uint8Array {
    return (
      REVERSE_ZONES.find((zone) => isInZone(name, name.length, zone)) ??
      this.#options.messages.zoneOf(name).apex
    );
  }

  /** It stands for the names below it that wait. */
  #announceZone(zone: Uint8Array): void {
    for (const [key, each] of this.#announcements) {
      if (each.name.length === zone.length || !isInZone(each.name, each.name.length, zone))
        continue;
      each.close();
      this.#announcements.delete(key);
    }
    this.#announce(zone);
  }

  #announce(name: Uint8Array): void {
    const key = Buffer.from(name).toString('latin1');
    let announcement = this.#announcements.get(key);
    if (announcement === undefined) {
      const { server, messages, ask } = this.#options;
      announcement = new Announcement(name, server, messages, this.#eventsOf(name, key), ask);
      this.#announcements.set(key, announcement);
    }
    announcement.start();
  }

  #eventsOf(name: Uint8Array, key: string): AnnouncementEvents {
    const { results } = this;
    return {
      onSent: () => {
        this.sent++;
      },
      onReply: (rcode) => {
        results[rcode === RCODE.NOERROR ? 'acknowledged' : 'refused']++;
        const zone = this.#zoneOf(name);
        // A secondary: it knows the zone, and no name in it. NSD says NXDOMAIN.
        const isUnknown = rcode === RCODE.NOTAUTH || rcode === RCODE.NXDOMAIN;
        if (isUnknown && name.length > zone.length) this.#announceZone(zone);
      },
      onGivenUp: (reason) => {
        results.given_up++;
        this.#logSilence(reason);
      },
      onIdle: () => void this.#announcements.delete(key),
    };
  }

  #logSilence(reason: string): void {
    const nowMs = performance.now();
    if (nowMs - this.#loggedAtMs < LOG_EVERY_MS) return;
    this.#loggedAtMs = nowMs;
    this.#options.log.warn(`${this.text} does not reply to NOTIFY: ${reason}`);
  }
}

export interface NotifierOptions extends Omit<NotifyTargetOptions, 'server' | 'isSecondary'> {
  readonly servers: readonly ServerAddress[];
  /** The addresses of those that are secondaries; none unless given. */
  readonly secondaries?: readonly string[];
  readonly feed: Pick<ChangeFeed, 'observe' | 'leave'>;
}

/** Notifies the servers of `--notify` of what changes (RFC 1996). */
export class Notifier implements ChangeObserver {
  readonly targets: readonly NotifyTarget[];
  readonly #feed: NotifierOptions['feed'];
  #isClosed = false;

  constructor({ servers, secondaries = [], feed, ...rest }: NotifierOptions) {
    this.targets = servers.map(
      (server) =>
        new NotifyTarget({ server, isSecondary: secondaries.includes(server.address), ...rest }),
    );
    this.#feed = feed;
  }

  get receivers(): number {
    return this.targets.length;
  }

  /** The zone is complete: from now on its changes are announced, and at once that it may have changed before. */
  start(): void {
    if (this.#isClosed || this.targets.length === 0) return;
    this.#feed.observe(this);
    this.onFlush();
  }

  onChanged(names: readonly Uint8Array[]): void {
    for (const target of this.targets) for (const name of names) target.notify(name);
  }

  onFlush(): void {
    for (const target of this.targets) target.notifyZones();
  }

  close(): void {
    this.#isClosed = true;
    this.#feed.leave(this);
    for (const target of this.targets) target.close();
  }
}

/** The metrics of what is sent by NOTIFY. */
export function notifierFamilies(
  { counter }: MetricPrefix,
  targets: () => readonly Pick<NotifyTarget, 'text' | 'sent' | 'results'>[],
): MetricFamily[] {
  return [
    counter(
      'notify_sent_total',
      'NOTIFY messages that were sent, including retransmissions (--notify).',
      by('target', () => targets().map(({ text, sent }) => [text, sent])),
    ),
    counter(
      'notify_results_total',
      'Names that were announced by NOTIFY: acknowledged, refused, or given up without a reply.',
      byBoth(['target', 'result'], () => targets().map(({ text, results }) => [text, results])),
    ),
  ];
}
