import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

import { ZoneSubscription } from '@kube-dns/push';
import { MeasureError, median, monotonicMs, type Spread, spreadOf } from '@kube-dns/testkit';
import { frameMessage, FrameReader } from '@kube-dns/transport';
import {
  decodeName,
  DSO_TYPE,
  encodeName,
  keepaliveTlv,
  RCODE,
  readChanged,
  readDso,
  readUint16,
  writeDso,
} from '@kube-dns/wire';
import { ZONE } from '../cluster/cluster-plan.js';
import type { NotedChange } from '../cluster/bench-cluster.js';

/** The methods of a crowd in its own process. */
export interface SubscriberCrowdMethods {
  /**
   * Subscribes `count` more clients to the zone at a server on this port; rejects when one is not told changes. Bare ones do
   * not read the names of a message that another one has read, and end with their connection.
   */
  join(port: number, count: number, areBare?: boolean): Promise<void>;
  leave(): void;
  /** Those that are told changes now. */
  live(): number;
  /** Counts from now on. */
  startCount(): void;
  /** What came since `startCount`. */
  counted(): CrowdCount;
  /** How long these changes took to each subscriber, in milliseconds: of messages since `startCount`. */
  freshness(changes: readonly NotedChange[]): Freshness;
}

/** What a crowd of subscribers got. */
export interface CrowdCount {
  /** A second, of all subscribers together; one message may have several names. */
  readonly messagesPerSecond: number;
  /** From the first subscriber that got a message until the last one, in milliseconds: the median of all messages. */
  readonly spreadMs: number;
}

/** From the write of an object until subscribers know the name. */
export interface Freshness {
  /** Of each message and subscriber one of its changes, each in turn. */
  readonly ms: Spread;
  /** Changes that were announced to a subscriber, of all that were written. */
  readonly announced: number;
}

/** A message, by what its first bytes say. */
interface Message {
  /** Without final dot. */
  readonly names: string[];
  readonly arrivalsMs: number[];
}

interface Subscriber {
  readonly isLive: boolean;
  close(): void;
}

const LIMIT_MS = 60_000;
const STEP_MS = 5;
/** More at one time than a listener accepts wait for their next SYN. */
const TOGETHER = 250;

/** When each name was changed, the first time first. */
export function timesByName(changes: readonly NotedChange[]): Map<string, number[]> {
  const times = new Map<string, number[]>();
  for (const { name, atMs } of changes) {
    const known = times.get(name);
    if (known === undefined) times.set(name, [atMs]);
    else known.push(atMs);
  }
  return times;
}

/** Clients that get the changes of the zone, and do nothing with them. */
export class SubscriberCrowd implements SubscriberCrowdMethods {
  #subscribers: Subscriber[] = [];
  #countedFromMs = 0;
  #count = 0;
  readonly #messages = new Map<string, Message>();

  async join(port: number, count: number, areBare = false): Promise<void> {
    for (let left = count; left > 0; left -= TOGETHER) {
      const added = Array.from({ length: Math.min(left, TOGETHER) }, () =>
        areBare ? this.#subscribeBare(port) : this.#subscribe(port),
      );
      this.#subscribers.push(...added);
      const endMs = performance.now() + LIMIT_MS;
      while (!added.every(({ isLive }) => isLive)) {
        if (performance.now() > endMs) throw new MeasureError('not all subscribers get changes');
        await delay(STEP_MS);
      }
    }
  }

