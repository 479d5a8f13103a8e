import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunningProgram } from '@kube-dns/testkit';
import type { PodNetwork } from './pod-network.js';

const QUERIES_PER_SECOND = 500;
/** A query without an answer for so long is lost. */
const LOST_SECONDS = 60;

/** What dnsperf counted. */
export interface LoadResult {
  readonly sent: number;
  readonly completed: number;
  readonly lost: number;
  /** Answers by rcode. */
  readonly rcodes: Readonly<Record<string, number>>;
}

/** Queries that dnsperf sends at a steady rate for some seconds. */
export class DnsLoad {
  readonly #file = join(tmpdir(), `kube-dns-load-${process.pid}-${Date.now()}`);
  readonly #program: RunningProgram;

  /** Starts asking a port of the network's loopback for the addresses of these names, in turn. */
  constructor(network: PodNetwork, port: number, names: readonly string[], seconds: number) {
    writeFileSync(this.#file, names.map((name) => `${name} A\n`).join(''));
    const place = ['-s', '127.0.0.1', '-p', String(port), '-d', this.#file];
    const pace = ['-Q', String(QUERIES_PER_SECOND), '-l', String(seconds), '-S', '0.2'];
    const patience = ['-t', String(LOST_SECONDS)];
    this.#program = network.start('dnsperf', ...place, ...pace, ...patience);
  }

  /** Waits until answers have arrived. */
  async hasBegun(): Promise<void> {
    await this.#program.waitForLine(/\d+\.\d+: [1-9]/);
  }

  get hasEnded(): boolean {
    return !this.#program.isRunning;
  }

  /** Waits for its end, when each query has an answer or is lost, and counts. */
  async result(): Promise<LoadResult> {
    await this.#program.ended;
    rmSync(this.#file);
    const { output } = this.#program;
    const count = (what: string) => Number(new RegExp(`${what}: +(\\d+)`).exec(output)?.[1]);
    const codes = /Response codes: +(.*)/.exec(output)?.[1] ?? '';
    const rcodes = [...codes.matchAll(/(\w+) (\d+)/g)].map(([, code, n]) => [code, Number(n)]);
    return {
      sent: count('Queries sent'),
      completed: count('Queries completed'),
      lost: count('Queries lost'),
      rcodes: Object.fromEntries(rcodes) as Record<string, number>,
    };
  }
}
