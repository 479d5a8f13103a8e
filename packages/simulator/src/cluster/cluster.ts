import { fileURLToPath } from 'node:url';
import { Machine } from '../machine/machine.js';
import type { ProcessExit } from '../host.js';
import { runningProcess, SimulatedProcess } from '../machine/process.js';
import { Network, type Service } from '../network.js';
import type { Random } from '../random.js';
import { Scheduler } from '../scheduler.js';
import { followReadiness } from './kubelet.js';
import { NameServer, type View } from './upstream.js';

export interface ClusterSize {
  /** Pods of kube-dns behind the Service. */
  readonly pods: number;
  /** Nodes, each with a node-cache and a client. */
  readonly nodes: number;
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
const RESOLV_CONF = 'nameserver 10.0.0.53\nnameserver 10.0.0.54\n';
const API_PORT = 8080;
const STATE_FILE = '/state/objects.json';

/** The bundles of the checkout; a run with a changed one gives its own. */
export type Bundles = Readonly<Record<ProgramName, string>>;
export type ProgramName = 'apiserver' | 'kubedns' | 'dnsmasq' | 'sidecar' | 'node-cache';

export function builtBundles(): Bundles {
  const bundle = (name: ProgramName) =>
    fileURLToPath(new URL(`../../../${name}/dist/${name}.cjs`, import.meta.url));
  return {
    apiserver: bundle('apiserver'),
    kubedns: bundle('kubedns'),
    dnsmasq: bundle('dnsmasq'),
    sidecar: bundle('sidecar'),
    'node-cache': bundle('node-cache'),
  };
}

/** A machine with the containers that run on it, each of which can be killed, frozen and started again. */
export class Host {
  readonly machine: Machine;
  readonly #cluster: SimulatedCluster;
  readonly #containers = new Map<string, { argv: readonly string[]; process: SimulatedProcess }>();

  constructor(cluster: SimulatedCluster, machine: Machine) {
    this.#cluster = cluster;
    this.machine = machine;
  }

  get names(): string[] {
    return [...this.#containers.keys()];
  }

  start(program: ProgramName, argv: readonly string[]): void {
    const { observer, bundles } = this.#cluster;
    const { name } = this.machine;
    const process = new SimulatedProcess(this.machine, {
      name: program,
      program: bundles[program],
      argv,
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
    if (!process.isAlive) this.start(program as ProgramName, argv);
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

const KILLED = 137;
/** The kubelet's first pause before a container that has ended is started again. */
const RESTART_US = 10_000_000;

/** A whole cluster: an API server, name servers of the outside, DNS pods behind their Service, nodes with node-caches. */
export class SimulatedCluster {
  readonly scheduler = new Scheduler();
  readonly network: Network;
  readonly random: Random;
  readonly bundles: Bundles;
  readonly observer: ClusterObserver;
  readonly api: Host;
  readonly upstreams: Host[] = [];
  readonly nameServers = new Map<string, NameServer>();
  readonly pods: Host[] = [];
  readonly nodes: Host[] = [];
  /** Of each family. */
  readonly #services: readonly Service[];

  constructor(size: ClusterSize, random: Random, bundles: Bundles, observer: ClusterObserver) {
    this.random = random;
    this.bundles = bundles;
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
    for (let i = 0; i < size.pods; i++) {
      this.pods.push(this.#host(`dns-${i}`, [`10.244.${i}.53`, `fd00:244:${i}::53`]));
    }
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
    return this.hosts.find(({ machine }) => machine.name === name);
  }

  start(): void {
    for (const server of this.nameServers.values()) server.start();
    this.startApi('{"apiVersion":"v1","kind":"List","items":[]}');
    for (const pod of this.pods) this.#startPod(pod);
    followReadiness(this.api.machine, this.pods, (ready) => this.#setBackends(ready));
    for (const node of this.nodes) this.#startNodeCache(node);
  }

  #setBackends(pods: readonly Host[]): void {
    this.#services.forEach((service, family) => {
      service.backends = pods.map(({ machine }) => machine.addresses[family]!);
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
    files.mountConfigMap('/kube-dns-config', {});
    files.mountConfigMap('/etc/k8s/dns/dnsmasq-nanny', {});
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
    node.start('node-cache', [
      `-localip=${LOCAL_DNS.join(',')}`,
      '-upstreamsvc=kube-dns-upstream',
      '-basecorefile=/etc/Corefile.base',
      '-conf=/run/Corefile',
      '-setupinterface=false',
      '-setupiptables=false',
    ]);
  }

  #host(name: string, addresses: readonly string[], localAddresses: readonly string[] = []): Host {
    const machine = new Machine({ name, addresses, localAddresses }, this.network, this.random);
    return new Host(this, machine);
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
    forward . /etc/resolv.conf
    prometheus :9253
}
`;
