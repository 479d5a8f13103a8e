import { connect, type Socket } from 'node:net';
import { BackOff, systemReason } from '@kube-dns/base';
import {
  type ClusterVersionNote,
  clusterVersionTlv,
  DSO_TYPE,
  type DsoMessage,
  type DsoTlv,
  FLAG,
  HEADER_BYTES,
  isDso,
  keepaliveTlv,
  RCODE,
  RCODE_MASK,
  readChanged,
  readClusterVersion,
  readDso,
  readSerialTlv,
  readSubscribed,
  readUint16,
  type Subscribed,
  writeDso,
} from '@kube-dns/wire';
import { frameMessage, FrameReader, isLoopback, type ServerAddress } from '@kube-dns/transport';

/** Until all zones are subscribed to, from the first packet on. */
const SUBSCRIBE_MS = 5_000;
/** This side sends something at least this often (RFC 8490 section 6.5). */
const KEEPALIVE_MS = 10_000;

/** Why any record may have changed: the server says so, or a message was missed. */
export type FlushCause = 'by-server' | 'missed-message';

/** What a response to a subscription means. */
const REFUSALS: ReadonlyMap<number, string> = new Map([
  [
    RCODE.SERVFAIL,
    'SERVFAIL: it has as many subscribers as it may, or does not know its whole zone yet',
  ],
  [RCODE.REFUSED, 'REFUSED: this client may not subscribe, or the server knows no subscriptions'],
  [RCODE.NOTIMP, 'NOTIMP: the server knows no subscriptions'],
]);

/** What has arrived, of all connections: it is read in the same turn of the event loop. Memory for each read costs more than to read it. */
const RECEIVED = Buffer.allocUnsafeSlow(64 * 1024);

/** For messages in one turn of the event loop: a server that sends without end must not stop all else. */
const TURN_MS = 2;

/** Called in the turn of the event loop in which the message arrives. */
export interface ChangeEvents {
  /**
   * From now on every change is announced. What was before is unknown, unless the subscription is resumed: what the
   * subscriber missed follows then.
   */
  onLive(server: Subscribed, note: ClusterVersionNote | undefined): void;
  /**
   * The version of the cluster after a message, before what that says; with its serial if it announces changes. Only from
   * servers that know such versions.
   */
  onVersion?(note: ClusterVersionNote, serial?: number): void;
  /**
   * The records of a name, lower-cased in wire form, or of names below it have changed: answers with a lower serial
   * may be old. The name is not copied.
   */
  onChanged(name: Uint8Array, serial: number): void;
  /** Any record may have changed. */
  onFlush(cause: FlushCause, serial: number): void;
  /** It sent something: every change until now was passed on. */
  onSeen?(): void;
}

/**
 * How a connection ended: `lost` it or the server; the server is `unsupported`: it does not announce changes, or not to
 * this client; or it is `busy`: it has enough subscribers, or its zone is not complete yet.
 */
export type Outcome = 'lost' | 'unsupported' | 'busy';

export interface ConnectionEvents extends ChangeEvents {
  /** Called once, and nothing after it but `onReady`, where the server is busy: then the connection stays until `close`. */
  onEnd(outcome: Outcome, reason: string): void;
  /** The server, which was busy, says that it takes the subscription now. */
  onReady(): void;
  /** It ends soon. */
  onLeaving(): void;
}

export interface SubscriptionTarget {
  readonly server: ServerAddress;
  /** Lower-cased, in wire form; one at least. */
  readonly zones: readonly Uint8Array[];
  /** Without a message of the server for this long it is taken for dead. */
  readonly silenceMs: number;
  /** The version of the cluster up to which changes are known; undefined for none. */
  readonly version?: Uint8Array | undefined;
}

/** One connection to a server that announces changes, from its subscriptions to its end. */
export class SubscriptionConnection {
  isLive = false;
  /** When the server sent something, in milliseconds of `performance.now()`; undefined before. */
  lastSeenMs: number | undefined;
  /** That of its last message. */
  serial = 0;
  readonly #target: SubscriptionTarget;
  readonly #events: ConnectionEvents;
  readonly #socket: Socket;
  readonly #frames = new FrameReader();
  readonly #keepalive: NodeJS.Timeout;
  #deadline: NodeJS.Timeout;
  #isConnected = false;
  #lastId = 0;
  /** Subscriptions without a response. */
  #due: number;
  /** What the first response said; undefined before. */
  #subscribed: Subscribed | undefined;
  /** Beside the last one. */
  #note: ClusterVersionNote | undefined;
  #hasEnded = false;
  /** The server is busy, and says when it is no more. */
  #isWaiting = false;
  /** It sent something in this turn: a response to a keepalive does not say that no change is missing. */
  #hasAnnounced = false;
  /** The turn in which it reads on. */
  #next: NodeJS.Immediate | undefined;

