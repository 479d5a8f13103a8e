import {
  builtProgram,
  type Closable,
  freePort,
  MeasureError,
  ServerProcess,
  until,
} from '@kube-dns/bench';
import { containerNodeFlags } from './container-flags.js';
import { httpStatus } from './http-status.js';
import { MetricPage } from './metric-page.js';

/** How a kubedns is started. */
export interface KubednsStart {
  readonly node: string;
  /** Behind those that the container has. */
  readonly nodeFlags: readonly string[];
  /** Where its API server is, and further flags. */
  readonly flags: readonly string[];
  /** A command and its arguments that end by running what follows them. */
  readonly through?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

export interface KubednsPorts {
  readonly dns: number;
  readonly readiness: number;
  readonly metrics: number;
}

const STEP_MS = 20;
/** Nobody is there: no query is to leave the machine. */
const NO_NAMESERVER = '127.0.0.1:9';
const HTTP_LIMIT_MS = 15_000;

/** Starts a kubedns as its image does, on all addresses, metrics included, and returns its process. */
export function startKubedns(start: KubednsStart, ports: KubednsPorts): ServerProcess {
  const { node, nodeFlags, flags, through = [], environment } = start;
  const [command = node, ...args] = [
    ...through,
    node,
    ...containerNodeFlags('kubedns'),
    ...nodeFlags,
    builtProgram('kubedns'),
    `--dns-port=${ports.dns}`,
    `--healthz-port=${ports.readiness}`,
    `--nameservers=${NO_NAMESERVER}`,
    ...flags,
  ];
  const variables = { PROMETHEUS_PORT: String(ports.metrics), ...environment };
  return new ServerProcess('kubedns', command, args, variables);
}

/** The kubedns container, as its image starts it, on free ports of 127.0.0.1. */
export class Kubedns implements Closable {
  readonly server: ServerProcess;
  readonly ports: KubednsPorts;

  private constructor(server: ServerProcess, ports: KubednsPorts) {
    this.server = server;
    this.ports = ports;
  }

  /** Starts it; `ready` waits until it has seen the cluster. */
  static async start(start: KubednsStart): Promise<Kubedns> {
    const ports = {
      dns: await freePort(),
      readiness: await freePort(),
      metrics: await freePort(),
    };
    const flags = ['--dns-bind-address=127.0.0.1', ...start.flags];
    return new Kubedns(startKubedns({ ...start, flags }, ports), ports);
  }

  /** The status of `/readiness`; 0 while nobody answers. */
  readiness(): Promise<number> {
    return httpStatus(this.ports.readiness, '/readiness', HTTP_LIMIT_MS);
  }

  /** Waits for a status of `/readiness`, 200 unless given. Throws a MeasureError when it does not come. */
  async ready(limitMs = 20_000, status = 200): Promise<void> {
    const isReady = async () => {
      this.server.check();
      return (await this.readiness()) === status;
    };
    if (await until(isReady, limitMs, STEP_MS)) return;
    throw new MeasureError(`/readiness of kubedns was not ${status} within ${limitMs / 1_000} s`);
  }

  metrics(): Promise<MetricPage> {
    return MetricPage.read(`http://127.0.0.1:${this.ports.metrics}/metrics`);
  }

  close(): Promise<void> {
    return this.server.close();
  }
}
