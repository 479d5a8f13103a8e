import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Machine } from '../machine/machine.js';
import type { ProcessExit } from '../host.js';
import { runningProcess, SimulatedProcess } from '../machine/process.js';
import type { View } from '../model/outside-model.js';
import { Network, type Service } from '../network.js';
import type { Random } from '../random.js';
import { Scheduler } from '../scheduler.js';
import { followReadiness } from './kubelet.js';
import { NameServer } from './upstream.js';

export interface ClusterSize {
  /** Pods of kube-dns behind the Service. */
  readonly pods: number;
  /** Nodes, each with a node-cache and a client. */
  readonly nodes: number;
  /** Machines that begin with the other release. */
  readonly others: readonly string[];
}

/** What a run of a cluster reports while it runs. */
export interface ClusterObserver {
  onLine(machine: string, program: string, line: string): void;
  /** A program ended that was not to end, or an error reached its top. */
  onProgramError(machine: string, program: string, error: string): void;
  /** Whether a program may end by itself now, as kubedns does that sees no API server for a minute. */
  mayEnd(): boolean;
}

export const DOMAIN = 'cluster.local';
/** The addresses of the Service of kube-dns, and those of a node-cache. */
export const CLUSTER_DNS = ['10.96.0.10', 'fd00:10:96::a'] as const;
export const LOCAL_DNS = ['169.254.20.10', 'fd00:20::10'] as const;
/** The name servers outside: two for all names, and one that a ConfigMap may name. */
const UPSTREAMS = [
  { name: 'upstream-0', addresses: ['10.0.0.53', 'fd00:0::53'], view: 'public' },
  { name: 'upstream-1', addresses: ['10.0.0.54', 'fd00:0::54'], view: 'public' },
  { name: 'corp', addresses: ['10.0.0.55', 'fd00:0::55'], view: 'corp' },
] as const satisfies { name: string; addresses: string[]; view: View }[];
/** Where the ConfigMap `kube-dns` is mounted. */
const CONFIG_FOLDERS = {
  pod: ['/kube-dns-config', '/etc/k8s/dns/dnsmasq-nanny'],
  node: ['/etc/kube-dns'],
} as const;
const RESOLV_CONF = 'nameserver 10.0.0.53\nnameserver 10.0.0.54\n';
const API_PORT = 8080;
const STATE_FILE = '/state/objects.json';

/** The bundles of the checkout; a run with a changed one gives its own. */
export type Bundles = Readonly<Record<ProgramName, string>>;
export type ProgramName = 'apiserver' | 'kubedns' | 'dnsmasq' | 'sidecar' | 'node-cache';

/** Of a built checkout; default: of this one. */
export function builtBundles(
  checkout = fileURLToPath(new URL('../../../..', import.meta.url)),
): Bundles {
  const bundle = (name: ProgramName) => join(checkout, 'packages', name, 'dist', `${name}.cjs`);
  return {
    apiserver: bundle('apiserver'),
    kubedns: bundle('kubedns'),
    dnsmasq: bundle('dnsmasq'),
    sidecar: bundle('sidecar'),
    'node-cache': bundle('node-cache'),
  };
}

/** What writes snapshots, and where. */
const SNAPSHOTTERS = ['kubedns', 'node-cache'] as const;
const SNAPSHOTS = '/snapshots';
const snapshotting = new Map<string, boolean>();

function hasSnapshots(bundle: string): boolean {
  let isAble = snapshotting.get(bundle);
  if (isAble === undefined) {
    isAble = readFileSync(bundle, 'utf8').includes('snapshot-file');
    snapshotting.set(bundle, isAble);
  }
  return isAble;
}

/** The programs of a cluster, and those of another release, which some of its machines run. */
export interface Releases {
  readonly bundles: Bundles;
  readonly other: Bundles;
}

/** A machine with the containers that run on it, each of which can be killed, frozen and started again. */
export class Host {
  /** What faults call it: a pod has that of the one that it replaced. */
  readonly name: string;
  readonly machine: Machine;
  /** It starts no container any more. */
  #isTerminated = false;
  #runsOther: boolean;
  readonly #cluster: SimulatedCluster;
  readonly #containers = new Map<string, { argv: readonly string[]; process: SimulatedProcess }>();

  constructor(cluster: SimulatedCluster, name: string, machine: Machine, runsOther = false) {
    this.#cluster = cluster;
    this.name = name;
    this.machine = machine;
    this.#runsOther = runsOther;
  }

