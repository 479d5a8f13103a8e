import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { chooseUdpEngine } from '@kube-dns/transport';
import { UdpFlows } from './udp-flows.js';

/** What went through a balancer so far. */
export interface BalancerFigures {
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

const HOST = '127.0.0.1';
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
