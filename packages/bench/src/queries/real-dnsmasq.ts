import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type ClusterPlan, serviceAddress, ZONE } from '../cluster/cluster-plan.js';
import { freePort } from '../kubedns/free-port.js';
import { ServerProcess } from '../kubedns/server-process.js';
import type { Closable } from '../owned.js';
import { TemporaryFolder } from '../temporary-folder.js';

const run = promisify(execFile);
/** `dnsmasq` on the PATH of an npm script is ours. */
const PATHS = ['/usr/sbin/dnsmasq', '/usr/bin/dnsmasq'];
const TTL_SECONDS = 30;
const START_LIMIT_MS = 10_000;

/** The path of the real dnsmasq; undefined where there is none. */
export function findRealDnsmasq(): string | undefined {
  return PATHS.find((path) => existsSync(path));
}

/** What the dnsmasq of this path says that it is, `2.90`. */
export async function realDnsmasqVersion(path: string): Promise<string> {
  const { stdout } = await run(path, ['--version']);
  return /version (\S+)/.exec(stdout)?.[1] ?? 'of unknown version';
}

/** What a real dnsmasq is told besides where it listens. */
export interface RealDnsmasqOptions {
  /** Lines of a hosts file. */
  readonly hosts?: readonly string[];
  /** Lines of a configuration file. */
  readonly config?: readonly string[];
  readonly args?: readonly string[];
}

/**
 * The services of a plan for a dnsmasq that answers from its memory: addresses and reverse names, and
 * SRV records only on demand, because it goes through all of these for each query.
 */
export function dnsmasqWithServices(
  plan: ClusterPlan,
  services: readonly number[],
  { hasPorts = false } = {},
): RealDnsmasqOptions {
  return {
    hosts: services.map((i) => `${serviceAddress(i)} ${plan.dnsName(i)}`),
    config: (hasPorts ? services : []).map((i) => {
      const name = plan.dnsName(i);
      return `srv-host=_http._tcp.${name},${name},80,10,100`;
    }),
    args: [`--local=/${ZONE}/`, `--local-ttl=${TTL_SECONDS}`],
  };
}

/** The real dnsmasq on a free port of 127.0.0.1, without name servers that it is not told of. */
export class RealDnsmasq implements Closable {
  readonly port: number;
  readonly server: ServerProcess;
  readonly #folder: TemporaryFolder;

  private constructor(port: number, server: ServerProcess, folder: TemporaryFolder) {
    this.port = port;
    this.server = server;
    this.#folder = folder;
  }

  /** Starts it; `ready` waits until it serves. */
  static async start(path: string, options: RealDnsmasqOptions): Promise<RealDnsmasq> {
    const { hosts = [], config = [], args = [] } = options;
    const port = await freePort();
    const folder = new TemporaryFolder();
    const write = (name: string, lines: readonly string[]) => {
      const file = join(folder.path, name);
      writeFileSync(file, lines.map((line) => `${line}\n`).join(''));
      return file;
    };
    const server = new ServerProcess('dnsmasq', path, [
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
    ]);
    return new RealDnsmasq(port, server, folder);
  }

  get pid(): number {
    return this.server.pid;
  }

  async ready(): Promise<void> {
    await this.server.says(/started, version/, START_LIMIT_MS);
  }

  async close(): Promise<void> {
    await this.server.close();
    await this.#folder.close();
  }
}
