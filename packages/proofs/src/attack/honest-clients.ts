import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  dnsperfOutput,
  type Owned,
  parseDnsperf,
  parseLatencies,
  Remote,
  type Spread,
  spreadOf,
  TemporaryFolder,
} from '@kube-dns/testkit';
import type { HonestTcpMethods } from './honest-tcp.js';
import { HONEST_NAMES } from './names.js';

/** The results of honest clients. */
export interface HonestResult {
  readonly sent: number;
  /** Over UDP, however late. */
  readonly answered: number;
  /** Part of the queries over UDP that was answered in time, 0 to 1. */
  readonly inTime: number;
  /** Time to the answers that came, in ms. */
  readonly latencyMs: Spread;
  /** Part of the clients over TCP that got an answer within a second, 0 to 1. */
  readonly overTcp: number;
}

/** Their rates. */
export interface HonestRates {
  /** Over UDP, by dnsperf. */
  readonly udpPerSecond: number;
  /** New connections over TCP. */
  readonly tcpPerSecond: number;
}

/** An answer within this time is in time. */
export const IN_TIME_MS = 100;

/** Clients that ask for existing names at a moderate rate. */
export class HonestClients {
  readonly #owned: Owned;
  readonly #rates: HonestRates;
  readonly #file: string;
  readonly #tcp: Remote<HonestTcpMethods>;

  constructor(owned: Owned, rates: HonestRates) {
    this.#owned = owned;
    this.#rates = rates;
    this.#file = join(owned.add(new TemporaryFolder()).path, 'honest');
    writeFileSync(this.#file, HONEST_NAMES.map((name) => `${name} A\n`).join(''));
    const entry = new URL('./honest-tcp.js#HonestTcp', import.meta.url);
    this.#tcp = owned.add(new Remote<HonestTcpMethods>('the clients over TCP', entry));
  }

  /** Asks for `seconds`; in one second every name is asked for at least once. */
  async ask(port: number, seconds: number): Promise<HonestResult> {
    const { udpPerSecond, tcpPerSecond } = this.#rates;
    await this.#tcp.call('start', port, tcpPerSecond, HONEST_NAMES);
    const output = await dnsperfOutput(
      { host: '127.0.0.1', port },
      {
        file: this.#file,
        seconds,
        perSecond: udpPerSecond,
        printsLatencies: true,
        owned: this.#owned,
      },
    );
    const { asked, answered } = await this.#tcp.call('finish');
    const { sent } = parseDnsperf(output);
    const latencies = parseLatencies(output);
    return {
      sent,
      answered: latencies.length,
      inTime: latencies.filter((ms) => ms <= IN_TIME_MS).length / sent,
      latencyMs: spreadOf(latencies),
      overTcp: answered / asked,
    };
  }
}
