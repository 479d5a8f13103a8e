import { join } from 'node:path';
import {
  ask,
  builtProgram,
  type Closable,
  ConfigVolume,
  freePort,
  type Message,
  Owned,
  RunningProgram,
  ScriptedNameServer,
  TemporaryFolder,
  until,
} from '@kube-dns/testkit';

/** Longer than a test. */
const TTL_SECONDS = 3_600;

/** The files and ports of a node-cache process on loopback, and the name server behind it. */
export class ProgramTestbed implements Closable {
  readonly template: ConfigVolume;
  readonly config: ConfigVolume;
  readonly upstream: ScriptedNameServer;
  readonly port: number;
  readonly httpPort: number;
  readonly metricsPort: number;
  readonly #owned: Owned;
  readonly #folder: TemporaryFolder;

  private constructor(
    owned: Owned,
    volumes: Pick<ProgramTestbed, 'template' | 'config'>,
    upstream: ScriptedNameServer,
    ports: readonly [dns: number, http: number, metrics: number],
  ) {
    this.#owned = owned;
    this.#folder = owned.add(new TemporaryFolder());
    this.template = volumes.template;
    this.config = volumes.config;
    this.upstream = upstream;
    [this.port, this.httpPort, this.metricsPort] = ports;
  }

  static async create(): Promise<ProgramTestbed> {
    const owned = new Owned();
    const upstream = owned.add(
      await ScriptedNameServer.start(({ question }) => {
        const data = question.name.endsWith('.corp') ? '10.9.9.9' : '10.0.0.1';
        return { answers: [{ type: 'A', ttl: TTL_SECONDS, data }] };
      }),
    );
    const volumes = {
      template: owned.add(await ConfigVolume.create({})),
      config: owned.add(await ConfigVolume.create({})),
    };
    const ports = [await freePort(), await freePort(), await freePort()] as const;
    const testbed = new ProgramTestbed(owned, volumes, upstream, ports);
    await testbed.putTemplate();
    return testbed;
  }

  /** The path of a file of the process. */
  file(name: string): string {
    return join(this.#folder.path, name);
  }

  /** Writes the standard Corefile in short; `maxTtl` is the longest TTL of the world, `pages` where the pages are. */
  async putTemplate({ maxTtl = TTL_SECONDS, pages = '127.0.0.1', more = '' } = {}): Promise<void> {
    await this.template.put({
      'Corefile.base': `
cluster.local:${this.port} {
    errors
    cache
    bind __PILLAR__LOCAL__DNS__
    forward . ${this.#server} {
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
    forward . ${this.#server}
}
${more}`,
    });
  }

  /** Starts a process, and waits until it serves. */
  async start(...flags: readonly string[]): Promise<RunningProgram> {
    const program = new RunningProgram('node-cache', process.execPath, [
      builtProgram('node-cache'),
      '-localip=127.0.0.1',
      '-setupinterface=false',
      '-setupiptables=false',
      `-basecorefile=${join(this.template.path, 'Corefile.base')}`,
      `-conf=${this.file('Corefile')}`,
      `-kubednscm=${this.config.path}`,
      `-dns.port=${this.port}`,
      `-prometheus-listen-address=127.0.0.1:${await freePort()}`,
      `-metrics-listen-address=127.0.0.1:${this.metricsPort}`,
      '-drain-time=200ms',
      `-pidfile=${this.file('pid')}`,
      ...flags,
    ]);
    this.#owned.add(program);
    await program.waitForLine('Running configuration SHA512');
    return program;
  }

  /** Asks until a server has answered: a busy machine may take longer for one question than node-cache waits. */
  answer(name: string): Promise<Message> {
    return until(async () => {
      const answer = await ask(this.port, name);
      return answer.rcode === 'NOERROR' && answer;
    });
  }

  close(): Promise<void> {
    return this.#owned.close();
  }

  get #server(): string {
    return `127.0.0.1:${this.upstream.port}`;
  }
}
