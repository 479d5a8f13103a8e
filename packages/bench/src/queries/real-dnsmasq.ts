import { existsSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { type ClusterPlan, serviceAddress, ZONE } from '../cluster/cluster-plan.js';
import { freePort } from '../kubedns/free-port.js';
import { ServerProcess } from '../kubedns/server-process.js';
import type { Closable } from '../owned.js';
import { TemporaryFolder } from '../temporary-folder.js';

/** `dnsmasq` on the PATH of an npm script is ours. */
const PATHS = ['/usr/sbin/dnsmasq', '/usr/bin/dnsmasq'];
const TTL_SECONDS = 30;
const START_LIMIT_MS = 10_000;

/** The path of the real dnsmasq; undefined where there is none. */
export function findRealDnsmasq(): string | undefined {
  return PATHS.find((path) => existsSync(path));
}

/**
 * The real dnsmasq with the services of a plan in its memory: addresses and reverse names, and SRV
 * records only on demand, because it goes through all of these for each query.
 */
export class RealDnsmasq implements Closable {
  readonly port: number;
  readonly #server: ServerProcess;
  readonly #folder: TemporaryFolder;

  private constructor(port: number, server: ServerProcess, folder: TemporaryFolder) {
    this.port = port;
    this.#server = server;
    this.#folder = folder;
  }

  /** Starts it; `ready` waits until it serves. */
  static async start(
    path: string,
    plan: ClusterPlan,
    services: readonly number[],
    hasPorts: boolean,
  ): Promise<RealDnsmasq> {
    const port = await freePort();
    const folder = new TemporaryFolder();
    const hosts = services.map((i) => `${serviceAddress(i)} ${plan.dnsName(i)}\n`);
    const ports = (hasPorts ? services : []).map((i) => {
      const name = plan.dnsName(i);
      return `srv-host=_http._tcp.${name},${name},80,10,100\n`;
    });
    writeFileSync(join(folder.path, 'hosts'), hosts.join(''));
    writeFileSync(join(folder.path, 'dnsmasq.conf'), ports.join(''));
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
      `--conf-file=${join(folder.path, 'dnsmasq.conf')}`,
      `--addn-hosts=${join(folder.path, 'hosts')}`,
      `--local=/${ZONE}/`,
      `--local-ttl=${TTL_SECONDS}`,
    ]);
    return new RealDnsmasq(port, server, folder);
  }

  get pid(): number {
    return this.#server.pid;
  }

  async ready(): Promise<void> {
    await this.#server.says(/started, version/, START_LIMIT_MS);
  }

  async close(): Promise<void> {
    await this.#server.close();
    await this.#folder.close();
  }
}
