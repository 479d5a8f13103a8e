import { neverSeen, Relay, type Subscriptions } from '@kube-dns/push';
import { messagesOf } from '@kube-dns/push/testing';
import type { Session } from '@kube-dns/transport';

import { askCache } from '@kube-dns/resolver/testing';
import {
  adaptReply,
  decodeName,
  DSO_TYPE,
  encodeKey,
  passZoneVersion,
  type Query,
  RCODE,
  readChanged,
  readDso,
  readSerialTlv,
  readSubscribed,
  relayTargetOf,
  ReplyOutline,
  writeDso,
} from '@kube-dns/wire';

import { Hop } from './hop.js';
import { MAX_BYTES, NAMES, questionFor, replyOf, truth, type Zone } from './hop-zone.js';

const APEX = encodeKey('z');

/** What the server tells: a service that changed, or everything, with the number of the change. */
interface News {
  readonly service: string | undefined;
  readonly serial: number;
  readonly version: number;
}

/** A question that is asked; what changed meanwhile is not cached. */
interface Flight {
  readonly name: string;
  isShared: boolean;
}

/** Of the second cache. */
interface Question extends Flight {
  readonly query: Query;
}

/** Of the first one, for others. */
interface Forwarded extends Flight {
  readonly clients: Question[];
}

/** Marks the flights of a name and all below it, or all. */
function forget(flights: Iterable<Flight>, name = ''): void {
  for (const flight of flights) if (flight.name.endsWith(name)) flight.isShared = false;
}

/**
 * A server, a dnsmasq that gets its changes and passes them on, and a cache that gets those: all that is between
 * them waits in a queue until it is taken, replies in any order.
 */
export class TwoHops {
  /** Answers that the second cache gave and keeps until they change. */
  kept = 0;
  readonly #zones: Zone[] = [new Map()];
  #serverSerial = 5;
  readonly #serverId = new Uint8Array(8).fill(1);
  readonly #news: News[] = [];
  readonly #questions: Question[] = [];
  readonly #open = new Set<Question>();
  readonly #flights: Forwarded[] = [];
  readonly #asked: Forwarded[] = [];
  readonly #serverReplies: { readonly flight: Forwarded; readonly reply: Buffer }[] = [];
  readonly #replies: { readonly question: Question; readonly reply: Buffer }[] = [];
  readonly #messages: { readonly bytes: Uint8Array; readonly version: number }[] = [];
  readonly #relayed: Relay;
  readonly #first: Hop;
  readonly #second = new Hop();
  #session: Session | undefined;
  /** The number of the last change that each was told. */
  #firstKnows = 0;
  #secondKnows = 0;
  #changes = 0;
  readonly #outline = new ReplyOutline();
  readonly #out = new Uint8Array(65_535);

  constructor() {
    const server = {
      zones: [APEX],
      isUnsupported: false,
      get live() {
        return first.publisher.isLive ? first.publisher : undefined;
      },
    };
    const subscriptions = {
      servers: [server],
      lastSeen: neverSeen(),
      passOnTo: () => undefined,
    };
    this.#relayed = new Relay(subscriptions as unknown as Subscriptions);
    const first = new Hop(this.#relayed);
    this.#first = first;
  }

  get #zone(): Zone {
    return this.#zones.at(-1)!;
  }

