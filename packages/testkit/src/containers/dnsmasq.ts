import { awaitRecord } from '../dns/await-record.js';
import { encodeQuery } from '../dns/messages.js';
import type { Closable } from '../owned.js';
import { builtProgram } from '../process/built-program.js';
import { freePort } from '../process/free-port.js';
import { RunningProgram } from '../process/running-program.js';
import { MetricPage } from './metric-page.js';

/** How a dnsmasq is started. */
export interface DnsmasqStart {
  /** The arguments before `--`, and those after it. */
  readonly nannyFlags?: readonly string[];
  readonly args: readonly string[];
  /** The Node that runs it, and its flags; default: the Node of this process. */
  readonly node?: string;
  readonly nodeFlags?: readonly string[];
  /** The bundle; default: that of this checkout. */
  readonly program?: string;
  /** Default: free ports. */
  readonly ports?: Partial<DnsmasqPorts>;
  /** Serves no metrics, which saves one server. */
  readonly hasNoMetrics?: boolean;
  /** A command with arguments that runs the words after it. */
  readonly through?: readonly string[];
  /** What a shell runs first, for example `ulimit -n 64`; the program then replaces the shell. */
  readonly shell?: string;
  /** The end of the shell's command line: redirections of the program's streams. */
  readonly redirection?: string;
}

export interface DnsmasqPorts {
  readonly dns: number;
  readonly metrics: number;
}

const START_LIMIT_MS = 60_000;
/** Every dnsmasq answers it, with any servers. */
const VERSION = encodeQuery({ name: 'version.bind', type: 'TXT', class: 'CH' });

/** The dnsmasq container as its image starts it, on 127.0.0.1. */
export class Dnsmasq implements Closable {
  readonly server: RunningProgram;
  readonly ports: DnsmasqPorts;

  private constructor(server: RunningProgram, ports: DnsmasqPorts) {
    this.server = server;
    this.ports = ports;
  }

  /** Starts it; `ready` waits until it serves. */
  static async start(start: DnsmasqStart): Promise<Dnsmasq> {
    const { through = [], node = process.execPath, nodeFlags = [], shell, redirection } = start;
    const ports = {
      dns: start.ports?.dns ?? (await freePort()),
      metrics: start.ports?.metrics ?? (await freePort()),
    };
    const metrics = start.hasNoMetrics === true ? [] : [`-metrics-addr=127.0.0.1:${ports.metrics}`];
    const command = [
      ...through,
      node,
      ...nodeFlags,
      start.program ?? builtProgram('dnsmasq'),
      '-configDir=/nonexistent',
      ...metrics,
      ...(start.nannyFlags ?? []),
      '--',
      '--keep-in-foreground',
      `--port=${ports.dns}`,
      '--listen-address=127.0.0.1',
      '--bind-interfaces',
      '--conf-file=/dev/null',
      '--no-hosts',
      '--no-resolv',
      ...start.args,
    ];
    const script = `${shell ?? ':'}; exec "$@" ${redirection ?? ''}`;
    const args = ['-c', script, 'sh', ...command];
    return new Dnsmasq(new RunningProgram('dnsmasq', '/bin/sh', args), ports);
  }

  async ready(): Promise<void> {
    await awaitRecord(this.server, this.ports.dns, VERSION, START_LIMIT_MS);
  }

  metrics(): Promise<MetricPage> {
    return MetricPage.read(`http://127.0.0.1:${this.ports.metrics}/metrics`);
  }

  close(): Promise<void> {
    return this.server.close();
  }
}
