import { encodeQuery } from '../dns/messages.js';
import { connectUdp, sendQuietly } from '../dns/clients.js';
import { MeasureError } from '../errors.js';
import { becomesTrue, monotonicMs } from '../until.js';
import type { Closable } from '../owned.js';
import { builtProgram } from '../process/dockerfile.js';
import { freePort } from '../process/free-port.js';
import { RunningProgram } from '../process/running-program.js';

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

/** How a kubedns is started. */
export interface KubednsStart {
  /** The URL of its API server, and further flags. */
  readonly flags: readonly string[];
  /** The Node that runs it, and its flags; default: the Node of this process. */
  readonly node?: string;
  readonly nodeFlags?: readonly string[];
  /** The bundle; default: that of this checkout. */
  readonly program?: string;
  /** The address where it serves DNS; default: 127.0.0.1. */
  readonly address?: string;
  /** Default: free ports. */
  readonly ports?: Partial<KubednsPorts>;
  /** Serves no metrics, which saves one server. */
  readonly hasNoMetrics?: boolean;
  /** A command with arguments that runs the words after it. */
  readonly through?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface KubednsPorts {
  readonly dns: number;
  readonly readiness: number;
  readonly metrics: number;
}

/** No server listens there, so no query leaves the machine. */
const NO_NAMESERVER = '127.0.0.1:9';
const READY_LIMIT_MS = 60_000;

/** The kubedns container as its image starts it. */
export class Kubedns implements Closable {
  readonly server: RunningProgram;
  readonly ports: KubednsPorts;

  private constructor(server: RunningProgram, ports: KubednsPorts) {
    this.server = server;
    this.ports = ports;
  }

  /** Starts it; `ready` waits until it has read the cluster. */
  static async start(start: KubednsStart): Promise<Kubedns> {
    const { flags, through = [], node = process.execPath, nodeFlags = [] } = start;
    const ports = {
      dns: start.ports?.dns ?? (await freePort()),
      readiness: start.ports?.readiness ?? (await freePort()),
      metrics: start.ports?.metrics ?? (await freePort()),
    };
    const [command = node, ...args] = [
      ...through,
      node,
      ...nodeFlags,
      start.program ?? builtProgram('kubedns'),
      `--dns-bind-address=${start.address ?? '127.0.0.1'}`,
      `--dns-port=${ports.dns}`,
      `--healthz-port=${ports.readiness}`,
      `--nameservers=${NO_NAMESERVER}`,
      ...flags,
    ];
    const metrics = start.hasNoMetrics === true ? {} : { PROMETHEUS_PORT: String(ports.metrics) };
    const env = { ...metrics, ...start.env };
    return new Kubedns(new RunningProgram('kubedns', command, args, { env }), ports);
  }

  /** The status of `/readiness`; 0 while there is no answer. */
  readiness(): Promise<number> {
    return httpStatus(this.ports.readiness, '/readiness', HTTP_LIMIT_MS);
  }

  /**
   * Waits for a status of `/readiness` (default: 200) and returns its moment on the monotonic clock. Throws
   * a MeasureError after `limitMs`.
   */
  async ready(limitMs = READY_LIMIT_MS, status = 200): Promise<number> {
    const isReady = async () => {
      this.server.check();
      return (await this.readiness()) === status;
    };
    if (await becomesTrue(isReady, { limitMs, stepMs: STEP_MS })) return monotonicMs();
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