  /** The server changes a service, and tells it; or that anything may have changed. */
  change(service: string, exists: boolean, isFlush = false): void {
    const zone = new Map(this.#zone);
    if (exists) zone.set(service, `10.0.${++this.#changes >> 8}.${this.#changes & 255}`);
    else zone.delete(service);
    this.#zones.push(zone);
    this.#tell(isFlush ? undefined : service);
  }

  /** The first cache loses its server, and with it the second one the first. */
  lose(): void {
    this.#first.end();
    this.#relayed.onEnded(this.#first.publisher);
    this.#news.length = 0;
  }

  /** The first cache is told again; the second one subscribes. */
  connect(): void {
    if (!this.#first.publisher.isLive) {
      this.#first.goLive(this.#serverId, this.#serverSerial);
      this.#firstKnows = this.#zones.length - 1;
      this.#relayed.onFlushed();
      this.#relayed.onLive(this.#first.publisher);
    }
    if (this.#session === undefined) this.#subscribe();
  }

  /** Asks the second cache; what it does not have is asked of the first one. Returns what is wrong with the answer. */
  ask(name: string): string | undefined {
    const seen = askCache(this.#second.cache, name);
    if (seen === undefined) {
      const question = { name, isShared: true, query: questionFor(name) };
      this.#questions.push(question);
      this.#open.add(question);
    }
    if (seen === undefined || !this.#second.publisher.isLive) return undefined;
    if (this.#second.isKept(name)) this.kept++;
    const address = seen.answers.find((record) => record.includes(' A '))?.split(' ')[2];
    const text = address ?? seen.rcode;
    const possible = this.#zones.slice(this.#secondKnows).map((zone) => truth(zone, name));
    return possible.includes(text) ? undefined : `${name}: ${text}, not ${possible.join()}`;
  }

  /** Takes the next question to the first cache. */
  takeQuestion(): void {
    const question = this.#questions.shift();
    if (question === undefined) return;
    const { name, query } = question;
    const length = this.#first.answer(query, this.#out);
    if (length > 0) {
      this.#replies.push({ question, reply: Buffer.from(this.#out.subarray(0, length)) });
      return;
    }
    const known = this.#flights.find((one) => one.isShared && one.name === name);
    if (known !== undefined) known.clients.push(question);
    else {
      const flight = { name, isShared: true, clients: [question] };
      this.#flights.push(flight);
      this.#asked.push(flight);
    }
  }

  /** The server answers one of its questions. */
  answerOne(at: number): void {
    const [flight] = this.#asked.splice(at % Math.max(1, this.#asked.length), 1);
    if (flight === undefined) return;
    const version = { labelCount: 1, instance: this.#serverId, serial: this.#serverSerial };
    const reply = replyOf(this.#zone, flight.name, version);
    this.#serverReplies.push({ flight, reply });
  }

  /** The first cache gets a reply, and so do its clients. */
  takeServerReply(at: number): void {
    const [one] = this.#serverReplies.splice(at % Math.max(1, this.#serverReplies.length), 1);
    if (one === undefined) return;
    const { flight } = one;
    const reply = this.#first.replies.take(one.reply, flight.isShared)!;
    this.#flights.splice(this.#flights.indexOf(flight), 1);
    for (const question of flight.clients) {
      const length = adaptReply(
        reply,
        relayTargetOf(question.query),
        this.#outline.read(reply),
        this.#out,
      );
      const { instance } = this.#relayed;
      const end = passZoneVersion(reply, this.#out, length, MAX_BYTES, instance);
      this.#replies.push({ question, reply: Buffer.from(this.#out.subarray(0, end)) });
    }
  }

  /** The second cache gets a reply. */
  takeReply(at: number): void {
    const [one] = this.#replies.splice(at % Math.max(1, this.#replies.length), 1);
    if (one === undefined) return;
    this.#open.delete(one.question);
    this.#second.replies.take(one.reply, one.question.isShared);
  }

  /** The first cache is told the next change. */
  takeNews(): void {
    const one = this.#news.shift();
    if (one === undefined) return;
    const { service, serial } = one;
    this.#firstKnows = one.version;
    forget(this.#flights, service);
    if (service === undefined) {
      this.#first.flush(serial);
      this.#relayed.onFlushed();
    } else {
      this.#first.change(encodeKey(service), serial);
      this.#relayed.onChanged(this.#first.publisher, encodeKey(service));
    }
  }

  /** The second cache is told the next change. */
  takeMessage(): void {
    const message = this.#messages.shift();
    if (message === undefined) return;
    const { tlvs, isResponse } = readDso(message.bytes)!;
    const [{ type, data }] = tlvs as [{ type: number; data: Uint8Array }];
    if (type === DSO_TYPE.HEARTBEAT) return;
    this.#secondKnows = message.version;
    if (isResponse) {
      const { instance, serial } = readSubscribed(data)!;
      this.#second.goLive(instance, serial);
      forget(this.#open);
    } else if (type === DSO_TYPE.FLUSH) {
      this.#second.flush(readSerialTlv(data)!);
      forget(this.#open);
    } else {
      const { names, after } = readChanged(data)!;
      for (const name of names) {
        this.#second.change(Uint8Array.from(name), after);
        forget(this.#open, decodeName(name));
      }
    }
  }

  /** All that is on its way arrives. Returns what is wrong then: an answer that is kept, and not the server's. */
  settle(passTime: () => void): string | undefined {
    passTime();
    const queues = [this.#news, this.#questions, this.#asked, this.#serverReplies, this.#replies];
    while (queues.some(({ length }) => length > 0) || this.#messages.length > 0) {
      this.takeQuestion();
      this.answerOne(0);
      this.takeServerReply(0);
      this.takeNews();
      this.takeReply(0);
      passTime();
      this.takeMessage();
    }
    if (!this.#second.publisher.isLive) return undefined;
    if (!this.#first.publisher.isLive)
      return 'the first cache is sent nothing, and the second one is';
    this.#secondKnows = this.#zones.length - 1;
    return NAMES.map((name) => this.ask(name)).find((one) => one !== undefined);
  }

  close(): void {
    this.#relayed.close();
    for (const { cache } of [this.#first, this.#second]) cache.close();
  }

  #tell(service: string | undefined): void {
    const serial = ++this.#serverSerial;
    if (!this.#first.publisher.isLive) return;
    this.#news.push({ service, serial, version: this.#zones.length - 1 });
  }

  #subscribe(): void {
    let onClose = (): void => undefined;
    const session: Session = {
      address: '10.0.0.1',
      port: 1,
      unsentBytes: 0,
      push: (bytes) => this.#messages.push({ bytes, version: this.#firstKnows }),
      pushFrames: (frames) => messagesOf(frames).forEach((message) => session.push(message)),
      stay: () => undefined,
      onClose: (listener) => (onClose = listener),
      close: () => {
        onClose();
        this.#session = undefined;
        this.#messages.length = 0;
        this.#second.end();
      },
    };
    this.#session = session;
    const tlvs = [{ type: DSO_TYPE.SUBSCRIBE, data: APEX }];
    this.#relayed.publisher.receive(
      writeDso({ id: 1, isResponse: false, rcode: RCODE.NOERROR, tlvs }),
      session,
    );
  }
}
