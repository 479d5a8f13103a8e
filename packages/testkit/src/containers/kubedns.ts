import { MeasureError } from '../errors.js';
import { monotonicMs } from '../monotonic.js';
import type { Closable } from '../owned.js';
import { builtProgram } from '../process/built-program.js';
import { freePort } from '../process/free-port.js';
import { RunningProgram } from '../process/running-program.js';
import { becomesTrue } from '../until.js';
import { httpStatus } from './http-status.js';
import { MetricPage } from './metric-page.js';

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

const STEP_MS = 20;
/** No server listens there, so no query leaves the machine. */
const NO_NAMESERVER = '127.0.0.1:9';
const HTTP_LIMIT_MS = 15_000;
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
