import { join } from 'node:path';
import { ConfigVolume } from '../config-volume.js';
import { encodeQuery } from '../dns/messages.js';
import { connectUdp, sendQuietly } from '../dns/clients.js';
import { MeasureError } from '../errors.js';
import { becomesTrue, monotonicMs } from '../until.js';
import { type Closable, TemporaryFolder } from '../owned.js';
import { type BundleName, builtProgram } from '../process/dockerfile.js';
import { freePort } from '../process/free-port.js';
import { type ProgramOptions, RunningProgram } from '../process/running-program.js';

/** The status of a page of a program on this machine; 0 without an answer within `limitMs`. */
export async function httpStatus(port: number, path: string, limitMs: number): Promise<number> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      signal: AbortSignal.timeout(limitMs),
    });
    await response.arrayBuffer();
    return response.status;
  } catch {
    // no server listens, or none answers in time
    return 0;
  }
}

/** Whether the status of a page is 200 within `limitMs`, as in a probe of kubelet. */
export async function isOk(port: number, path: string, limitMs: number): Promise<boolean> {
  return (await httpStatus(port, path, limitMs)) === 200;
}

/** Only a page that hangs takes as long. */
const HTTP_LIMIT_MS = 60_000;
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g;

interface Sample {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

/** The metrics of a container at one moment. */
export class MetricPage {
  readonly #samples: readonly Sample[];

  /** `text` has the text format of Prometheus. */
  constructor(text: string) {
    this.#samples = text.split('\n').flatMap((line) => {
      const match = SAMPLE.exec(line);
      if (!match) return [];
      const [, name = '', labels = '', value] = match;
      const pairs = Array.from(labels.matchAll(LABEL), ([, key = '', text = '']) => {
        return [key, text] as const;
      });
      return [{ name, labels: new Map(pairs), value: Number(value) }];
    });
  }

  /** Reads the page at a URL; rejects after a minute, which only a hang reaches. */
  static async read(url: string): Promise<MetricPage> {
    const response = await fetch(url, { signal: AbortSignal.timeout(HTTP_LIMIT_MS) });
    return new MetricPage(await response.text());
  }

  /** The sum of all samples of this name with these labels; NaN without a sample. */
  sum(name: string, labels: Readonly<Record<string, string>> = {}): number {
    const wanted = Object.entries(labels);
    const found = this.#samples.filter((sample) => {
      return sample.name === name && wanted.every(([key, text]) => sample.labels.get(key) === text);
    });
    return found.length === 0 ? Number.NaN : found.reduce((sum, { value }) => sum + value, 0);
  }
}

const STEP_MS = 20;
const RCODE_MASK = 0x0f;
const ANSWER_COUNT_OFFSET = 6;

/** Queries a new program until an answer has a record. Throws a MeasureError after `limitMs`. */
export async function awaitRecord(
  server: RunningProgram,
  port: number,
  query: Buffer,
  limitMs: number,
): Promise<void> {
  const seen = { hasRecord: false };
  const socket = await connectUdp(port, (message) => {
    const isError = message.length < query.length || (message[3]! & RCODE_MASK) !== 0;
    if (!isError && message.readUInt16BE(ANSWER_COUNT_OFFSET) > 0) seen.hasRecord = true;
  });
  const isAnswered = () => {
    if (seen.hasRecord) return true;
    server.check();
    sendQuietly(socket, query);
    return false;
  };
  try {
    if (await becomesTrue(isAnswered, { limitMs, stepMs: STEP_MS })) return;
    throw new MeasureError(`${server.name} does not answer within ${limitMs / 1_000} s`);
  } finally {
    socket.close();
  }
}

/** What is waited for at `/readiness`, and how often that is asked. */
interface ReadyOptions {
  readonly status?: number;
  readonly stepMs?: number;
}

/** What runs a bundle of ours. */
export interface BundleStart {
  /** The Node that runs it, and its flags; default: the Node of this process, and none. */
  readonly node?: string;
  readonly nodeFlags?: readonly string[];
  /** The bundle; default: that of this checkout. */
  readonly program?: string;
  /** A command with arguments that runs the words after it. */
  readonly through?: readonly string[];
  /** What a shell runs first, for example `ulimit -n 64`; the program then replaces the shell. */
  readonly shell?: string;
  /** The end of the shell's command line: redirections of the program's streams. */
  readonly redirection?: string;
  readonly env?: ProgramOptions['env'];
}

/** Starts a bundle of ours with these arguments. */
export function startBundle(
  name: BundleName,
  args: readonly string[],
  start: BundleStart = {},
): RunningProgram {
  const { node = process.execPath, nodeFlags = [], through = [], shell, redirection } = start;
  const script = `${shell ?? ':'}; exec "$@" ${redirection ?? ''}`;
  const isInShell = shell !== undefined || redirection !== undefined;
  const [command = node, ...rest] = [
    ...through,
    ...(isInShell ? ['/bin/sh', '-c', script, 'sh'] : []),
    ...[node, ...nodeFlags, start.program ?? builtProgram(name), ...args],
  ];
  return new RunningProgram(name, command, rest, { env: start.env ?? {} });
}

