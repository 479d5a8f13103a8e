import { userInfo } from 'node:os';
import { type Closable, TemporaryFolder } from '../owned.js';
import { freePort } from '../process/free-port.js';
import { RunningProgram } from '../process/running-program.js';
import type { Certificate } from '../tls/certificate.js';

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

/** The configuration of an Unbound. */
export interface UnboundOptions {
  readonly certificate: Certificate;
  /** Each name in this domain has the address. */
  readonly domain: string;
  readonly address: string;
  /** Connections at a time; default: 50. It ends those without a question early when they are half as many. */
  readonly clients?: number;
  /** A command with arguments that runs the words after it. */
  readonly through?: readonly string[];
}

/** The real Unbound, a name server that speaks DNS over TLS and HTTPS, on free ports of 127.0.0.1. */
export class Unbound implements Closable {
  readonly server: RunningProgram;
  readonly ports: Readonly<Record<'dns' | 'tls' | 'https', number>>;
  readonly #folder: TemporaryFolder;

  private constructor(server: RunningProgram, ports: Unbound['ports'], folder: TemporaryFolder) {
    this.server = server;
    this.ports = ports;
    this.#folder = folder;
  }

  /** Starts it, and waits until it serves. It has only its own domain: no query leaves the machine. */
  static async start(options: UnboundOptions): Promise<Unbound> {
    const { certificate, domain, address, clients = 50, through = [] } = options;
    const ports = { dns: await freePort(), tls: await freePort(), https: await freePort() };
    const folder = new TemporaryFolder();
    const lines = [
      'server:',
      ...Object.values(ports).map((port) => `interface: 127.0.0.1@${port}`),
      `port: ${ports.dns}`,
      `tls-port: ${ports.tls}`,
      `https-port: ${ports.https}`,
      `tls-service-key: "${folder.file('server.key', certificate.key)}"`,
      `tls-service-pem: "${folder.file('server.pem', certificate.cert)}"`,
      'access-control: 127.0.0.0/8 allow',
      ...['username: ""', 'chroot: ""', `directory: "${folder.path}"`, 'pidfile: ""'],
      ...['do-daemonize: no', 'use-syslog: no', 'verbosity: 1', `incoming-num-tcp: ${clients}`],
      ...['local-zone: "." refuse', `local-zone: "${domain}." redirect`],
      `local-data: "${domain}. 30 IN A ${address}"`,
    ];
    const file = folder.file('unbound.conf', lines.map((line) => `${line}\n`).join(''));
    const [command, ...args] = [...through, 'unbound', '-d', '-c', file];
    const server = new RunningProgram('unbound', command, args, { isForeign: true });
    await server.waitForLine(/start of service/, { limitMs: START_LIMIT_MS });
    return new Unbound(server, ports, folder);
  }

  async close(): Promise<void> {
    await this.server.close();
    await this.#folder.close();
  }
}