  constructor(target: SubscriptionTarget, events: ConnectionEvents) {
    this.#target = target;
    this.#events = events;
    this.#due = target.zones.length;
    this.#deadline = setTimeout(() => this.#endByServer('no response'), SUBSCRIBE_MS);
    this.#keepalive = setInterval(() => this.#request(keepaliveTlv(KEEPALIVE_MS)), KEEPALIVE_MS);
    const { address, port } = target.server;
    const callback = (length: number): boolean => {
      this.#read(length);
      return true;
    };
    const onread = { buffer: RECEIVED, callback };
    this.#socket = connect({ host: address, port, noDelay: true, onread });
    this.#socket.on('connect', () => {
      this.#isConnected = true;
      const zones = target.zones.map((data) => ({ type: DSO_TYPE.SUBSCRIBE, data }));
      for (const zone of zones.slice(0, -1)) this.#request(zone);
      // What was missed follows the last one, when it is live.
      for (const zone of zones.slice(-1)) this.#request(zone, clusterVersionTlv(target.version));
    });
    this.#socket.on('error', (error) => this.#end('lost', systemReason(error)));
    this.#socket.on('end', () => this.#endByServer('the server closed the connection'));
    this.#socket.on('close', () => this.#endByServer('the server closed the connection'));
  }

  /** Ends it as if the server had. */
  leave(reason: string): void {
    this.#end('lost', reason);
  }

  /** Ends it without a call back. */
  close(): void {
    this.#hasEnded = true;
    clearTimeout(this.#deadline);
    clearInterval(this.#keepalive);
    clearImmediate(this.#next);
    this.#socket.destroy();
  }

  #end(outcome: Outcome, reason: string): void {
    if (this.#hasEnded) return;
    this.close();
    if (!this.#isWaiting) this.#events.onEnd(outcome, reason);
  }

  #wait(reason: string): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    clearTimeout(this.#deadline);
    clearInterval(this.#keepalive);
    this.#events.onEnd('busy', reason);
  }

  /** Who does not know the opcode may close the connection, or be silent. */
  #endByServer(reason: string): void {
    const isAnswered = this.isLive || !this.#isConnected;
    this.#end(isAnswered ? 'lost' : 'unsupported', reason);
  }

  #request(...tlvs: readonly DsoTlv[]): void {
    const id = (this.#lastId = (this.#lastId % 0xffff) + 1);
    const rcode = RCODE.NOERROR;
    this.#socket.write(frameMessage(writeDso({ id, isResponse: false, rcode, tlvs })));
  }

  #read(length: number): void {
    this.#frames.push(RECEIVED, length);
    this.lastSeenMs = performance.now();
    if (this.#next === undefined) this.#readOn(this.lastSeenMs);
    this.#frames.retain();
  }

  #readOn(sinceMs: number): void {
    for (;;) {
      const bytes = this.#frames.next();
      if (bytes === undefined) {
        if (this.#hasAnnounced && this.isLive) this.#events.onSeen?.();
        this.#hasAnnounced = false;
        return;
      }
      const message = isDso(bytes) ? readDso(bytes) : undefined;
      if (message === undefined) this.#endByRefusal(bytes);
      else if (this.#isWaiting) this.#readWaiting(message);
      else if (message.isResponse) this.#readResponse(message);
      else this.#readEvent(message.tlvs);
      if (this.#hasEnded) return;
      if (performance.now() > sinceMs + TURN_MS) {
        this.#pause();
        return;
      }
    }
  }

  #pause(): void {
    this.#socket.pause();
    this.#next = setImmediate(() => {
      this.#next = undefined;
      this.#socket.resume();
      this.#readOn(performance.now());
    });
  }

  /** A refusal may come without the opcode of the request. */
  #endByRefusal(bytes: Uint8Array): void {
    const flags = bytes.length < HEADER_BYTES ? 0 : readUint16(bytes, 2);
    const isRefusal = (flags & FLAG.QR) !== 0 && (flags & RCODE_MASK) !== RCODE.NOERROR;
    if (isRefusal) this.#endByRcode(flags & RCODE_MASK);
    else this.#end('unsupported', 'its response is malformed');
  }

  #endByRcode(rcode: number): void {
    const reason = REFUSALS.get(rcode) ?? `its response has the rcode ${rcode}`;
    if (rcode === RCODE.SERVFAIL) this.#wait(reason);
    // dnsmasq 2.90 refuses what it does not know.
    else this.#end('unsupported', reason);
  }

  /** Responses for further zones mean nothing more. */
  #readWaiting({ tlvs: [operation] }: DsoMessage): void {
    if (operation?.type !== DSO_TYPE.READY) return;
    this.close();
    this.#events.onReady();
  }

  #readResponse({ rcode, tlvs }: DsoMessage): void {
    // Of a keepalive request.
    if (this.#due === 0) return;
    this.#due--;
    if (rcode === RCODE.NOERROR) {
      const [operation] = tlvs;
      const isSubscribed = operation?.type === DSO_TYPE.SUBSCRIBE;
      const subscribed = isSubscribed ? readSubscribed(operation.data) : undefined;
      if (subscribed === undefined) {
        this.#end('unsupported', 'its response is malformed');
        return;
      }
      if (this.#subscribed === undefined) this.serial = subscribed.serial;
      this.#subscribed = subscribed;
      this.#note = readClusterVersion(tlvs);
    } else if (rcode !== RCODE.NOTAUTH || (this.#due === 0 && this.#subscribed === undefined)) {
      this.#endByRcode(rcode);
      return;
    } else this.#note = undefined;
    if (this.#due === 0) this.#goLive(this.#subscribed!);
  }

  #goLive(subscribed: Subscribed): void {
    this.isLive = true;
    clearTimeout(this.#deadline);
    this.#awaitMessage();
    this.#events.onLive({ ...subscribed, serial: this.serial }, this.#note);
  }

  /** Ends it after the silence: a timer that each message sets anew costs more than one that looks when the last one came. */
  #awaitMessage(): void {
    const leftMs = this.lastSeenMs! + this.#target.silenceMs - performance.now();
    if (leftMs <= 0) this.#end('lost', 'no heartbeat');
    else this.#deadline = setTimeout(() => this.#awaitMessage(), leftMs);
  }

  /** Serials that do not continue mean that something was missed. */
  #readEvent(tlvs: readonly DsoTlv[]): void {
    const [operation] = tlvs;
    if (operation?.type === DSO_TYPE.LEAVING) {
      if (this.isLive) this.#events.onLeaving();
      return;
    }
    this.#hasAnnounced = true;
    if (operation?.type === DSO_TYPE.CHANGED) this.#readChanged(operation.data, tlvs);
    else if (operation?.type === DSO_TYPE.FLUSH || operation?.type === DSO_TYPE.HEARTBEAT) {
      const serial = readSerialTlv(operation.data);
      if (serial === undefined) this.#end('lost', 'a message is malformed');
      else this.#readSerial(serial, operation.type === DSO_TYPE.FLUSH, tlvs);
    }
  }

  #noteVersion(tlvs: readonly DsoTlv[], serial?: number): void {
    const note = readClusterVersion(tlvs);
    if (note !== undefined) this.#events.onVersion?.(note, serial);
  }

  #readChanged(data: Uint8Array, tlvs: readonly DsoTlv[]): void {
    const changed = readChanged(data);
    if (changed === undefined) {
      this.#end('lost', 'a message is malformed');
      return;
    }
    const { before, after, names } = changed;
    const isNext = before === this.serial;
    this.serial = after;
    if (!this.isLive) return;
    this.#noteVersion(tlvs, after);
    if (!isNext) this.#events.onFlush('missed-message', after);
    else for (const name of names) this.#events.onChanged(name, after);
  }

  #readSerial(serial: number, isFlush: boolean, tlvs: readonly DsoTlv[]): void {
    const isNext = serial === this.serial;
    this.serial = serial;
    if (!this.isLive) return;
    this.#noteVersion(tlvs, isFlush || !isNext ? serial : undefined);
    if (isFlush) this.#events.onFlush('by-server', serial);
    else if (!isNext) this.#events.onFlush('missed-message', serial);
  }
}