  get names(): string[] {
    return [...this.#containers.keys()];
  }

  get #bundles(): Bundles {
    const { releases } = this.#cluster;
    return this.#runsOther ? releases.other : releases.bundles;
  }

  /** What a program knows stays through its restarts; one of a release before cannot do that. */
  #snapshotFlags(program: ProgramName): readonly string[] {
    const isAble = (SNAPSHOTTERS as readonly string[]).includes(program) && hasSnapshots(this.#bundles[program]); // prettier-ignore
    if (!isAble) return [];
    this.machine.files.makeFolder(SNAPSHOTS);
    return [`--snapshot-file=${SNAPSHOTS}/${program}`];
  }

  start(program: ProgramName, argv: readonly string[]): void {
    const { observer } = this.#cluster;
    const { name } = this.machine;
    const process = new SimulatedProcess(this.machine, {
      name: program,
      program: this.#bundles[program],
      argv: [...this.#snapshotFlags(program), ...argv],
      env: {
        KUBE_DNS_VERSION: 'simulated',
        PROMETHEUS_PORT: '10055',
        KUBE_DNS_UPSTREAM_SERVICE_HOST: CLUSTER_DNS[0],
        KUBE_DNS_UPSTREAM_SERVICE_PORT: '53',
      },
      onLine: (line) => observer.onLine(name, program, line),
      onExit: (exit) => this.#onExit(program, exit),
    });
    this.#containers.set(program, { argv, process });
    process.start();
  }

  process(program: string): SimulatedProcess {
    return this.#containers.get(program)!.process;
  }

  /** Ends a container at once, as `kill -9` does. */
  kill(program: string): void {
    this.process(program).kill('SIGKILL');
  }

  /** Starts a container again that was killed, as the kubelet does. */
  restart(program: string): void {
    const { argv, process } = this.#containers.get(program)!;
    if (!process.isAlive && !this.#isTerminated) this.start(program as ProgramName, argv);
  }

  /** Ends its containers as the kubelet ends those of a pod; `done` when all have ended, or were killed. */
  terminate(done: () => void): void {
    if (this.#isTerminated) return;
    this.#isTerminated = true;
    const { scheduler, observer } = this.#cluster;
    const endUs = scheduler.nowUs + GRACE_US;
    for (const name of this.names) {
      scheduler.after(PRE_STOP_US[name] ?? 0, () => this.process(name).kill('SIGTERM'));
    }
    const check = () => {
      const alive = this.names.filter((name) => this.process(name).isAlive);
      if (alive.length > 0 && scheduler.nowUs < endUs) {
        scheduler.after(CHECK_US, check);
        return;
      }
      for (const name of alive) {
        if (!observer.mayEnd()) observer.onProgramError(this.machine.name, name, 'runs on after SIGTERM'); // prettier-ignore
        this.kill(name);
      }
      done();
    };
    check();
  }

  /** Ends its containers, and starts them again, with the other release where there are two. */
  replaceContainers(): void {
    this.terminate(() => {
      this.#isTerminated = false;
      this.#runsOther = !this.#runsOther;
      for (const name of this.names) this.restart(name);
    });
  }

  #onExit(program: string, { code, error }: ProcessExit): void {
    if (code === KILLED || code === 0) return;
    const { observer, scheduler } = this.#cluster;
    const { name } = this.machine;
    if (error !== undefined) observer.onProgramError(name, program, errorOf(error));
    else if (observer.mayEnd()) scheduler.after(RESTART_US, () => this.restart(program));
    else observer.onProgramError(name, program, `exit code ${code}`);
  }
}

/** What of a cluster starts later than all else. */
export type Late = 'none' | 'api' | 'pods';
/** Within the time that a start may take. */
const LATE_US = 20_000_000;
/** `terminationGracePeriodSeconds`. */
const GRACE_US = 30_000_000;
const CHECK_US = 100_000;
/** `preStop` of the containers, as in manifests/kube-dns: until every node has taken the pod out of the Service, it answers. */
const PRE_STOP_US: Readonly<Record<string, number>> = { kubedns: 10_000_000, dnsmasq: 10_000_000 };
const KILLED = 137;
/** The kubelet's first pause before a container that has ended is started again. */
const RESTART_US = 10_000_000;

/** A whole cluster: an API server, name servers of the outside, DNS pods behind their Service, nodes with node-caches. */
export class SimulatedCluster {
  readonly scheduler = new Scheduler();
  readonly network: Network;
  readonly random: Random;
  readonly releases: Releases;
  readonly observer: ClusterObserver;
  readonly api: Host;
  readonly upstreams: Host[] = [];
  readonly nameServers = new Map<string, NameServer>();
  readonly pods: Host[] = [];
  readonly nodes: Host[] = [];
  /** Of each family. */
  readonly #services: readonly Service[];
  readonly #others: readonly string[];
  /** Pods that start, by the number of the one that each replaces. */
  readonly #surging = new Map<number, Host>();
  readonly #generations = new Map<number, number>();
  #updateReadiness: () => void = () => undefined;
  #config: Readonly<Record<string, string>> = {};

  constructor(size: ClusterSize, random: Random, releases: Releases, observer: ClusterObserver) {
    this.random = random;
    this.releases = releases;
    this.#others = size.others;
    this.observer = observer;
    this.network = new Network(this.scheduler, random.fork('network'));
    this.scheduler.onError = (error) => this.#onError(error);
    this.api = this.#host('api', ['10.0.0.1', 'fd00:0::1']);
    for (const { name, addresses, view } of UPSTREAMS) {
      const host = this.#host(name, addresses);
      this.upstreams.push(host);
      this.nameServers.set(name, new NameServer(host.machine, view));
    }
    const ports = new Map([
      ['udp:53', 53],
      ['tcp:53', 53],
    ]);
    this.#services = CLUSTER_DNS.map((address) => ({ address, ports, backends: [] }));
    for (const service of this.#services) this.network.addService(service);
    for (let i = 0; i < size.pods; i++) this.pods.push(this.#pod(i));
    for (let i = 0; i < size.nodes; i++) {
      const addresses = [`10.1.${i >> 8}.${i & 255}`, `fd00:1::${i.toString(16)}:1`];
      this.nodes.push(this.#host(`node-${i}`, addresses, LOCAL_DNS));
    }
  }

  /** All hosts that faults may meet. */
  get hosts(): Host[] {
    return [this.api, ...this.upstreams, ...this.pods, ...this.nodes];
  }

  find(name: string): Host | undefined {
    return this.hosts.find((host) => host.name === name);
  }

  /** Starts everything; the API server or the pods with all others, or later. */
  start(late: Late = 'none'): void {
    for (const server of this.nameServers.values()) server.start();
    const start = (what: Late, run: () => void) =>
      what === late ? this.scheduler.after(LATE_US, run) : run();
    start('api', () => this.startApi('{"apiVersion":"v1","kind":"List","items":[]}'));
    start('pods', () => {
      for (const pod of this.pods) this.#startPod(pod);
    });
    const probed = () => [...this.pods, ...this.#surging.values()];
    this.#updateReadiness = followReadiness(this.api.machine, probed, (ready) => this.#setBackends(ready)); // prettier-ignore
    for (const node of this.nodes) this.#startNodeCache(node);
  }

  /** Replaces a pod as a Deployment with surge does: another one starts, and once it is ready this one ends. */
  replacePod(name: string): void {
    const at = this.pods.findIndex((pod) => pod.name === name);
    if (this.#surging.has(at)) return;
    const generation = (this.#generations.get(at) ?? 0) + 1;
    this.#generations.set(at, generation);
    const pod = this.#pod(at, generation);
    this.#surging.set(at, pod);
    this.#startPod(pod);
  }

  /** The kubelets have a new version of the ConfigMap `kube-dns`. */
  mountConfig(data: Readonly<Record<string, string>>): void {
    this.#config = data;
    const mount = ({ machine }: Host, folders: readonly string[]) =>
      folders.forEach((folder) => machine.files.mountConfigMap(folder, data));
    for (const pod of [...this.pods, ...this.#surging.values()]) mount(pod, CONFIG_FOLDERS.pod);
    for (const node of this.nodes) mount(node, CONFIG_FOLDERS.node);
  }

  #setBackends(pods: readonly Host[]): void {
    for (const [at, pod] of this.#surging) {
      if (pods.includes(pod)) this.#endReplaced(at, pod);
    }
    this.#services.forEach((service, family) => {
      service.backends = pods.map(({ machine }) => machine.addresses[family]!);
    });
  }

  #endReplaced(at: number, pod: Host): void {
    const old = this.pods[at]!;
    this.pods[at] = pod;
    this.#surging.delete(at);
    this.#updateReadiness();
    old.terminate(() => {
      old.machine.isOn = false;
      this.network.detach(old.machine);
    });
  }

  /** Starts the API server with objects, as one that reads them from etcd. */
  startApi(objects: string): void {
    this.api.machine.files.write(STATE_FILE, objects);
    this.api.start('apiserver', ['--host=::', `--port=${API_PORT}`, `--manifests=${STATE_FILE}`]);
  }

  #startPod(pod: Host): void {
    const { files } = pod.machine;
    files.write('/etc/hosts', '127.0.0.1 localhost\n');
    files.write('/etc/resolv.conf', RESOLV_CONF);
    for (const folder of CONFIG_FOLDERS.pod) files.mountConfigMap(folder, this.#config);
    const api = `http://${this.api.machine.addresses[0]!}:${API_PORT}`;
    pod.start('kubedns', [
      `--domain=${DOMAIN}.`,
      '--dns-port=10053',
      '--config-dir=/kube-dns-config',
      `--kube-master-url=${api}`,
      '--v=2',
    ]);
    pod.start('dnsmasq', [
      '-v=2',
      '-configDir=/etc/k8s/dns/dnsmasq-nanny',
      '-restartDnsmasq=true',
      '-metrics-addr=127.0.0.1:10056',
      '--',
      '-k',
      '--cache-size=1000',
      '--no-negcache',
      '--negcache=push',
      '--dns-loop-detect',
      '--log-facility=-',
      `--server=/${DOMAIN}/127.0.0.1#10053`,
      '--server=/in-addr.arpa/127.0.0.1#10053',
      '--server=/ip6.arpa/127.0.0.1#10053',
    ]);
    pod.start('sidecar', [
      '--v=2',
      `--probe=kubedns,127.0.0.1:10053,kubernetes.default.svc.${DOMAIN},5,SRV`,
      `--probe=dnsmasq,127.0.0.1:53,kubernetes.default.svc.${DOMAIN},5,SRV`,
    ]);
  }

  #startNodeCache(node: Host): void {
    const { files } = node.machine;
    files.write('/etc/resolv.conf', RESOLV_CONF);
    files.write('/etc/Corefile.base', COREFILE);
    for (const folder of CONFIG_FOLDERS.node) files.mountConfigMap(folder, this.#config);
    node.start('node-cache', [
      `-localip=${LOCAL_DNS.join(',')}`,
      '-upstreamsvc=kube-dns-upstream',
      '-basecorefile=/etc/Corefile.base',
      '-conf=/run/Corefile',
      '-setupinterface=false',
      '-setupiptables=false',
    ]);
  }

  /** A pod, or the next one in its place, with a name and addresses of its own. */
  #pod(at: number, generation = 0): Host {
    const name = `dns-${at}`;
    const number = 53 + generation;
    const addresses = [`10.244.${at}.${number}`, `fd00:244:${at}::${number}`];
    const machine = generation === 0 ? name : `${name}.${generation}`;
    // One that replaces another is of the other release, where there are two.
    const runsOther = this.#others.includes(name) !== (generation % 2 === 1);
    return new Host(this, name, new Machine({ name: machine, addresses }, this.network, this.random), runsOther); // prettier-ignore
  }

  #host(name: string, addresses: readonly string[], localAddresses: readonly string[] = []): Host {
    const machine = new Machine({ name, addresses, localAddresses }, this.network, this.random);
    return new Host(this, name, machine, this.#others.includes(name));
  }

  #onError(error: unknown): void {
    const process = runningProcess();
    if (process === undefined) throw error;
    const before = process.uncaught.length;
    process.onUncaught(error);
    if (process.uncaught.length > before) {
      this.observer.onProgramError(process.machine.name, process.name, errorOf(error));
    }
  }
}

function errorOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** As manifests/node-cache has it. */
const COREFILE = `${DOMAIN}:53 in-addr.arpa:53 ip6.arpa:53 {
    errors
    cache {
        success 9984 30
        denial 9984 5
    }
    reload
    loop
    bind ${LOCAL_DNS.join(' ')}
    forward . __PILLAR__CLUSTER__DNS__ {
        prefer_udp
    }
    prometheus :9253
    health ${LOCAL_DNS[0]}:8080
}
.:53 {
    errors
    cache 30
    reload
    loop
    bind ${LOCAL_DNS.join(' ')}
    forward . __PILLAR__UPSTREAM__SERVERS__
    prometheus :9253
}
`;
