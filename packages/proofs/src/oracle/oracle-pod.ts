import { setTimeout as delay } from 'node:timers/promises';
import { type Closable, freePort, type Owned, type RunningProgram, until } from '@kube-dns/testkit';
import { type ContainerSpec, startContainer } from '../fixtures/container.js';
import {
  containerSpecs,
  freePodPorts,
  type PodOptions,
  type PodPorts,
} from '../fixtures/manifest-pod.js';
import { PLAIN } from '../fixtures/relay-mode.js';
import { TcpRelay } from '../fixtures/tcp-relay.js';
import { UdpRelay } from '../fixtures/udp-relay.js';

/** What happens between dnsmasq and kubedns. */
export const FAULT_KINDS = ['cut', 'freeze', 'restart'] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

const HOST = '127.0.0.1';
/** A dead server is noticed after 12 s. */
const NOTICED_MS = 13_500;
const SHORT_MS = 1_500;
/** A kubedns that goes on reads first what the API has sent meanwhile. */
const CATCH_UP_MS = 2_000;
/** dnsmasq asks a server again after a minute that was not there, behind the relay, when it asked first. */
const LIMIT_MS = 150_000;

/** What kubedns says first when it goes on is as old as that. */
export const MAX_FROZEN_MS = NOTICED_MS + CATCH_UP_MS;

/** dnsmasq and kubedns of the manifest, with a way between them that can be cut. */
export class OraclePod implements Closable {
  readonly ports: PodPorts;
  readonly dnsmasq: RunningProgram;
  readonly #kubednsSpec: ContainerSpec;
  readonly #recordTtlMs: number;
  #kubedns: RunningProgram;
  #tcp!: TcpRelay;
  #udp!: UdpRelay;

  private constructor(
    ports: PodPorts,
    dnsmasq: ContainerSpec,
    kubedns: ContainerSpec,
    recordTtlMs: number,
  ) {
    this.ports = ports;
    this.#recordTtlMs = recordTtlMs;
    this.#kubednsSpec = kubedns;
    this.#kubedns = startContainer(kubedns);
    this.dnsmasq = startContainer(dnsmasq);
  }

  static async start(
    options: PodOptions & { readonly recordTtlSeconds: number },
    owned: Owned,
  ): Promise<OraclePod> {
    const ports = await freePodPorts();
    const front = await freePort();
    const { kubedns } = containerSpecs(options, ports);
    const { dnsmasq } = containerSpecs(options, { ...ports, kubedns: front });
    const tcp = owned.add(await TcpRelay.start(HOST, front, ports.kubedns));
    const udp = owned.add(await UdpRelay.start(HOST, front, ports.kubedns));
    const pod = owned.add(new OraclePod(ports, dnsmasq, kubedns, options.recordTtlSeconds * 1_000));
    pod.#tcp = tcp;
    pod.#udp = udp;
    await pod.live();
    return pod;
  }

  /** Waits until dnsmasq is told of changes. */
  async live(): Promise<void> {
    const isLive = () => {
      this.dnsmasq.check();
      return this.#count('tells the changes of') > this.#count('tells no changes any more');
    };
    await until('a subscription', isLive, { limitMs: LIMIT_MS });
  }

  /** Makes a fault happen for the n-th time; resolves when it is over and dnsmasq is told of changes again. */
  async disturb(kind: FaultKind, n: number): Promise<void> {
    if (kind === 'cut') await this.#cut(n);
    else if (kind === 'freeze') await this.#freeze(n);
    else await this.#restart();
    await this.live();
  }

  async close(): Promise<void> {
    await Promise.all([this.dnsmasq.close(), this.#kubedns.close()]);
  }

  /** In turn: everything, TCP alone, everything for longer than a TTL, and a connection that only seems to be there. */
  async #cut(n: number): Promise<void> {
    const way = n % 4 === 3 ? 'silent' : 'closed';
    this.#tcp.way = way;
    if (n % 2 === 0) this.#udp.mode = { ...PLAIN, isCut: true };
    await this.#lost();
    await delay(n % 4 === 2 ? this.#recordTtlMs + SHORT_MS : SHORT_MS);
    this.#tcp.way = 'open';
    this.#udp.mode = PLAIN;
  }

  /** In turn for a short time, and so long that dnsmasq takes it for dead. */
  async #freeze(n: number): Promise<void> {
    this.#kubedns.signal('SIGSTOP');
    await delay(n % 2 === 0 ? SHORT_MS : NOTICED_MS);
    this.#kubedns.signal('SIGCONT');
    await delay(CATCH_UP_MS);
  }

  async #restart(): Promise<void> {
    const lost = this.#lost();
    this.#kubedns.signal('SIGKILL');
    await this.#kubedns.ended;
    await lost;
    this.#kubedns = startContainer(this.#kubednsSpec);
  }

  async #lost(): Promise<void> {
    const before = this.#count('tells no changes any more');
    const isLost = () => this.#count('tells no changes any more') > before;
    await until('the end of a subscription', isLost, { limitMs: LIMIT_MS });
  }

  #count(line: string): number {
    return this.dnsmasq.stderr.split(line).length - 1;
  }
}
