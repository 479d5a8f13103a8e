import { awaitRecord, builtProgram, type Closable, freePort, ServerProcess } from '@kube-dns/bench';
import { encodeQuery } from '@kube-dns/wire';
import { containerNodeFlags } from './container-flags.js';
import { MetricPage } from './metric-page.js';

/** How a dnsmasq is started. */
export interface DnsmasqStart {
  readonly node: string;
  /** Behind those that the container has. */
  readonly nodeFlags: readonly string[];
  /** What stands in front of `--`, and behind it. */
  readonly nannyFlags?: readonly string[];
  readonly args: readonly string[];
  /** Free ones unless given. */
  readonly ports?: DnsmasqPorts;
  /** A command and its arguments that end by running what follows them. */
  readonly through?: readonly string[];
  /** What a shell does first, `ulimit -n 64` say; the program takes the shell's place. */
  readonly shell?: string;
  /** What stands behind the program on the shell's command line: where its streams lead. */
  readonly redirection?: string;
}

export interface DnsmasqPorts {
  readonly dns: number;
  readonly metrics: number;
}

const START_LIMIT_MS = 20_000;
/** Every dnsmasq knows it, whatever its servers. */
const VERSION = encodeQuery({ id: 1, name: 'version.bind', type: 'TXT', class: 'CH' });

/** Has a dnsmasq ask the kubedns beside it for what the cluster has, as the manifest does. */
export function clusterServerArgs(kubednsPort: number): readonly string[] {
  const zones = ['cluster.local', 'in-addr.arpa', 'ip6.arpa'];
  return zones.map((zone) => `--server=/${zone}/127.0.0.1#${kubednsPort}`);
}

/** Ports that were free a moment ago. */
export async function dnsmasqPorts(): Promise<DnsmasqPorts> {
  return { dns: await freePort(), metrics: await freePort() };
}

/** Starts a dnsmasq as its image does, on 127.0.0.1, metrics included, and returns its process. */
export function startDnsmasq(start: DnsmasqStart, ports: DnsmasqPorts): ServerProcess {
  const { node, nodeFlags, nannyFlags = [], args, through = [] } = start;
  const { shell = ':', redirection = '' } = start;
  const command = [
    ...through,
    node,
    ...containerNodeFlags('dnsmasq'),
    ...nodeFlags,
    builtProgram('dnsmasq'),
    '-configDir=/nonexistent',
    `-metrics-addr=127.0.0.1:${ports.metrics}`,
    ...nannyFlags,
    '--',
    '--keep-in-foreground',
    `--port=${ports.dns}`,
    '--listen-address=127.0.0.1',
    '--bind-interfaces',
    '--conf-file=/dev/null',
    '--no-hosts',
    '--no-resolv',
    ...args,
  ];
  const script = `${shell}; exec "$@" ${redirection}`;
  return new ServerProcess('dnsmasq', '/bin/sh', ['-c', script, 'sh', ...command]);
}

/** The dnsmasq container, as its image starts it. */
export class Dnsmasq implements Closable {
  readonly server: ServerProcess;
  readonly ports: DnsmasqPorts;

  private constructor(server: ServerProcess, ports: DnsmasqPorts) {
    this.server = server;
    this.ports = ports;
  }

  /** Starts it; `ready` waits until it serves. */
  static async start(start: DnsmasqStart): Promise<Dnsmasq> {
    const ports = start.ports ?? (await dnsmasqPorts());
    return new Dnsmasq(startDnsmasq(start, ports), ports);
  }

  async ready(): Promise<void> {
    const { server, ports } = this;
    await awaitRecord({ what: 'dnsmasq', server, port: ports.dns }, VERSION, START_LIMIT_MS);
  }

  metrics(): Promise<MetricPage> {
    return MetricPage.read(`http://127.0.0.1:${this.ports.metrics}/metrics`);
  }

  close(): Promise<void> {
    return this.server.close();
  }
}