  leave(): void {
    for (const subscriber of this.#subscribers) subscriber.close();
    this.#subscribers = [];
  }

  live(): number {
    return this.#subscribers.filter(({ isLive }) => isLive).length;
  }

  startCount(): void {
    this.#countedFromMs = performance.now();
    this.#count = 0;
    this.#messages.clear();
  }

  counted(): CrowdCount {
    const seconds = (performance.now() - this.#countedFromMs) / 1_000;
    const spreads = Array.from(
      this.#messages.values(),
      ({ arrivalsMs }) => arrivalsMs.at(-1)! - arrivalsMs[0]!,
    );
    return { messagesPerSecond: this.#count / seconds, spreadMs: median(spreads) };
  }

  freshness(changes: readonly NotedChange[]): Freshness {
    const writtenMs = timesByName(changes);
    const spans: number[] = [];
    let announced = 0;
    for (const { names, arrivalsMs } of this.#messages.values()) {
      // The oldest change since the last message with this name.
      const ownMs = names.flatMap((name) => {
        const all = writtenMs.get(name) ?? [];
        const known = all.filter((atMs) => atMs <= arrivalsMs[0]!);
        announced += known.length;
        return all.splice(0, known.length)[0] ?? [];
      });
      if (ownMs.length === 0) continue;
      for (const [at, arrivalMs] of arrivalsMs.entries())
        spans.push(arrivalMs - ownMs[at % ownMs.length]!);
    }
    return { ms: spreadOf(spans), announced };
  }

  /** The message of this key; a new one is read by the caller. */
  #note(key: string): Message | undefined {
    const nowMs = monotonicMs();
    this.#count++;
    const known = this.#messages.get(key);
    known?.arrivalsMs.push(nowMs);
    if (known !== undefined) return undefined;
    const message = { names: [], arrivalsMs: [nowMs] };
    this.#messages.set(key, message);
    return message;
  }

  #subscribe(port: number): Subscriber {
    let last = 0;
    let own: Message | undefined;
    const subscription = new ZoneSubscription({
      server: { address: '127.0.0.1', port },
      zones: [encodeName(ZONE)],
      events: {
        onLive: () => undefined,
        onChanged: (name, serial) => {
          if (serial !== last) own = this.#note(String(serial));
          last = serial;
          own?.names.push(decodeName(name));
        },
        onFlush: () => undefined,
        onLost: () => undefined,
        onUnsupported: () => undefined,
      },
    });
    subscription.start();
    return subscription;
  }

  #subscribeBare(port: number): Subscriber {
    return new BareSubscriber(port, (bytes) => {
      // The serials before and after are the first of its data.
      const own = this.#note(bytes.toString('latin1', KEY_FROM, KEY_TO));
      if (own === undefined) return;
      const [operation] = readDso(bytes)?.tlvs ?? [];
      const { names = [] } = (operation && readChanged(operation.data)) ?? {};
      own.names.push(...names.map((name) => decodeName(name)));
    });
  }
}

const TYPE_AT = 12;
const [KEY_FROM, KEY_TO] = [16, 32] as const;
const KEEPALIVE_MS = 10_000;

/** A subscription that costs as little as can be: thousands of them share a core with what is measured. */
class BareSubscriber implements Subscriber {
  isLive = false;
  readonly #socket: Socket;
  readonly #frames = new FrameReader();
  readonly #keepalive: NodeJS.Timeout;
  readonly #onChanged: (message: Buffer) => void;

  constructor(port: number, onChanged: (message: Buffer) => void) {
    this.#onChanged = onChanged;
    this.#socket = connect({ host: '127.0.0.1', port, noDelay: true });
    this.#socket.on('connect', () =>
      this.#request({ type: DSO_TYPE.SUBSCRIBE, data: encodeName(ZONE) }),
    );
    this.#socket.on('error', () => this.#socket.destroy());
    this.#socket.on('close', () => this.close());
    this.#socket.on('data', (chunk) => this.#read(chunk));
    this.#keepalive = setInterval(
      () => this.#request(keepaliveTlv(KEEPALIVE_MS)),
      KEEPALIVE_MS,
    ).unref();
  }

  close(): void {
    this.isLive = false;
    clearInterval(this.#keepalive);
    this.#socket.destroy();
  }

  #request(operation: { readonly type: number; readonly data: Uint8Array }): void {
    const message = writeDso({ id: 1, isResponse: false, rcode: 0, tlvs: [operation] });
    this.#socket.write(frameMessage(message));
  }

  #read(chunk: Buffer): void {
    this.#frames.push(chunk);
    for (let next = this.#frames.next(); next !== undefined; next = this.#frames.next()) {
      const isResponse = next[2]! >> 7 === 1;
      if (!isResponse && readUint16(next, TYPE_AT) === DSO_TYPE.CHANGED) this.#onChanged(next);
      else if (isResponse && (next[3]! & 0xf) === RCODE.NOERROR) this.isLive = true;
      else if (isResponse) this.close();
    }
  }
}
