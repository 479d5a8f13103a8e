import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ask, freePort, RunningProgram } from '@kube-dns/testkit';
import { ROOT } from './root.js';

/** How long a client waits for an answer. */
const ANSWER_MS = 60_000;

/** A node-cache on loopback, in front of a name server, which changes nothing of this machine's network. */
export class RunningNodeCache {
  readonly #folder = mkdtempSync(join(tmpdir(), 'kube-dns-node-cache-'));
  readonly #port: number;
  readonly #metricsPort: number;
  #program: RunningProgram | undefined;

  private constructor(port: number, metricsPort: number) {
    this.#port = port;
    this.#metricsPort = metricsPort;
  }

  /** Starts it in front of a port of 127.0.0.1, and waits until it serves. */
  static async start(upstreamPort: number): Promise<RunningNodeCache> {
    const cache = new RunningNodeCache(await freePort(), await freePort());
    await cache.#start(upstreamPort, await freePort());
    return cache;
  }

  /** Sends a question for an address, and returns the rcode. */
  async ask(name: string): Promise<string> {
    return (await ask(this.#port, name, { limitMs: ANSWER_MS })).rcode;
  }

  async metrics(): Promise<string> {
    return (await fetch(`http://127.0.0.1:${this.#metricsPort}/metrics`)).text();
  }

  async close(): Promise<void> {
    await this.#program?.close('SIGKILL');
    rmSync(this.#folder, { recursive: true });
  }

  async #start(upstreamPort: number, setupPort: number): Promise<void> {
    const template = join(this.#folder, 'Corefile.base');
    const plugins = `bind 127.0.0.1\nforward . 127.0.0.1:${upstreamPort}\ncache 30`;
    const block = `${plugins}\nprometheus 127.0.0.1:${this.#metricsPort}`;
    writeFileSync(template, `.:${this.#port} {\n${block}\n}\n`);
    const program = new RunningProgram('node-cache', process.execPath, [
      `${ROOT}packages/node-cache/dist/node-cache.cjs`,
      ...['-localip=127.0.0.1', '-setupinterface=false', '-setupiptables=false'],
      ...[`-basecorefile=${template}`, `-conf=${join(this.#folder, 'Corefile')}`],
      ...[`-metrics-listen-address=127.0.0.1:${setupPort}`, '-kubednscm=/nowhere'],
    ]);
    this.#program = program;
    await program.waitForLine(new RegExp(`:${this.#port} on 127\\.0\\.0\\.1`));
  }
}
