import type { Owned } from '@kube-dns/testkit';
import { NetworkNamespace } from './network-namespace.js';

/** The address of each host. Nobody outside can be reached from these, nor reach them. */
export const HOST_ADDRESS = {
  pod: '10.99.0.1',
  clients: '10.99.0.2',
  servers: '10.99.0.3',
} as const;

/** A host of the network. */
export type HostName = keyof typeof HOST_ADDRESS;

/** Datagrams or segments from or to some ports. */
export interface Traffic {
  readonly protocol: 'udp' | 'tcp';
  /** Of the one side, whichever sends: one, or `FIRST:LAST`. */
  readonly ports: string;
}

const HOSTS = Object.keys(HOST_ADDRESS) as readonly HostName[];

function hardwareAddress(host: HostName): string {
  return `02:00:00:00:00:0${HOSTS.indexOf(host) + 1}`;
}

/**
 * Three hosts, each in a network of its own, with a switch between them. They need not ask who has an
 * address, as if there were routers on the way: what is cut off is silent, and nothing else.
 */
export class HostNetwork {
  readonly #switch: NetworkNamespace;
  readonly #hosts: Readonly<Record<HostName, NetworkNamespace>>;

  private constructor(
    middle: NetworkNamespace,
    hosts: Readonly<Record<HostName, NetworkNamespace>>,
  ) {
    this.#switch = middle;
    this.#hosts = hosts;
  }

  /** Makes it all; it ends with `owned`. Throws a MeasureError. */
  static async start(owned: Owned): Promise<HostNetwork> {
    const create = async () => owned.add(await NetworkNamespace.create());
    const [middle, pod, clients, servers] = [
      await create(),
      await create(),
      await create(),
      await create(),
    ];
    const network = new HostNetwork(middle, { pod, clients, servers });
    await middle.run('ip', 'link', 'add', 'switch', 'type', 'bridge');
    await middle.run('ip', 'link', 'set', 'switch', 'up');
    for (const host of HOSTS) await network.#connect(host);
    return network;
  }

  /** The words in front of a command that is to run on a host; they become that command. */
  entrance(host: HostName): readonly string[] {
    return this.#hosts[host].entrance;
  }

  /** Takes the link of a host down, at the side of the switch. */
  async cut(host: HostName): Promise<void> {
    await this.#switch.run('ip', 'link', 'set', host, 'down');
  }

  /** Brings the link of a host up again. */
  async join(host: HostName): Promise<void> {
    await this.#switch.run('ip', 'link', 'set', host, 'up');
  }

  /** From now on this share of some traffic is lost wherever it arrives, each packet by chance. */
  async lose(
    hosts: readonly HostName[],
    { protocol, ports }: Traffic,
    share: number,
  ): Promise<void> {
    const chance = ['-m', 'statistic', '--mode', 'random', '--probability', String(share)];
    for (const host of hosts) {
      for (const side of ['--sport', '--dport']) {
        const which = ['-i', 'eth0', '-p', protocol, side, ports];
        const rule = ['-A', 'INPUT', ...which, ...chance, '-j', 'DROP'];
        await this.#hosts[host].run('iptables', '--wait', ...rule);
      }
    }
  }

  /** How many packets were lost since the last `loseNothing`. */
  async lost(): Promise<number> {
    let packets = 0;
    for (const host of HOSTS) {
      // One line for each rule: packets, bytes, target, and so on.
      const list = ['-n', '-v', '-x', '-L', 'INPUT'];
      const text = await this.#hosts[host].run('iptables', '--wait', ...list);
      for (const [, count] of text.matchAll(/^ *(\d+) +\d+ +DROP /gm)) packets += Number(count);
    }
    return packets;
  }

  /** Nothing is lost any more. */
  async loseNothing(): Promise<void> {
    for (const host of HOSTS) await this.#hosts[host].run('iptables', '--wait', '-F', 'INPUT');
  }

  async #connect(host: HostName): Promise<void> {
    const inside = this.#hosts[host];
    const peer = ['peer', 'name', 'eth0', 'address', hardwareAddress(host)];
    const link = ['type', 'veth', ...peer, 'netns', String(inside.pid)];
    await this.#switch.run('ip', 'link', 'add', host, ...link);
    await this.#switch.run('ip', 'link', 'set', host, 'master', 'switch', 'up');
    await inside.run('ip', 'address', 'add', `${HOST_ADDRESS[host]}/24`, 'dev', 'eth0');
    await inside.run('ip', 'link', 'set', 'lo', 'up');
    await inside.run('ip', 'link', 'set', 'eth0', 'up');
    for (const other of HOSTS.filter((each) => each !== host)) {
      const neighbour = [HOST_ADDRESS[other], 'lladdr', hardwareAddress(other), 'dev', 'eth0'];
      await inside.run('ip', 'neighbour', 'replace', ...neighbour, 'nud', 'permanent');
    }
  }
}
