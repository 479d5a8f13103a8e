import { isIPv6 } from 'node:net';
import { errorText } from '@kube-dns/base';
import { failStartup, type Log } from '@kube-dns/daemon';
import {
  type AnswerObserver,
  type Client,
  listen,
  type Listener,
  ListenError,
  type ServerAddress,
  ServerCookies,
  type UdpEngine,
} from '@kube-dns/transport';
import { EVERY_ADDRESS } from '@kube-dns/wire';
import { QueryLines } from '../answer/query-line.js';
import type { ServedBlock } from '../answer/served-block.js';
import { type OwnQuestions, type ServedZone, ZoneAnswerer } from '../answer/zone-answerer.js';
import { ZoneCounters } from '../answer/zone-counters.js';

/** CoreDNS's exit code when it cannot listen. */
const EXIT_CANNOT_LISTEN = 1;
const MAX_TCP_CONNECTIONS = 1_000;

export interface ListenPointsOptions {
  readonly engine: UdpEngine;
  readonly reusesPort: boolean;
  readonly own: OwnQuestions;
  /** Sees the queries and their answers, but those of `own`. */
  readonly observer?: AnswerObserver | undefined;
  readonly log: Log;
}

/** An address and port that is listened on, with the zones that are served there. */
export interface ListenPoint {
  /** As a label of metrics: `dns://169.254.20.10:53`. */
  readonly label: string;
  readonly address: string;
  readonly port: number;
  readonly answerer: ZoneAnswerer;
  readonly listener: Listener;
  /** Those that are served now. */
  zones: readonly ServedZone[];
}

/** Where the blocks listen; a new Corefile opens and closes only what it changes. */
export class ListenPoints {
  readonly #options: ListenPointsOptions;
  readonly #cookies = new ServerCookies({});
  readonly #points = new Map<string, ListenPoint>();

  constructor(options: ListenPointsOptions) {
    this.#options = options;
  }

  get all(): readonly ListenPoint[] {
    return [...this.#points.values()];
  }

  /** Where this process listens: it must not forward to itself. */
  get addresses(): readonly ServerAddress[] {
    return this.all.map(({ address, port }) => ({ address, port }));
  }

  /**
   * Opens what these blocks need and is not open. Rejects with a StartupError for an address that cannot be listened
   * on; what was open stays so, and serves what it did.
   */
  async open(blocks: readonly ServedBlock['block'][]): Promise<void> {
    const opened: ListenPoint[] = [];
    try {
      for (const { address, port, key } of blocks.flatMap(placesOf)) {
        if (this.#points.has(key)) continue;
        const point = await this.#open(address, port);
        opened.push(point);
        this.#points.set(key, point);
      }
    } catch (error) {
      for (const point of opened) {
        this.#points.delete(keyOf(point.address, point.port));
        await point.listener.close();
      }
      failStartup(error, ListenError, EXIT_CANNOT_LISTEN);
    }
  }

  /** Serves the zones of these blocks, all of which are open, and closes what they do not need. */
  async serve(blocks: readonly ServedBlock[]): Promise<void> {
    const needed = new Map<string, ServedZone[]>();
    for (const served of blocks) {
      for (const { key, zone } of placesOf(served.block)) {
        const zones = needed.get(key) ?? [];
        needed.set(key, zones);
        zones.push(this.#servedZone(this.#points.get(key)!, served, zone));
      }
    }
    const unused: ListenPoint[] = [];
    for (const [key, point] of this.#points) {
      const zones = needed.get(key);
      point.zones = zones ?? [];
      if (zones !== undefined) point.answerer.serve(zones);
      else {
        this.#points.delete(key);
        unused.push(point);
      }
    }
    for (const { listener } of unused) {
      await listener.leave();
      await listener.close();
    }
  }

  /** With `--reuse-port`: leaves the ports to other processes. */
  async leave(): Promise<void> {
    await Promise.all(this.all.map(({ listener }) => listener.leave()));
  }

  /** May be called twice. */
  async close(): Promise<void> {
    await Promise.all(this.all.map(({ listener }) => listener.close()));
  }

  async #open(address: string, port: number): Promise<ListenPoint> {
    const { engine, reusesPort, own, observer, log } = this.#options;
    const isEvery = address === EVERY_ADDRESS;
    const isOfIpv6 = isIPv6(address);
    // One socket has both families.
    const byClient = (client: Client) => client.address.includes(':');
    const answerer = new ZoneAnswerer(isEvery ? byClient : () => isOfIpv6, own);
    const listener = await listen({
      answerer,
      address,
      port,
      engine,
      reusesPort,
      cookies: this.#cookies,
      observer,
      tcp: { maxConnections: MAX_TCP_CONNECTIONS },
      onFailure: (error) => log.error(`answering: ${errorText(error)}`),
    });
    const host = isEvery ? '' : isOfIpv6 ? `[${address}]` : address;
    const label = `dns://${host}:${listener.port}`;
    return { label, address, port: listener.port, answerer, listener, zones: [] };
  }

  /** The counts of a zone go on. */
  #servedZone(point: ListenPoint, block: ServedBlock, zone: string): ServedZone {
    const { log: rules, zones } = block.block;
    const counters = point.zones.find((each) => each.zone === zone)?.counters ?? new ZoneCounters();
    const names = zones.map((each) => each.zone);
    const lines = rules && new QueryLines(rules, names, this.#options.log);
    return { zone, block, counters, lines };
  }
}

interface Place {
  readonly key: string;
  readonly address: string;
  readonly port: number;
  readonly zone: string;
}

function placesOf({ addresses, zones }: ServedBlock['block']): Place[] {
  const all = addresses.length === 0 ? [EVERY_ADDRESS] : addresses;
  return all.flatMap((address) =>
    zones.map(({ zone, port }) => ({ key: keyOf(address, port), address, port, zone })),
  );
}

function keyOf(address: string, port: number): string {
  return `${address}#${port}`;
}
