import { MeasureError } from '../errors.js';
import { monotonicMs } from '../monotonic.js';
import { until } from '../until.js';
import { freePort } from './free-port.js';
import { ServerProcess } from './server-process.js';

/** How the kubedns under test is started. */
export interface KubednsOptions {
  /** The Node that runs it. */
  readonly node: string;
  /** Flags of Node, as the image has them. */
  readonly nodeFlags: readonly string[];
  /** The bundle; empty: that of this checkout. */
  readonly program: string;
  readonly apiUrl: string;
  /** Further flags of kubedns. */
  readonly flags: readonly string[];
}

const READINESS_STEP_MS = 20;
/** Nobody is there: no query of a bench is to leave the machine. */
const NO_NAMESERVER = '127.0.0.1:9';

/** A kubedns as its image starts it, on free ports of 127.0.0.1. */
export class KubednsProcess {
  readonly server: ServerProcess;
  readonly dnsPort: number;
  readonly #readinessPort: number;

  private constructor(server: ServerProcess, dnsPort: number, readinessPort: number) {
    this.server = server;
    this.dnsPort = dnsPort;
    this.#readinessPort = readinessPort;
  }

  /** Starts it on this DNS port, so that a probe can be there first. */
  static async start(options: KubednsOptions, dnsPort: number): Promise<KubednsProcess> {
    const readinessPort = await freePort();
    const server = new ServerProcess('kubedns', options.node, [
      ...options.nodeFlags,
      options.program,
      `--kube-master-url=${options.apiUrl}`,
      '--dns-bind-address=127.0.0.1',
      `--dns-port=${dnsPort}`,
      `--healthz-port=${readinessPort}`,
      `--nameservers=${NO_NAMESERVER}`,
      '--initial-sync-timeout=0',
      ...options.flags,
    ]);
    return new KubednsProcess(server, dnsPort, readinessPort);
  }

  /** Waits for `/readiness`; returns the moment of its first 200, on the monotonic clock. */
  async ready(limitMs: number): Promise<number> {
    const url = `http://127.0.0.1:${this.#readinessPort}/readiness`;
    const isReady = async () => {
      this.server.check();
      try {
        const response = await fetch(url);
        await response.arrayBuffer();
        return response.status === 200;
      } catch {
        // nobody listens yet
        return false;
      }
    };
    if (!(await until(isReady, limitMs, READINESS_STEP_MS))) {
      throw new MeasureError(`kubedns was not ready within ${limitMs / 1_000} s`);
    }
    return monotonicMs();
  }
}