/** Ports as given, and free ones for the others. */
async function portsOf<Name extends string>(
  names: readonly Name[],
  given: Partial<Record<Name, number>> = {},
): Promise<Readonly<Record<Name, number>>> {
  const ports: Partial<Record<Name, number>> = {};
  for (const name of names) ports[name] = given[name] ?? (await freePort());
  return ports as Record<Name, number>;
}

/** What only a hang reaches. */
const START_LIMIT_MS = 60_000;

/** How a kubedns is started. */
export interface KubednsStart extends BundleStart {
  /** The URL of its API server, and further flags. */
  readonly flags: readonly string[];
  /** The address where it serves DNS; default: 127.0.0.1. */
  readonly address?: string;
  /** Default: free ports. */
  readonly ports?: Partial<KubednsPorts>;
  /** Serves no metrics, which saves one server. */
  readonly hasNoMetrics?: boolean;
}

const KUBEDNS_PORTS = ['dns', 'readiness', 'metrics'] as const;
export type KubednsPorts = Readonly<Record<(typeof KUBEDNS_PORTS)[number], number>>;

/** No server listens there, so no query leaves the machine. */
const NO_NAMESERVER = '127.0.0.1:9';

/** A kubedns that was started. */
export class Kubedns implements Closable {
  readonly server: RunningProgram;
  readonly ports: KubednsPorts;

  constructor(server: RunningProgram, ports: KubednsPorts) {
    this.server = server;
    this.ports = ports;
  }

  /** Starts it; `ready` waits until it has read the cluster. */
  static async start(start: KubednsStart): Promise<Kubedns> {
    const ports = await portsOf(KUBEDNS_PORTS, start.ports);
    const args = [
      `--dns-bind-address=${start.address ?? '127.0.0.1'}`,
      `--dns-port=${ports.dns}`,
      `--healthz-port=${ports.readiness}`,
      `--nameservers=${NO_NAMESERVER}`,
      ...start.flags,
    ];
    const PROMETHEUS_PORT = start.hasNoMetrics === true ? undefined : String(ports.metrics);
    const env = { PROMETHEUS_PORT, ...start.env };
    return new Kubedns(startBundle('kubedns', args, { ...start, env }), ports);
  }

  /** The status of `/readiness`; 0 while there is no answer. */
  readiness(): Promise<number> {
    return httpStatus(this.ports.readiness, '/readiness', HTTP_LIMIT_MS);
  }

  /**
   * Looks every `stepMs` for a status of `/readiness` (default: 200) and returns its moment on the monotonic clock. Throws
   * a MeasureError after `limitMs`.
   */
  async ready(
    limitMs = START_LIMIT_MS,
    { status = 200, stepMs = STEP_MS }: ReadyOptions = {},
  ): Promise<number> {
    const isReady = async () => {
      this.server.check();
      return (await this.readiness()) === status;
    };
    if (await becomesTrue(isReady, { limitMs, stepMs })) return monotonicMs();
    throw new MeasureError(`/readiness of kubedns was not ${status} within ${limitMs / 1_000} s`);
  }

  metrics(): Promise<MetricPage> {
    return MetricPage.read(`http://127.0.0.1:${this.ports.metrics}/metrics`);
  }

  close(): Promise<void> {
    return this.server.close();
  }
}

/** How a dnsmasq is started. */
export interface DnsmasqStart extends BundleStart {
  /** The arguments before `--`, and those after it. */
  readonly nannyFlags?: readonly string[];
  readonly args: readonly string[];
  /** Default: free ports. */
  readonly ports?: Partial<DnsmasqPorts>;
  /** Serves no metrics, which saves one server. */
  readonly hasNoMetrics?: boolean;
}

const DNSMASQ_PORTS = ['dns', 'metrics'] as const;
export type DnsmasqPorts = Readonly<Record<(typeof DNSMASQ_PORTS)[number], number>>;

/** Every dnsmasq answers it, with any servers. */
const VERSION = encodeQuery({ name: 'version.bind', type: 'TXT', class: 'CH' });

/** A dnsmasq that was started, on 127.0.0.1. */
export class Dnsmasq implements Closable {
  readonly server: RunningProgram;
  readonly ports: DnsmasqPorts;

  constructor(server: RunningProgram, ports: DnsmasqPorts) {
    this.server = server;
    this.ports = ports;
  }

