import { userInfo } from 'node:os';
import type { Closable } from '../owned.js';
import { freePort } from '../process/free-port.js';
import { RunningProgram } from '../process/running-program.js';
import { TemporaryFolder } from '../temporary-folder.js';

const START_LIMIT_MS = 60_000;

/** The configuration of a real dnsmasq. */
export interface RealDnsmasqOptions {
  /** Lines of a hosts file. */
  readonly hosts?: readonly string[];
  /** Lines of a configuration file. */
  readonly config?: readonly string[];
  readonly args?: readonly string[];
}

/** The real dnsmasq on a free port of 127.0.0.1, with the given name servers only. */
export class RealDnsmasq implements Closable {
  readonly port: number;
  readonly server: RunningProgram;
  readonly #folder: TemporaryFolder;

  private constructor(port: number, server: RunningProgram, folder: TemporaryFolder) {
    this.port = port;
    this.server = server;
    this.#folder = folder;
  }

  /** Starts it; `ready` waits until it serves. */
  static async start(path: string, options: RealDnsmasqOptions): Promise<RealDnsmasq> {
    const { hosts = [], config = [], args = [] } = options;
    const port = await freePort();
    const folder = new TemporaryFolder();
    const write = (name: string, lines: readonly string[]) =>
      folder.file(name, lines.map((line) => `${line}\n`).join(''));
    const whole = [
      '--keep-in-foreground',
      '--log-facility=-',
      `--port=${port}`,
      '--listen-address=127.0.0.1',
      '--bind-interfaces',
      '--no-hosts',
      '--no-resolv',
      '--pid-file=',
      `--user=${userInfo().username}`,
      `--conf-file=${write('dnsmasq.conf', config)}`,
      `--addn-hosts=${write('hosts', hosts)}`,
      ...args,
    ];
    const server = new RunningProgram('dnsmasq', path, whole, { isForeign: true });
    return new RealDnsmasq(port, server, folder);
  }

  get pid(): number {
    return this.server.pid;
  }

  async ready(): Promise<void> {
    await this.server.waitForLine(/started, version/, { limitMs: START_LIMIT_MS });
  }

  async close(): Promise<void> {
    await this.server.close();
    await this.#folder.close();
  }
}
