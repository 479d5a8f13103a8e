import {
  type Dnsmasq,
  type Kubedns,
  type MetricPage,
  type Owned,
  type ProgramValues,
  Remote,
  type RunningProgram,
} from '@kube-dns/testkit';
import { startDnsmasq, startKubedns } from './pod-containers.js';
import type { ApiServerMethods } from './api-server.js';
import { manifestContainer } from './manifest.js';
import { memoryLimit } from './memory-limit.js';

/** One of the containers of a pod that runs. */
export interface Container {
  readonly name: 'dnsmasq' | 'kubedns';
  readonly server: RunningProgram;
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
    const entry = new URL('./api-server.js#ApiServerProgram', import.meta.url);
    const api = owned.add(new Remote<ApiServerMethods>('the API server', entry));
    const kubedns = await kubednsOf(options, await api.call('start', services, pods));
    return new Pod(await dnsmasqOf(options, kubedns.port), kubedns);
  }
}

async function kubednsOf({ values, owned }: PodOptions, apiUrl: string): Promise<Container> {
  const flags = [`--kube-master-url=${apiUrl}`, '--v=2'];
  const kubedns = owned.add(await startKubedns({ ...programOf(values), flags }));
  await kubedns.ready(READY_LIMIT_MS);
  return container('kubedns', kubedns);
}

async function dnsmasqOf(
  { values, owned, dnsmasqArgs }: PodOptions,
  kubednsPort: number,
): Promise<Container> {
  const dnsmasq = owned.add(
    await startDnsmasq({
      ...programOf(values),
      nannyFlags: ['-v=2', '-restartDnsmasq=true'],
      args: [...manifestArgs(kubednsPort), ...dnsmasqArgs],
    }),
  );
  await dnsmasq.ready();
  return container('dnsmasq', dnsmasq);
}

/** The manifest's arguments of dnsmasq itself, with kubedns at another port. */
function manifestArgs(kubednsPort: number): readonly string[] {
  const { args } = manifestContainer('dnsmasq');
  const own = args.slice(args.indexOf('--') + 1);
  return own.map((arg) => arg.replace(/#10053$/, `#${kubednsPort}`));
}

function programOf(values: ProgramValues) {
  return { node: values.node, nodeFlags: values['node-flags'] };
}

function container(name: Container['name'], started: Kubedns | Dnsmasq): Container {
  const { bytes } = memoryLimit(name);
  const { server, ports } = started;
  const metrics = () => started.metrics();
  return { name, server, port: ports.dns, memoryLimitBytes: bytes, metrics };
}