/** A server sends a heartbeat every 2 s. */
const SILENCE_MS = 12_000;
/** A server that does not announce changes is asked again after this time. */
const UNSUPPORTED_PAUSE_MS = 60_000;
/**
 * Pauses after a lost connection, and for a server that cannot announce changes now, as its zone is not complete or it has
 * too many subscribers: anything up to these, which are twice the last one each time. The subscribers of a server that ended
 * all come back in the first one, and what they missed is repeated.
 */
const FIRST_PAUSE_MS = 1_000;
const LAST_PAUSE_MS = 8_000;
/** A lost one may lead to another replica: it is tried again soon. */
const LAST_LOST_MS = 2_000;
/** The same of a server on this machine: it has few subscribers. */
const FIRST_LOCAL_MS = 100;
const LAST_LOCAL_MS = 400;
/** A server that ends a subscription sooner, or leaves, has the next one after a longer pause. */
const SETTLED_MS = 5_000;
/** To the next try when one that said that it is ready was not, longer each time. */
const READY_PAUSE_MS = 50;
/** So many ms of pauses in a row for a server that is busy are longer than one takes to start: worth a line. */
const LONG_BUSY_MS = 5_000;

export interface SubscriptionEvents extends ChangeEvents {
  /** No change is announced any more. `reason` continues "the subscription has ended:". */
  onLost(reason: string): void;
  /** The server does not announce changes; it is asked again later, and this is not called again until it does. */
  onUnsupported(reason: string): void;
  /** The server has not taken the subscription for 5 s, and may later; this is not called again until it does. */
  onBusy?(reason: string): void;
}

