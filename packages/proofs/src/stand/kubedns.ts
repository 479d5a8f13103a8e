import { builtProgram, freePort, MeasureError, ServerProcess, until } from '@kube-dns/bench';
import { MetricPage } from './metric-page.js';

/** How a kubedns is started. */
export interface KubednsStart {
  readonly node: string;
  readonly nodeFlags: readonly string[];
  /** Where its API server is, and further flags. */
  readonly flags: readonly string[];
  /** A command and its arguments that end by running what follows them. */
  readonly through?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

const STEP_MS = 20;
/** Nobody is there: no query is to leave the machine. */
const NO_NAMESERVER = '127.0.0.1:9';
const HTTP_LIMIT_MS = 15_000;

/** The kubedns container as its image starts it, on free ports of 127.0.0.1, metrics included. */
export class Kubedns {
  readonly server: ServerProcess;
  readonly dnsPort: number;
  readonly #healthzPort: number;
  readonly #metricsPort: number;

  private constructor(server: ServerProcess, ports: readonly [number, number, number]) {
    this.server = server;
    [this.dnsPort, this.#healthzPort, this.#metricsPort] = ports;
  }

  /** Starts it; `ready` waits until it has seen the cluster. */
  static async start(start: KubednsStart): Promise<Kubedns> {
    const ports = [await freePort(), await freePort(), await freePort()] as const;
    const [command = start.node, ...args] = [
      ...(start.through ?? []),
      start.node,
      ...start.nodeFlags,
      builtProgram('kubedns'),
      '--dns-bind-address=127.0.0.1',
      `--dns-port=${ports[0]}`,
      `--healthz-port=${ports[1]}`,
      `--nameservers=${NO_NAMESERVER}`,
      ...start.flags,
    ];
    const environment = { PROMETHEUS_PORT: String(ports[2]), ...start.environment };
    return new Kubedns(new ServerProcess('kubedns', command, args, environment), ports);
  }

  /** The status of `/readiness`; 0 while nobody answers. */
  async readiness(): Promise<number> {
    try {
      const url = `http://127.0.0.1:${this.#healthzPort}/readiness`;
      const response = await fetch(url, { signal: AbortSignal.timeout(HTTP_LIMIT_MS) });
      await response.arrayBuffer();
      return response.status;
    } catch {
      // nobody listens, or answers
      return 0;
    }
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
    return MetricPage.read(`http://127.0.0.1:${this.#metricsPort}/metrics`);
  }

  close(): Promise<void> {
    return this.server.close();
  }
}
