import {
  freePort,
  KubednsProcess,
  OurDnsmasq,
  type Owned,
  type ProgramValues,
  Remote,
  type ServerProcess,
  builtProgram,
} from '@kube-dns/bench';
import type { ApiServerMethods } from './api-server.js';
import { memoryLimit } from './memory-limit.js';
import { MetricPage } from './metric-page.js';

/** One of the containers of a pod that runs. */
export interface Container {
  readonly name: 'dnsmasq' | 'kubedns';
  readonly server: ServerProcess;
  /** For DNS, UDP and TCP, on 127.0.0.1. */
  readonly port: number;
  /** What the manifests let it have. */
  readonly memoryLimitBytes: number;
  metrics(): Promise<MetricPage>;
}

/** What a pod is made of. */
export interface PodOptions {
  readonly values: ProgramValues;
  readonly owned: Owned;
  readonly services: number;
  /** Of the one headless service. */
  readonly pods: number;
  /** Arguments of dnsmasq besides those of the manifest. */
  readonly dnsmasqArgs: readonly string[];
}

const READY_LIMIT_MS = 30_000;

/** dnsmasq in front of kubedns in front of an API server, each a process, with the manifests' arguments. */
export class Pod {
  readonly dnsmasq: Container;
  readonly kubedns: Container;

  private constructor(dnsmasq: Container, kubedns: Container) {
    this.dnsmasq = dnsmasq;
    this.kubedns = kubedns;
  }

  /** Starts it and waits until it answers; `owned` ends it. */
  static async start(options: PodOptions): Promise<Pod> {
    const { owned, services, pods } = options;
    const entry = new URL('./api-server-main.js', import.meta.url);
    const api = owned.add(new Remote<ApiServerMethods>('the API server', entry));
    const kubedns = await startKubedns(options, await api.call('start', services, pods));
    return new Pod(await startDnsmasq(options, kubedns.port), kubedns);
  }
}

async function startKubedns({ values, owned }: PodOptions, apiUrl: string): Promise<Container> {
  const limit = memoryLimit('kubedns');
  const metricsPort = await freePort();
  const port = await freePort();
  const process = await KubednsProcess.start(
    {
      // Its metrics are switched on by the environment only.
      node: '/usr/bin/env',
      nodeFlags: [
        `PROMETHEUS_PORT=${metricsPort}`,
        values.node,
        ...values['node-flags'],
        ...limit.nodeFlags,
      ],
      program: builtProgram('kubedns'),
      apiUrl,
      flags: ['--v=2'],
    },
    port,
  );
  owned.add(process.server);
  await process.ready(READY_LIMIT_MS);
  return container('kubedns', process.server, port, metricsPort);
}

async function startDnsmasq(
  { values, owned, dnsmasqArgs }: PodOptions,
  kubednsPort: number,
): Promise<Container> {
  const limit = memoryLimit('dnsmasq');
  const metricsPort = await freePort();
  const process = await OurDnsmasq.start({
    node: values.node,
    nodeFlags: [...values['node-flags'], ...limit.nodeFlags],
    program: builtProgram('dnsmasq'),
    nannyFlags: ['-v=2', '-restartDnsmasq=true', `-metrics-addr=127.0.0.1:${metricsPort}`],
    args: [
      '--cache-size=1000',
      '--no-negcache',
      '--dns-loop-detect',
      '--log-facility=-',
      ...['cluster.local', 'in-addr.arpa', 'ip6.arpa'].map(
        (domain) => `--server=/${domain}/127.0.0.1#${kubednsPort}`,
      ),
      ...dnsmasqArgs,
    ],
  });
  owned.add(process.server);
  await process.ready();
  return container('dnsmasq', process.server, process.port, metricsPort);
}

function container(
  name: Container['name'],
  server: ServerProcess,
  port: number,
  metricsPort: number,
): Container {
  const { bytes } = memoryLimit(name);
  const url = `http://127.0.0.1:${metricsPort}/metrics`;
  return { name, server, port, memoryLimitBytes: bytes, metrics: () => MetricPage.read(url) };
}