/** What is known of a subscription. */
export interface SubscriptionStatus {
  /** `unsupported`: the server has never announced changes; `down`: it should, and does not. */
  readonly state: 'live' | 'down' | 'unsupported';
  /** Why it is not live, '' while it is. */
  readonly reason: string;
  /** Since when it is live, or is not; when the server sent something: in milliseconds of `performance.now()`. */
  readonly sinceMs: number;
  readonly lastSeenMs: number | undefined;
  /** That of the last message; undefined while it is not live. */
  readonly serial: number | undefined;
}

export interface ZoneSubscriptionOptions {
  readonly server: ServerAddress;
  /** Lower-cased, in wire form; one at least. */
  readonly zones: readonly Uint8Array[];
  readonly events: SubscriptionEvents;
  /** The version of the cluster up to which changes are known, when it subscribes again. */
  readonly knownVersion?: () => Uint8Array | undefined;
  /** So long without a message end a connection, in milliseconds; 12 s unless given. */
  readonly silenceMs?: number;
}

/**
 * Subscribes to the changes of zones at the server that answers for them: DNS Stateful Operations (RFC 8490) on a TCP
 * connection to its DNS port, and again whenever that ends.
 */
export class ZoneSubscription {
  readonly #options: ZoneSubscriptionOptions;
  #connection: SubscriptionConnection | undefined;
  /** To a server that ends soon: it announces the changes until another one does. */
  #leaving: SubscriptionConnection | undefined;
  /** To a server that is busy, for as long as the pause. */
  #waiting: SubscriptionConnection | undefined;
  /**
   * How often a server has said that it is ready since changes were announced last. Behind an address of several the next one may not be;
   * one that says so and is not, is not asked in a tight loop.
   */
  #readies = 0;
  #retry: NodeJS.Timeout | undefined;
  readonly #backOff: BackOff;
  readonly #longestLostMs: number;
  #wasEverLive = false;
  /** How long the pauses were since the server is busy, and whether that was said. */
  #busyMs = 0;
  #isBusySaid = false;
  #isClosed = false;
  #isKnownUnsupported = false;
  /** It said that it will announce changes, and not when. */
  #isBusy = false;
  #reason = 'no connection yet';
  #sinceMs = performance.now();

