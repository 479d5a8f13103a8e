import { encodeQuery } from '@kube-dns/wire';
import { freePort } from '../kubedns/free-port.js';
import { ServerProcess } from '../kubedns/server-process.js';
import { awaitRecord } from './await-answer.js';

/** How the dnsmasq container under test is started. */
export interface OurDnsmasqOptions {
  readonly node: string;
  readonly nodeFlags: readonly string[];
  readonly program: string;
  /** What stands in front of `--`. */
  readonly nannyFlags: readonly string[];
  /** What stands behind it, besides where it listens. */
  readonly args: readonly string[];
}

const START_LIMIT_MS = 10_000;
/** Every dnsmasq knows it, whatever its servers. */
const VERSION = encodeQuery({ id: 1, name: 'version.bind', type: 'TXT', class: 'CH' });

/** The dnsmasq container as its image starts it, on a free port of 127.0.0.1. */
export class OurDnsmasq {
  readonly server: ServerProcess;
  readonly port: number;

  private constructor(server: ServerProcess, port: number) {
    this.server = server;
    this.port = port;
  }

  /** Starts it; `ready` waits until it serves. */
  static async start(options: OurDnsmasqOptions): Promise<OurDnsmasq> {
    const { node, nodeFlags, program, nannyFlags, args } = options;
    const port = await freePort();
    const server = new ServerProcess('our dnsmasq', node, [
      ...nodeFlags,
      program,
      '-configDir=/nonexistent',
      ...nannyFlags,
      '--',
      '--keep-in-foreground',
      `--port=${port}`,
      '--listen-address=127.0.0.1',
      '--bind-interfaces',
      '--conf-file=/dev/null',
      '--no-hosts',
      '--no-resolv',
      ...args,
    ]);
    return new OurDnsmasq(server, port);
  }

  async ready(): Promise<void> {
    const { server, port } = this;
    await awaitRecord({ what: 'our dnsmasq', server, port }, VERSION, START_LIMIT_MS);
  }
}
