import {
  type Closable,
  Dnsmasq,
  freePort,
  httpStatus,
  Kubedns,
  Owned,
  RunningProgram,
  until,
} from '@kube-dns/testkit';
import type { ControlGroup, GroupMemory } from '../control-group/control-group.js';
import type { Subject } from '../load/contest.js';
import { SUBSCRIBED } from '../load/server-testbed.js';
import { CONTAINERS, type ContainerName } from './container-name.js';
import type { ContainerRuntime } from './container-runtime.js';
import { followingKubedns } from '../servers/following-kubedns.js';
import { stockArguments } from '../servers/stock-arguments.js';

/** What is around the pod. */
export interface PodSurroundings {
  readonly apiUrl: string;
  /** Of the name server for names of the world. */
  readonly upstreamPort: number;
}

const READY_LIMIT_MS = 120_000;
const HTTP_LIMIT_MS = 10_000;
const CACHE_SIZE = '--cache-size=10000';
const PROBED = 'kubernetes.default.svc.cluster.local,5,SRV';

/** The three containers of the pod, each in a control group of its own, with the flags and variables of its image. */
export class MeasuredPod implements Closable {
  readonly kubedns: Subject;
  readonly dnsmasq: Subject;
  readonly #sidecarPort: number;
  readonly #groups: ReadonlyMap<ContainerName, ControlGroup>;
  readonly #owned: Owned;

  private constructor(
    owned: Owned,
    groups: ReadonlyMap<ContainerName, ControlGroup>,
    servers: { readonly kubedns: Subject; readonly dnsmasq: Subject; readonly sidecarPort: number },
  ) {
    this.#owned = owned;
    this.#groups = groups;
    this.kubedns = servers.kubedns;
    this.dnsmasq = servers.dnsmasq;
    this.#sidecarPort = servers.sidecarPort;
  }

  /** Starts one after the other, and waits until all are ready. */
  static async start(
    outer: Owned,
    around: PodSurroundings,
    runtime: ContainerRuntime,
  ): Promise<MeasuredPod> {
    const owned = outer.add(new Owned());
    const groups = new Map<ContainerName, ControlGroup>();

    const { flags } = followingKubedns(around.apiUrl, []);
    const kubedns = owned.add(
      await Kubedns.start({ flags, ...(await runtime.place('kubedns', owned)) }),
    );
    await kubedns.ready(READY_LIMIT_MS);

    const servers = [
      ...stockArguments(kubedns.ports.dns),
      `--server=127.0.0.1#${around.upstreamPort}`,
    ];
    const dnsmasq = owned.add(
      await Dnsmasq.start({
        ...(await runtime.place('dnsmasq', owned)),
        args: [...servers, CACHE_SIZE, '--dns-forward-max=1500'],
      }),
    );
    await dnsmasq.ready();
    await dnsmasq.server.waitForLine(SUBSCRIBED);

    const sidecarPort = await freePort();
    const { through, node, nodeFlags, program } = await runtime.place('sidecar', owned);
    const [command, ...args] = [
      ...[...through, node, ...nodeFlags, program],
      `--probe=kubedns,127.0.0.1:${kubedns.ports.dns},${PROBED}`,
      `--probe=dnsmasq,127.0.0.1:${dnsmasq.ports.dns},${PROBED}`,
      ...[`--dnsmasq-port=${dnsmasq.ports.dns}`, '--prometheus-addr=127.0.0.1'],
      `--prometheus-port=${sidecarPort}`,
    ];
    const sidecar = owned.add(new RunningProgram('sidecar', command, args));
    const isServed = async () => {
      sidecar.check();
      return (await httpStatus(sidecarPort, '/metrics', HTTP_LIMIT_MS)) === 200;
    };
    await until('the metrics of the sidecar', isServed, { limitMs: READY_LIMIT_MS });
    for (const name of CONTAINERS) groups.set(name, await runtime.groupOf(name));
    return new MeasuredPod(owned, groups, {
      kubedns: subjectOf('our kubedns', kubedns.server, kubedns.ports.dns),
      dnsmasq: subjectOf('our dnsmasq', dnsmasq.server, dnsmasq.ports.dns),
      sidecarPort,
    });
  }

  memory(): ReadonlyMap<ContainerName, GroupMemory> {
    return new Map([...this.#groups].map(([name, group]) => [name, group.memory()]));
  }

  /** Reads the metrics of the sidecar this often, one after the other. */
  async scrape(count: number): Promise<void> {
    for (let i = 0; i < count; i++) await httpStatus(this.#sidecarPort, '/metrics', HTTP_LIMIT_MS);
  }

  close(): Promise<void> {
    return this.#owned.close();
  }
}

function subjectOf(name: string, server: RunningProgram, port: number): Subject {
  return { name, port, pid: server.pid, server, isOneProcess: true, check: () => server.check() };
}