  /** Starts it; `ready` waits until it serves. */
  static async start(start: DnsmasqStart): Promise<Dnsmasq> {
    const ports = await portsOf(DNSMASQ_PORTS, start.ports);
    const metrics = start.hasNoMetrics === true ? [] : [`-metrics-addr=127.0.0.1:${ports.metrics}`];
    const args = [
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
    return new Dnsmasq(startBundle('dnsmasq', args, start), ports);
  }

  async ready(): Promise<void> {
    await awaitRecord(this.server, this.ports.dns, VERSION, START_LIMIT_MS);
  }

  /** Waits until kubedns announces to it what changes. */
  async subscribed(): Promise<void> {
    await this.server.waitForLine('announces the changes of cluster.local');
  }

  metrics(): Promise<MetricPage> {
    return MetricPage.read(`http://127.0.0.1:${this.ports.metrics}/metrics`);
  }

  close(): Promise<void> {
    return this.server.close();
  }
}

/** How a sidecar is started. */
export interface SidecarStart extends BundleStart {
  /** The port of the dnsmasq whose statistics it has. */
  readonly dnsmasqPort: number;
  /** What it asks for: `LABEL,SERVER:PORT,NAME,SECONDS,TYPE` each. */
  readonly probes: readonly string[];
}

/** A sidecar that was started, with its pages on a port of 127.0.0.1. */
export class Sidecar implements Closable {
  readonly server: RunningProgram;
  readonly port: number;

  constructor(server: RunningProgram, port: number) {
    this.server = server;
    this.port = port;
  }

  /** Starts it; `ready` waits until it serves its pages. */
  static async start({ dnsmasqPort, probes, ...start }: SidecarStart): Promise<Sidecar> {
    const port = await freePort();
    const args = [
      ...probes.map((probe) => `--probe=${probe}`),
      ...[`--dnsmasq-port=${dnsmasqPort}`, '--prometheus-addr=127.0.0.1'],
      `--prometheus-port=${port}`,
    ];
    return new Sidecar(startBundle('sidecar', args, start), port);
  }

  async ready(): Promise<void> {
    await this.server.waitForLine('serving HTTP on', { limitMs: START_LIMIT_MS });
  }

  /** Whether its last probe with this label has succeeded. */
  isHealthy(label: string, limitMs = HTTP_LIMIT_MS): Promise<boolean> {
    return isOk(this.port, `/healthcheck/${label}`, limitMs);
  }

  metrics(): Promise<MetricPage> {
    return MetricPage.read(`http://127.0.0.1:${this.port}/metrics`);
  }

  close(): Promise<void> {
    return this.server.close();
  }
}

/** The key of the template in its volume. */
const TEMPLATE = 'Corefile.base';
const NODE_CACHE_PORTS = ['dns', 'health', 'metrics', 'setup'] as const;
export type NodeCachePorts = Readonly<Record<(typeof NODE_CACHE_PORTS)[number], number>>;

/** How a process of a node-cache is started. */
export interface NodeCacheStart extends BundleStart {
  readonly flags?: readonly string[];
  /** The path of the original, to be started in place of ours. */
  readonly original?: string;
}

/**
 * A node-cache on loopback, which leaves the network of the machine as it is: its ports, its template and its ConfigMap,
 * and the processes that are started with them, one after the other or together.
 */
export class NodeCache implements Closable {
  /** `setup` is that of `-metrics-listen-address`; the others are where the template has them. */
  readonly ports: NodeCachePorts;
  /** The ConfigMap kube-dns, which is empty at first. */
  readonly config: ConfigVolume;
  /** Its `Corefile` is here. */
  readonly folder = new TemporaryFolder();
  readonly #template: ConfigVolume;
  readonly #programs: RunningProgram[] = [];

  private constructor(ports: NodeCachePorts, config: ConfigVolume, template: ConfigVolume) {
    this.ports = ports;
    this.config = config;
    this.#template = template;
  }

  /** Nothing runs yet. */
  static async create(): Promise<NodeCache> {
    const ports = await portsOf(NODE_CACHE_PORTS);
    return new NodeCache(ports, await ConfigVolume.create({}), await ConfigVolume.create({}));
  }

  /** Replaces the template of the Corefile, as kubelet does. */
  async putTemplate(template: string): Promise<void> {
    await this.#template.put({ [TEMPLATE]: template });
  }

  /** Starts a process, and waits until it serves. */
  async start({ flags = [], original, ...start }: NodeCacheStart = {}): Promise<RunningProgram> {
    const args = [
      ...['-localip=127.0.0.1', '-setupinterface=false', '-setupiptables=false'],
      `-basecorefile=${join(this.#template.path, TEMPLATE)}`,
      `-conf=${join(this.folder.path, 'Corefile')}`,
      `-metrics-listen-address=127.0.0.1:${this.ports.setup}`,
      ...flags,
    ];
    const program =
      original === undefined
        ? startBundle('node-cache', args, start)
        : new RunningProgram('node-cache', original, args, {
            env: start.env ?? {},
            isForeign: true,
          });
    this.#programs.push(program);
    await program.waitForLine('Running configuration SHA512', { limitMs: START_LIMIT_MS });
    return program;
  }

  async close(): Promise<void> {
    for (const program of this.#programs) await program.close();
    for (const each of [this.config, this.#template, this.folder]) await each.close();
  }
}
