import { TokenBucket } from '@kube-dns/base';
import type { Log } from '@kube-dns/daemon';
import { type exchange, type ServerAddress, serverText } from '@kube-dns/transport';
import { encodeKey, RCODE, suffixOffset } from '@kube-dns/wire';
import { Announcement, type AnnouncementEvents } from './announcement.js';
import type { NotifyMessages } from './notify-messages.js';

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
  /** Sends a message and waits for its reply; on a socket of its own unless given. */
  readonly ask?: typeof exchange;
}

/** One server that is told by NOTIFY (RFC 1996) which names changed. */
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
    const mayBeNamed = this.#announcements.size < MAX_NAMES && this.#bucket.take();
    if (mayBeNamed) this.#announce(name);
    else this.#announceZone(this.#zoneOf(name));
  }

  /** Everything may have changed. */
  notifyZones(): void {
    for (const zone of [this.#options.messages.apex, ...REVERSE_ZONES]) this.#announceZone(zone);
  }

  close(): void {
    for (const each of this.#announcements.values()) each.close();
    this.#announcements.clear();
  }

  #zoneOf(name: Uint8Array): Uint8Array {
    return REVERSE_ZONES.find((zone) => isBelow(name, zone)) ?? this.#options.messages.apex;
  }

  /** It stands for the names below it that wait. */
  #announceZone(zone: Uint8Array): void {
    for (const [key, each] of this.#announcements) {
      if (each.name.length === zone.length || !isBelow(each.name, zone)) continue;
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
        // A secondary: it knows the zone, and no name in it.
        if (rcode === RCODE.NOTAUTH && name.length > zone.length) this.#announceZone(zone);
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

function isBelow(name: Uint8Array, zone: Uint8Array): boolean {
  return suffixOffset(name, name.length, zone) >= 0;
}
