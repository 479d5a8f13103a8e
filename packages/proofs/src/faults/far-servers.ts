import { setTimeout as delay } from 'node:timers/promises';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { FakeUpstream } from '../fixtures/fake-upstream.js';
import { HOST_ADDRESS } from '../fixtures/host-network.js';
import { type RelayFigures, type RelayMode, TcpRelay, UdpRelay } from '../fixtures/relays.js';
import {
  deleteService,
  fillCluster,
  moveService,
  POD_ADDRESSES,
  scaleHeadless,
} from './small-cluster.js';

const CHURN_STEP_MS = 10;

/** The port of the API server at the address of its host. */
export const API_PORT = 6443;
/** The ports of the name servers there. */
export const UPSTREAM_PORTS = [5301, 5302, 5303] as const;
/** The service that a change deletes. */
export const DELETED_SERVICE = 2;
/** The endpoints that a change leaves to the headless service. */
export const LEFT_ADDRESSES: readonly string[] = POD_ADDRESSES.slice(0, 3);

/** The methods of the host of the servers. */
export interface FarServersMethods {
  /** Name servers that know every name with addresses of this network; they serve when it resolves. */
  startUpstreams(network: number): Promise<void>;
  /** An API server with a small cluster of this many services. */
  startApi(services: number): Promise<void>;
  /** Moves a service that no client asks for, again and again for `forMs`: events are always in flight. */
  churn(forMs: number): Promise<void>;
  /** Deletes one service, and one endpoint of the headless one. */
  changeCluster(): Promise<void>;
  /** The treatment of all traffic from and to the servers, from now on. */
  setMode(mode: RelayMode): void;
  /** What became of the datagrams, of all name servers together. */
  relayed(): RelayFigures;
}

/** Name servers and an API server on a separate host, each behind a relay. */
export class FarServers implements FarServersMethods {
  readonly #udpRelays: UdpRelay[] = [];
  readonly #tcpRelays: TcpRelay[] = [];
  #api: ApiServer | undefined;
  #services = 0;

  async startUpstreams(network: number): Promise<void> {
    for (const port of UPSTREAM_PORTS) {
      const upstream = await FakeUpstream.start({ network });
      this.#udpRelays.push(await UdpRelay.start(HOST_ADDRESS.servers, port, upstream.port));
      this.#tcpRelays.push(await TcpRelay.start(HOST_ADDRESS.servers, port, upstream.port));
    }
  }

  async startApi(services: number): Promise<void> {
    // Clients reach it at the address of the relay, which an API server of one address would refuse.
    this.#api = await createApiServer({ host: '0.0.0.0' });
    this.#services = services;
    await fillCluster(this.#api, services + 1);
    this.#tcpRelays.push(await TcpRelay.start(HOST_ADDRESS.servers, API_PORT, this.#api.port));
  }

  async churn(forMs: number): Promise<void> {
    const endMs = performance.now() + forMs;
    for (let i = 0; performance.now() < endMs; i++) {
      await moveService(this.#running, this.#services + 1, `10.96.201.${1 + (i % 250)}`);
      await delay(CHURN_STEP_MS);
    }
  }

  async changeCluster(): Promise<void> {
    await scaleHeadless(this.#running, LEFT_ADDRESSES.length);
    deleteService(this.#running, DELETED_SERVICE);
  }

  setMode(mode: RelayMode): void {
    for (const relay of this.#udpRelays) relay.mode = mode;
    for (const relay of this.#tcpRelays) relay.delayMs = mode.delayMs;
  }

  relayed(): RelayFigures {
    const all = this.#udpRelays.map(({ figures }) => figures);
    const sum = (key: keyof RelayFigures) => all.reduce((total, each) => total + each[key], 0);
    return { datagrams: sum('datagrams'), overtaken: sum('overtaken'), copies: sum('copies') };
  }

  get #running(): ApiServer {
    if (this.#api === undefined) throw new Error('there is no API server');
    return this.#api;
  }
}
