import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  NetworkNamespace,
  type Owned,
  RunningProgram,
  runProgram,
  untilEqual,
} from '@kube-dns/testkit';

/** The addresses that node-cache listens on: link-local, and those of kube-dns in both families. */
export const LOCAL_ADDRESSES = ['169.254.20.10', '10.96.0.10', 'fd00:96::10'] as const;
/** Those that pods use. */
export const DNS_ADDRESSES = LOCAL_ADDRESSES.slice(1);
const CLUSTER_DNS = ['10.244.9.53', 'fd00:244::53'] as const;
const NXDOMAIN = 3;

export const GUARD = fileURLToPath(new URL('../../bin/guard.sh', import.meta.url));
const PROCESS = fileURLToPath(new URL('network-process.mjs', import.meta.url));
const NAME_SERVER = fileURLToPath(new URL('name-server.mjs', import.meta.url));

/** As kube-proxy in iptables mode: the addresses of kube-dns lead to the cluster's DNS. */
const KUBE_PROXY = `
  ip address add 10.244.9.53/32 dev lo && ip address add fd00:244::53/128 dev lo nodad
  for protocol in udp tcp; do
    iptables -t nat -A PREROUTING -p $protocol -d 10.96.0.10 --dport 53 -j DNAT --to-destination 10.244.9.53
    ip6tables -t nat -A PREROUTING -p $protocol -d fd00:96::10 --dport 53 -j DNAT --to-destination fd00:244::53
  done
  iptables -A INPUT -s 192.0.2.0/24 -m comment --comment "NodeLocal DNS Cache: of others" -j ACCEPT
  nft add table inet others`;

/** Long beside a moment without CPU time. */
const ASK_SECONDS = 60;

/** A node with kube-proxy and the cluster's DNS, and a pod on it, each a network of its own. */
export class NodeNetwork {
  readonly #owned: Owned;
  readonly #node: NetworkNamespace;
  readonly #pod: NetworkNamespace;

  private constructor(owned: Owned, node: NetworkNamespace, pod: NetworkNamespace) {
    this.#owned = owned;
    this.#node = node;
    this.#pod = pod;
  }

  /** Makes it; it ends with `owned`. */
  static async create(owned: Owned): Promise<NodeNetwork> {
    const node = owned.add(await NetworkNamespace.create());
    const pod = owned.add(await NetworkNamespace.create());
    const network = new NodeNetwork(owned, node, pod);
    const sh = (where: NetworkNamespace, script: string) => where.run('sh', '-ec', script);
    await sh(node, `ip link set lo up; ip link add pod type veth peer name eth0 netns ${pod.pid}`);
    await sh(node, 'ip address add 10.244.0.1/24 dev pod');
    await sh(node, 'ip address add fd00:244:1::1/64 dev pod nodad; ip link set pod up');
    await sh(pod, 'ip link set lo up; ip address add 10.244.0.2/24 dev eth0');
    await sh(pod, 'ip address add fd00:244:1::2/64 dev eth0 nodad; ip link set eth0 up');
    await sh(pod, 'ip route add default via 10.244.0.1; ip route add default via fd00:244:1::1');
    await sh(node, KUBE_PROXY);
    const dns = ['cluster DNS', process.execPath, NAME_SERVER, String(NXDOMAIN), ...CLUSTER_DNS];
    await network.#start(...(dns as [string, ...string[]])).waitForLine('there');
    return network;
  }

  /** Output of a command on the node. */
  run(...words: readonly string[]): Promise<string> {
    return this.#node.run(...words);
  }

  /** Starts a command on the node. */
  start(...words: readonly string[]): RunningProgram {
    return this.#start(words.at(-2) ?? '', ...words);
  }

  /** Starts node-cache's part, `words` in front, and waits until its rules are in. */
  async startCache(
    options: Readonly<Record<string, unknown>> = {},
    words: readonly string[] = [],
  ): Promise<RunningProgram> {
    const json = JSON.stringify({ localAddresses: LOCAL_ADDRESSES, ...options });
    const program = this.#start('node-cache', ...words, process.execPath, PROCESS, json);
    await program.waitForLine('there: ');
    return program;
  }

  /** How a pod's query is answered: `REFUSED` by node-cache, `NXDOMAIN` by the cluster's DNS, '' not at all. */
  async ask(address: string, { transport = 'udp', seconds = ASK_SECONDS } = {}): Promise<string> {
    const protocol = transport === 'tcp' ? '+tcp' : '+notcp';
    const how = [protocol, `+time=${seconds}`, '+tries=1', '+noedns'];
    const [nsenter = '', ...words] = [...this.#pod.entrance, 'dig', `@${address}`, ...how];
    const { stdout } = await runProgram(nsenter, [...words, 'name.example']);
    return /status: (\w+)/.exec(stdout)?.[1] ?? '';
  }

  /** Asks until the answer is this one: rules may be on their way, and a query is lost then. */
  async untilAnswer(address: string, rcode: string): Promise<void> {
    await untilEqual(rcode, () => this.ask(address, { seconds: 1 }));
  }

  /** The rules of node-cache by both tools, of all tables of this node. */
  async rules(): Promise<readonly string[]> {
    const texts = [
      await this.run('iptables-save'),
      await this.run('ip6tables-save'),
      await this.run('sh', '-c', 'nft list table inet node-local-dns 2>/dev/null || true'),
    ];
    const lines = texts.join('\n').split('\n');
    return lines.map((line) => line.trim()).filter((line) => /skip conntrack|allow DNS/.test(line));
  }

  /** Waits until there are as many rules. */
  async untilRules(count: number): Promise<void> {
    await untilEqual(count, async () => (await this.rules()).length);
  }

  async hasInterface(): Promise<boolean> {
    return (await this.run('ip', '-o', 'link')).includes(' nodelocaldns: ');
  }

  #start(name: string, ...words: readonly string[]): RunningProgram {
    const [nsenter = '', ...args] = [...this.#node.entrance, ...words];
    return this.#owned.add(new RunningProgram(name, nsenter, args, { inheritsEnv: true }));
  }
}

/** The first process that this one has started, and that still runs. */
export function childOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]);
}
