import {
  MeasureError,
  MetricPage,
  type Owned,
  type Remote,
  type RunningProgram,
} from '@kube-dns/testkit';
import type { ClientHostMethods } from './client-host.js';
import { HOST_ADDRESS, type HostNetwork } from './host-network.js';
import { startDnsmasq, startKubedns } from './pod-containers.js';

/** How the containers of a pod on a host of its own are started. */
export interface HostPodOptions {
  readonly node: string;
  readonly nodeFlags: readonly string[];
  readonly owned: Owned;
  readonly network: HostNetwork;
  /** From where its pages are read. */
  readonly clients: Remote<ClientHostMethods>;
}

const HOST = HOST_ADDRESS.pod;
/** All as in the manifests: nobody else is on the host. */
const PORT = {
  dnsmasq: 53,
  dnsmasqMetrics: 9153,
  kubedns: 10053,
  readiness: 8081,
  kubednsMetrics: 10055,
} as const;

/** The address and port of a container for DNS. */
export const DNSMASQ_SERVICE = { address: HOST, port: PORT.dnsmasq } as const;
export const KUBEDNS_SERVICE = { address: HOST, port: PORT.kubedns } as const;

/** The containers of a pod on a host of a network, those that are started. */
export class HostPod {
  readonly #options: HostPodOptions;

  constructor(options: HostPodOptions) {
    this.#options = options;
  }

  /** Starts dnsmasq with further arguments, kubedns as the server of `cluster.local`. */
  async startDnsmasq(args: readonly string[]): Promise<RunningProgram> {
    const start = {
      ...this.#program,
      nannyFlags: [`-metrics-addr=${HOST}:${PORT.dnsmasqMetrics}`],
      args: [
        `--listen-address=${HOST}`,
        '--cache-size=1000',
        `--server=/cluster.local/127.0.0.1#${PORT.kubedns}`,
        ...args,
      ],
    };
    const ports = { dns: PORT.dnsmasq, metrics: PORT.dnsmasqMetrics };
    return this.#options.owned.add(await startDnsmasq({ ...start, ports })).server;
  }

  /** Starts kubedns with further flags; `readiness` says when it has seen the cluster. */
  async startKubedns(...flags: readonly string[]): Promise<RunningProgram> {
    const { kubedns: dns, readiness, kubednsMetrics: metrics } = PORT;
    const ports = { dns, readiness, metrics };
    const start = { ...this.#program, flags, ports, address: '0.0.0.0' };
    return this.#options.owned.add(await startKubedns(start)).server;
  }

  /** The status of kubedns' `/readiness`; 0 while nobody answers. */
  async readiness(): Promise<number> {
    const url = `http://${HOST}:${PORT.readiness}/readiness`;
    return (await this.#options.clients.call('page', url)).status;
  }

  dnsmasqMetrics(): Promise<MetricPage> {
    return this.#metrics(PORT.dnsmasqMetrics);
  }

  kubednsMetrics(): Promise<MetricPage> {
    return this.#metrics(PORT.kubednsMetrics);
  }

  get #program() {
    const { node, nodeFlags, network } = this.#options;
    return { node, nodeFlags, through: network.entrance('pod') };
  }

  async #metrics(port: number): Promise<MetricPage> {
    const { status, text } = await this.#options.clients.call(
      'page',
      `http://${HOST}:${port}/metrics`,
    );
    if (status !== 200) throw new MeasureError(`no metrics at port ${port} of the pod: ${status}`);
    return new MetricPage(text);
  }
}
