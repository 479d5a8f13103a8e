import { exchange, type Exchange, type ServerAddress } from '@kube-dns/transport';
import { RCODE_MASK, readUint16 } from '@kube-dns/wire';
import type { NotifyMessages, SentNotify } from './notify-messages.js';

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
            this.#events.onGivenUp(notify.flaw ?? error?.message ?? '');
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