  constructor(options: ZoneSubscriptionOptions) {
    this.#options = options;
    const isLocal = isLoopback(options.server.address);
    this.#longestLostMs = isLocal ? LAST_LOCAL_MS : LAST_LOST_MS;
    this.#backOff = new BackOff({
      firstMs: isLocal ? FIRST_LOCAL_MS : FIRST_PAUSE_MS,
      longestMs: isLocal ? LAST_LOCAL_MS : LAST_PAUSE_MS,
      randomPart: 1,
    });
  }

  /** Whether changes are announced now. */
  get isLive(): boolean {
    return this.#announcing?.isLive ?? false;
  }

  get #announcing(): SubscriptionConnection | undefined {
    return this.#leaving ?? this.#connection;
  }

  /** Whether its server announces changes, did, or said that it will. */
  get isSupported(): boolean {
    return this.#wasEverLive || this.#isBusy;
  }

  get status(): SubscriptionStatus {
    const { isLive, lastSeenMs, serial } = this.#announcing ?? {};
    const since = { sinceMs: this.#sinceMs, lastSeenMs };
    if (isLive === true) return { ...since, state: 'live', reason: '', serial };
    const isUnsupported = this.#isKnownUnsupported && !this.#wasEverLive;
    const state = isUnsupported ? 'unsupported' : 'down';
    return { ...since, state, reason: this.#reason, serial: undefined };
  }

  start(): void {
    this.#endWaiting();
    const { server, zones, silenceMs = SILENCE_MS, events } = this.#options;
    const version = this.#options.knownVersion?.();
    const connection = new SubscriptionConnection(
      { server, zones, silenceMs, version },
      {
        onLive: (subscribed, note) => {
          this.#endLeaving();
          this.#readies = 0;
          this.#busyMs = 0;
          this.#isBusySaid = false;
          this.#wasEverLive = true;
          this.#isKnownUnsupported = false;
          this.#sinceMs = performance.now();
          events.onLive(subscribed, note);
        },
        onVersion: (note, serial) => events.onVersion?.(note, serial),
        onChanged: (name, serial) => events.onChanged(name, serial),
        onFlush: (cause, serial) => events.onFlush(cause, serial),
        onSeen: () => events.onSeen?.(),
        onEnd: (outcome, reason) => this.#onEnd(connection, outcome, reason),
        onReady: () => this.#startReady(),
        onLeaving: () => this.#followLeaving(connection),
      },
    );
    this.#connection = connection;
  }

  /**
   * The server is there again, or another one at its address: it is asked now, not after the pause, and on a new
   * connection, because one without a response may be of the server before.
   */
  retry(): void {
    if (this.isLive || this.#isClosed) return;
    clearTimeout(this.#retry);
    this.#connection?.close();
    this.start();
  }

  /** Subscribes again soon, perhaps to another process behind the address: this one is of no use. */
  leave(reason: string): void {
    this.#announcing?.leave(reason);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.#connection?.close();
    this.#connection = undefined;
    this.#endLeaving();
    this.#endWaiting();
  }

  #endLeaving(): void {
    this.#leaving?.close();
    this.#leaving = undefined;
  }

  /** All its subscribers go elsewhere now, as after its end. */
  #followLeaving(connection: SubscriptionConnection): void {
    if (connection !== this.#connection) return;
    this.#noteSettled();
    this.#leaving = connection;
    this.#connection = undefined;
    this.#retry = setTimeout(() => this.start(), this.#nextPauseMs('lost'));
  }

  #endWaiting(): void {
    this.#waiting?.close();
    this.#waiting = undefined;
  }

  #startReady(): void {
    clearTimeout(this.#retry);
    if (this.#readies++ === 0) this.start();
    else
      this.#retry = setTimeout(
        () => this.start(),
        Math.min(READY_PAUSE_MS * this.#readies, LAST_LOST_MS),
      );
  }

  #onEnd(connection: SubscriptionConnection, outcome: Outcome, reason: string): void {
    if (connection === this.#leaving) {
      this.#loseLeaving(reason);
      return;
    }
    const { events } = this.#options;
    const wasLive = connection.isLive;
    this.#connection = undefined;
    if (outcome === 'busy') this.#waiting = connection;
    this.#reason = reason;
    this.#isBusy = outcome === 'busy';
    if (wasLive) {
      this.#noteSettled();
      this.#sinceMs = performance.now();
    }
    const pauseMs = this.#nextPauseMs(outcome);
    this.#retry = setTimeout(() => this.start(), pauseMs);
    if (outcome === 'busy') this.#noteBusy(pauseMs, reason);
    if (wasLive) events.onLost(reason);
    else if (outcome === 'unsupported' && !this.#isKnownUnsupported) {
      this.#isKnownUnsupported = true;
      events.onUnsupported(reason);
    }
  }

  /** It was live: the pauses begin anew if that was for long. */
  #noteSettled(): void {
    if (performance.now() - this.#sinceMs >= SETTLED_MS) this.#backOff.reset();
  }

  /** Another try is on its way by then. */
  #loseLeaving(reason: string): void {
    this.#leaving = undefined;
    this.#reason = reason;
    this.#sinceMs = performance.now();
    this.#options.events.onLost(reason);
  }

  #noteBusy(pauseMs: number, reason: string): void {
    if (this.#isBusySaid) return;
    this.#isBusySaid = this.#busyMs >= LONG_BUSY_MS;
    if (this.#isBusySaid) this.#options.events.onBusy?.(reason);
    this.#busyMs += pauseMs;
  }

  /** One that announced changes before is starting again when it does not. */
  #nextPauseMs(outcome: Outcome): number {
    if (outcome === 'unsupported' && !this.#wasEverLive) return UNSUPPORTED_PAUSE_MS;
    return this.#backOff.next(outcome === 'lost' ? this.#longestLostMs : undefined);
  }
}
