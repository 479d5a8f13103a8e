import {
  builtProgram,
  freePort,
  Kubedns,
  type Methods,
  Remote,
  type CommandContext,
} from '@kube-dns/testkit';
import type { BenchClusterMethods } from '../cluster/bench-cluster.js';
import type { ClusterPlan } from '../cluster/cluster-plan.js';
import type { ChangeWatcherMethods } from '../dns/change-watcher.js';
import type { StallProbeMethods } from '../dns/stall-probe.js';
import type { SteadyLoadMethods } from '../dns/steady-load.js';
import { startCluster, type TestbedCluster } from '../load/testbed.js';
import { followingKubedns, READY_STEP_MS } from '../servers/peers.js';
import { type CommonValues, sizeOf, type SizeValues } from './command.js';

const MIB = 2 ** 20;

/** A cluster of the given size and the kubedns that follows it, each in its own process. */
export class ClusterTestbed {
  readonly plan: ClusterPlan;
  readonly dnsPort: number;
  readonly cluster: Remote<BenchClusterMethods>;
  readonly #values: CommonValues;
  readonly #context: CommandContext;
  readonly #url: string;

  private constructor(
    values: CommonValues,
    context: CommandContext,
    { plan, apiUrl, remote }: TestbedCluster,
    dnsPort: number,
  ) {
    this.#values = values;
    this.#context = context;
    this.cluster = remote;
    this.plan = plan;
    this.dnsPort = dnsPort;
    this.#url = apiUrl;
  }

  /** Fills an API server. */
  static async prepare(
    values: CommonValues & SizeValues,
    context: CommandContext,
  ): Promise<ClusterTestbed> {
    const { owned, progress, report } = context;
    const size = sizeOf(values);
    progress(`filling an API server: ${size.services} services, ${size.slices} slices`);
    const cluster = await startCluster(owned, size);
    const { listBytes } = cluster;
    report.add('services', size.services, '');
    report.add('endpoint slices', size.slices, '');
    report.add('lists of services', (listBytes.services ?? 0) / MIB, 'MiB');
    report.add('lists of endpoint slices', (listBytes.endpointslices ?? 0) / MIB, 'MiB');
    return new ClusterTestbed(values, context, cluster, await freePort());
  }

  async startKubedns(): Promise<Kubedns> {
    const { owned, progress } = this.#context;
    const { node, kubedns, 'kubedns-flags': flags } = this.#values;
    const program = kubedns === '' ? builtProgram('kubedns') : kubedns;
    const following = followingKubedns(this.#url, flags, this.#values['node-flags']);
    progress(`starting kubedns: node ${[...following.nodeFlags, program, ...flags].join(' ')}`);
    const start = { ...following, node, program };
    return owned.add(await Kubedns.start({ ...start, ports: { dns: this.dnsPort } }));
  }

  async ready(kubedns: Kubedns): Promise<number> {
    return kubedns.ready(this.#values['ready-limit'] * 1_000, { stepMs: READY_STEP_MS });
  }

  async startProbe(): Promise<Remote<StallProbeMethods>> {
    const probe = this.#remote<StallProbeMethods>('the probe', 'stall-probe.js#StallProbe');
    await probe.call('start', this.dnsPort);
    return probe;
  }

  startLoad(): Remote<SteadyLoadMethods> {
    return this.#remote<SteadyLoadMethods>('the load', 'steady-load.js#SteadyLoad');
  }

  async startWatcher(): Promise<Remote<ChangeWatcherMethods>> {
    const watcher = this.#remote<ChangeWatcherMethods>(
      'the watcher',
      'change-watcher.js#ChangeWatcher',
    );
    await watcher.call('open', this.dnsPort);
    return watcher;
  }

  #remote<T extends Methods<T>>(what: string, module: string): Remote<T> {
    const entry = new URL(`../dns/${module}`, import.meta.url);
    return this.#context.owned.add(new Remote<T>(what, entry));
  }
}
