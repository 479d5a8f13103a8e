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
  /** Where its API server is, and further flags. */
  readonly flags: readonly string[];
  /** The Node that runs it, that of this process unless given, and its flags. */
  readonly node?: string;
  readonly nodeFlags?: readonly string[];
  /** The bundle, that of this checkout unless given. */
  readonly program?: string;
  /** Where it serves DNS: 127.0.0.1 unless given. */
  readonly address?: string;
  /** Free ones unless given. */
  readonly ports?: Partial<KubednsPorts>;
  /** Serves no metrics, which are a server more. */
  readonly hasNoMetrics?: boolean;
  /** A command and its arguments that end by running what follows them. */
  readonly through?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface KubednsPorts {
  readonly dns: number;
  readonly readiness: number;
  readonly metrics: number;
}

const STEP_MS = 20;
/** No server listens there: no query is to leave the machine. */
const NO_NAMESERVER = '127.0.0.1:9';
const HTTP_LIMIT_MS = 15_000;
const READY_LIMIT_MS = 20_000;

/** The kubedns container, as its image starts it. */
export class Kubedns implements Closable {
  readonly server: RunningProgram;
  readonly ports: KubednsPorts;

  private constructor(server: RunningProgram, ports: KubednsPorts) {
    this.server = server;
    this.ports = ports;
  }

  /** Starts it; `ready` waits until it has seen the cluster. */
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
   * Waits for a status of `/readiness`, 200 unless given, and returns the moment when it came, on the
   * monotonic clock. Throws a MeasureError when it does not come.
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
