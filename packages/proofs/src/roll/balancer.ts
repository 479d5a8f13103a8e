import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import {
  chooseUdpEngine,
  ListenerCounters,
  type ServerAddress,
  type UdpEngine,
} from '@kube-dns/transport';

type FrontSocket = ReturnType<UdpEngine['createSocket']>;
type Peer = Parameters<FrontSocket['send']>[2];
type FlowPort = NonNullable<ReturnType<UdpEngine['openUpstreamPort']>>;

interface Flow {
  readonly port: FlowPort;
  readonly endpoint: ServerAddress;
  readonly client: Peer;
  isUsed: boolean;
}

const HOST = '127.0.0.1';
/** A flow that is silent for this long is deleted (nf_conntrack_udp_timeout). */
const IDLE_MS = 30_000;

/** Flows of UDP from clients of this machine to endpoints of this machine, each with its own port. */
class UdpFlows {
  datagrams = 0;
  cutFlows = 0;
  readonly #engine: UdpEngine;
  readonly #choose: () => number | undefined;
  readonly #front: FrontSocket;
  /** By the client's port: all clients have the same address. */
  readonly #flows = new Map<number, Flow>();
  #timer: NodeJS.Timeout | undefined;

  /** `choose` returns the endpoint of a new flow; undefined: none. */
  constructor(engine: UdpEngine, choose: () => number | undefined) {
    this.#engine = engine;
    this.#choose = choose;
    this.#front = engine.createSocket(new ListenerCounters());
  }

  get flows(): number {
    return this.#flows.size;
  }

  /** Rejects with the system's error. */
  async open(port: number): Promise<void> {
    await this.#front.open(HOST, port, (bytes, length, peer) => {
      this.datagrams++;
      const flow = this.#flows.get(peer.port) ?? this.#openFlow(peer);
      if (flow === undefined) return;
      flow.isUsed = true;
      flow.port.send(bytes.subarray(0, length), flow.endpoint);
    });
    this.#timer = setInterval(() => this.#forgetIdle(), IDLE_MS);
  }

  /** Forgets flows to other endpoints. */
  keepOnly(endpoints: readonly number[]): void {
    for (const [client, flow] of this.#flows) {
      if (endpoints.includes(flow.endpoint.port)) continue;
      this.cutFlows++;
      this.#forget(client, flow);
    }
  }

  /** May be called twice. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    for (const [client, flow] of this.#flows) this.#forget(client, flow);
    await this.#front.close();
  }

  #openFlow(peer: Peer): Flow | undefined {
    const endpointPort = this.#choose();
    if (endpointPort === undefined) return undefined;
    const endpoint = { address: HOST, port: endpointPort };
    const client = this.#front.retain(peer);
    const port = this.#engine.openUpstreamPort(
      { port: 0, sourceAddress: undefined, server: endpoint, isIpv6: false },
      {
        onDatagram: (bytes) => this.#front.send(bytes, bytes.length, client),
        // A datagram that no socket receives is lost, as on a network.
        onUnreachable: () => undefined,
      },
    );
    if (port === undefined) return undefined;
    const flow = { port, endpoint, client, isUsed: true };
    this.#flows.set(peer.port, flow);
    return flow;
  }

  #forgetIdle(): void {
    for (const [client, flow] of this.#flows) {
      if (!flow.isUsed) this.#forget(client, flow);
      flow.isUsed = false;
    }
  }

  #forget(client: number, flow: Flow): void {
    this.#flows.delete(client);
    flow.port.close();
    this.#front.release(flow.client);
  }
}

/** What went through a balancer so far. */
interface BalancerFigures {
  readonly datagrams: number;
  readonly connections: number;
  /** Number of current UDP flows. */
  readonly flows: number;
  /** Flows that lost their endpoint, with everything in flight. */
  readonly cutFlows: number;
}

/** The methods of a balancer in its own process. */
export interface BalancerMethods {
  /** Serves UDP and TCP on a free port of 127.0.0.1 and returns it. */
  start(): Promise<number>;
  /** Ports of 127.0.0.1 that new flows are given to from now on. */
  setEndpoints(ports: readonly number[]): void;
  figures(): BalancerFigures;
}

const ATTEMPTS = 10;

/**
 * One address in front of several pods, as kube-proxy makes it: each new flow (a client's address and port)
 * goes to one of the endpoints at random and stays there. When an endpoint is taken out, flows of UDP to
 * it are deleted, as kube-proxy clears conntrack, and datagrams in flight in them are lost; connections over
 * TCP go on as long as both ends do.
 */
export class Balancer implements BalancerMethods {
  readonly #server: Server;
  #endpoints: readonly number[] = [];
  #connections = 0;
  #flows: UdpFlows | undefined;

  constructor() {
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
      const port = this.#choose();
      this.#connections++;
      client.on('error', () => client.destroy());
      if (port === undefined) {
        client.destroy();
        return;
      }
      const pod = connect({ host: HOST, port, allowHalfOpen: true, noDelay: true });
      pod.on('error', () => client.destroy());
      client.on('close', () => pod.destroy());
      client.pipe(pod).pipe(client);
    });
  }

  async start(): Promise<number> {
    const { engine } = await chooseUdpEngine('auto');
    for (let attempt = 1; ; attempt++) {
      this.#server.listen(0, HOST);
      await once(this.#server, 'listening');
      const { port } = this.#server.address() as AddressInfo;
      try {
        this.#flows = new UdpFlows(engine, () => this.#choose());
        await this.#flows.open(port);
        return port;
      } catch (error) {
        // Free for TCP, taken for UDP: another one is as good.
        if (attempt === ATTEMPTS) throw error;
        this.#server.close();
        await once(this.#server, 'close');
      }
    }
  }

  setEndpoints(ports: readonly number[]): void {
    this.#endpoints = [...ports];
    this.#flows?.keepOnly(this.#endpoints);
  }

  figures(): BalancerFigures {
    const { datagrams, flows, cutFlows } = this.#flows ?? { datagrams: 0, flows: 0, cutFlows: 0 };
    return { datagrams, connections: this.#connections, flows, cutFlows };
  }

  async close(): Promise<void> {
    this.#server.close();
    await this.#flows?.close();
  }

  #choose(): number | undefined {
    return this.#endpoints[Math.floor(Math.random() * this.#endpoints.length)];
  }
}
