import { join } from 'node:path';
import {
  ask,
  type Closable,
  type ConfigVolume,
  type Message,
  NodeCache,
  type RunningProgram,
  ScriptedNameServer,
  until,
} from '@kube-dns/testkit';

/** Longer than a test. */
const TTL_SECONDS = 3_600;

/** A node-cache on loopback, and the name server behind it. */
export class ProgramTestbed implements Closable {
  readonly config: ConfigVolume;
  readonly upstream: ScriptedNameServer;
  readonly port: number;
  readonly httpPort: number;
  readonly metricsPort: number;
  /** Of the processes, beside that of the test. */
  env: Readonly<Record<string, string>> = {};
  readonly #cache: NodeCache;

  private constructor(cache: NodeCache, upstream: ScriptedNameServer) {
    const { dns, health, setup } = cache.ports;
    [this.port, this.httpPort, this.metricsPort] = [dns, health, setup];
    this.config = cache.config;
    this.#cache = cache;
    this.upstream = upstream;
  }

  static async create(): Promise<ProgramTestbed> {
    const upstream = await ScriptedNameServer.start(({ question }) => {
      const data = question.name.endsWith('.corp') ? '10.9.9.9' : '10.0.0.1';
      return { answers: [{ type: 'A', ttl: TTL_SECONDS, data }] };
    });
    const testbed = new ProgramTestbed(await NodeCache.create(), upstream);
    await testbed.putTemplate();
    return testbed;
  }

  /** The path of a file of the process. */
  file(name: string): string {
    return join(this.#cache.folder.path, name);
  }

  /** Writes the standard Corefile in short; `maxTtl` is the longest TTL of the world, `pages` where the pages are. */
  async putTemplate({ maxTtl = TTL_SECONDS, pages = '127.0.0.1', more = '' } = {}): Promise<void> {
    const server = this.upstream.hostPort;
    await this.#cache.putTemplate(`
cluster.local:${this.port} {
    errors
    cache
    bind __PILLAR__LOCAL__DNS__
    forward . ${server} {
        force_tcp
    }
    prometheus __PROMETHEUS__ENDPOINT__
    health ${pages}:${this.httpPort}
    ready ${pages}:${this.httpPort}
}
.:${this.port} {
    errors
    cache ${maxTtl}
    bind __PILLAR__LOCAL__DNS__
    forward . ${server}
}
${more}`);
  }

  /** Starts a process, and waits until it serves. */
  start(...flags: readonly string[]): Promise<RunningProgram> {
    const { config, ports } = this.#cache;
    return this.#cache.start({
      env: this.env,
      flags: [
        `-kubednscm=${config.path}`,
        `-dns.port=${ports.dns}`,
        `-prometheus-listen-address=127.0.0.1:${ports.metrics}`,
        '-drain-time=200ms',
        `-pidfile=${this.file('pid')}`,
        ...flags,
      ],
    });
  }

  /** Asks until a server has answered: a busy machine may take longer for one question than node-cache waits. */
  answer(name: string): Promise<Message> {
    return until(async () => {
      const answer = await ask(this.port, name);
      return answer.rcode === 'NOERROR' && answer;
    });
  }

  async close(): Promise<void> {
    await this.#cache.close();
    await this.upstream.close();
  }
}
