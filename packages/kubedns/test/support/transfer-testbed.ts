import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import {
  endPrograms,
  exchange,
  ScriptedNameServer,
  TemporaryFolder,
  until,
} from '@kube-dns/testkit';
import { type KubednsProcess, startKubedns } from './kubedns-process.js';
import { queryBytes } from './messages.js';
import { serialsOf } from './secondary.js';
import { secondaryPorts, SecondaryProgram } from './secondary-programs.js';

const KEY = {
  name: 'transfer.example',
  algorithm: 'hmac-sha256',
  secret: 'MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=',
};
const execute = promisify(execFile);
const LIMIT_MS = 60_000;
export const ZONE = 'cluster.local';

/** A cluster whose zones kubedns gives to the secondaries BIND, NSD and Knot, with a key. */
export class TransferTestbed {
  readonly api: ApiServer;
  readonly folder = new TemporaryFolder();
  readonly keyPath: string;
  readonly #upstream: ScriptedNameServer;
  #secondaries: readonly SecondaryProgram[] = [];

  private constructor(api: ApiServer, upstream: ScriptedNameServer) {
    this.api = api;
    this.#upstream = upstream;
    const { name, algorithm, secret } = KEY;
    const text = `key "${name}" { algorithm ${algorithm}; secret "${secret}"; };\n`;
    this.keyPath = this.folder.file('key', text);
  }

  static async create(): Promise<TransferTestbed> {
    return new TransferTestbed(await createApiServer(), await ScriptedNameServer.start());
  }

  get secondaries(): readonly SecondaryProgram[] {
    return this.#secondaries;
  }

  /** kubedns, which gives its zones to this machine. */
  async start(...args: string[]): Promise<KubednsProcess> {
    return startKubedns(this.api, this.#upstream, ['--transfer-to=127.0.0.1', ...args]).ready();
  }

  /** All three secondaries of a primary, which notifies them. */
  async startSecondaries(
    zones: readonly string[],
    ...args: readonly string[]
  ): Promise<{ readonly kubedns: KubednsProcess; readonly port: number }> {
    const ports = await secondaryPorts();
    const notified = [...ports.values()].map((port) => `127.0.0.1#${port}`).join(',');
    const key = `--transfer-key=${this.keyPath}`;
    const kubedns = await this.start(key, `--notify=${notified}`, ...args);
    const port = await kubedns.port();
    const start = { zones, primaryPort: port, key: KEY };
    this.#secondaries = await Promise.all(
      Array.from(ports, ([name, own]) => SecondaryProgram.start(name, own, start)),
    );
    return { kubedns, port };
  }

  async dig(port: number, ...args: readonly string[]): Promise<string> {
    const options = ['+tries=1', '+time=60', '+nocomments', '+nostats', '+nocmd', '+noedns'];
    const all = ['@127.0.0.1', '-p', String(port), ...options, ...args];
    const { stdout } = await execute('dig', all, { maxBuffer: 64 * 1024 * 1024 });
    return stdout;
  }

  /** The records of a transfer as dig prints them, in their order; `type` is AXFR or `IXFR=serial`. */
  async transfer(port: number, zone: string, type = 'AXFR'): Promise<string[]> {
    const isPrimary = this.#secondaries.every((secondary) => secondary.port !== port);
    const text = await this.dig(port, zone, type, ...(isPrimary ? ['-k', this.keyPath] : []));
    const lines = text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith(';') && !line.includes('TSIG'));
    return lines.map((line) => line.replaceAll(/\s+/g, ' '));
  }

  async serialAt(port: number, zone: string): Promise<number | undefined> {
    return serialsOf(await exchange(port, queryBytes(zone, 'SOA'), { limitMs: LIMIT_MS }))[0];
  }

  /**
   * Waits until every secondary has what the primary has, record by record; returns how many records. A reverse zone has the
   * serial of another one.
   */
  async expectSame(port: number, zone: string, withSerialOf = zone): Promise<number> {
    const serial = (await this.serialAt(port, withSerialOf))!;
    for (const { name, port: own, program } of this.#secondaries) {
      await until(
        `${name} with ${zone} ${serial}: ${program.output.slice(-2_000)}`,
        async () => ((await this.serialAt(own, zone)) ?? 0) >= serial,
        { limitMs: LIMIT_MS, stepMs: 100 },
      );
    }
    const records = await this.#zoneOf(port, zone);
    for (const { name, port: own } of this.#secondaries)
      expect([name, await this.#zoneOf(own, zone)]).toEqual([name, records]);
    return records.length;
  }

  /** The records of a zone, each once, sorted. */
  async #zoneOf(port: number, zone: string): Promise<string[]> {
    return [...new Set(await this.transfer(port, zone))].sort();
  }

  /** Ends what was started for one test. */
  async endSecondaries(): Promise<void> {
    await Promise.all(this.#secondaries.map((each) => each.close()));
    this.#secondaries = [];
  }

  async close(): Promise<void> {
    await endPrograms();
    await this.#upstream.close();
    await this.api.close();
    await this.folder.close();
  }
}
