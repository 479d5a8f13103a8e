import { BlockList, isIPv4 } from 'node:net';
import { TraceKind } from '@kube-dns/base';
import type { Log } from '@kube-dns/daemon';
import {
  type Answerer,
  type Client,
  NO_ANSWER_YET,
  type SessionService,
} from '@kube-dns/transport';
import type { Query } from '@kube-dns/wire';
import type { Interfaces } from '../listen/listeners.js';
import type { DnsmasqOptions } from '../options/option-table.js';

/** Whether `--local-service` is active: options that name listening addresses disable it. */
export function isLocalServiceOn(options: DnsmasqOptions): boolean {
  const { listenAddresses, interfaces, exceptInterfaces, localService } = options;
  const lists = [listenAddresses, interfaces, exceptInterfaces];
  return localService !== 'off' && lists.every((list) => list.length === 0);
}

/** The networks whose clients are answered; undefined where all are. */
export function servedNetworks(
  options: DnsmasqOptions,
  interfaces: Interfaces,
): LocalNetworks | undefined {
  const { localService } = options;
  if (localService === 'off' || !isLocalServiceOn(options)) return undefined;
  return new LocalNetworks(localService, interfaces);
}

/** A client that gets no answer, by its address. */
export const CLIENT_IGNORED = new TraceKind<string>();

/** Adds `--local-service` to an answerer, where it is active. */
export function behindLocalService(
  answerer: Answerer,
  options: DnsmasqOptions,
  interfaces: Interfaces,
  log: Pick<Log, 'warn'>,
): Answerer {
  const networks = servedNetworks(options, interfaces);
  return networks === undefined ? answerer : new LocalService(answerer, networks, log);
}

/** The same for sessions: those of others are closed. */
export function sessionsBehindLocalService(
  service: SessionService,
  options: DnsmasqOptions,
  interfaces: Interfaces,
): SessionService {
  const networks = servedNetworks(options, interfaces);
  if (networks === undefined) return service;
  return {
    limit: service.limit ?? 0,
    receive: (message, session) => {
      if (networks.has(session.address)) service.receive(message, session);
      else session.close();
    },
  };
}

/** The networks that this machine is in, or its own addresses alone (`--local-service=host`). */
export class LocalNetworks {
  readonly #networks = new BlockList();

  constructor(service: 'net' | 'host', interfaces: Interfaces) {
    for (const addresses of Object.values(interfaces)) {
      for (const { address, family, cidr } of addresses ?? []) {
        const type = family === 'IPv4' ? 'ipv4' : 'ipv6';
        const bits = Number(cidr?.split('/')[1] ?? Number.NaN);
        if (service === 'host' || Number.isNaN(bits)) this.#networks.addAddress(address, type);
        else this.#networks.addSubnet(address, bits, type);
      }
    }
  }

  /** Whether a client is in one of these; a zone in its address is ignored. */
  has(clientAddress: string): boolean {
    const address = withoutZone(clientAddress);
    return this.#networks.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
  }
}

/** Answers only clients of some networks; others get no answer (dnsmasq src/forward.c, receive_query). */
export class LocalService implements Answerer {
  readonly #answerer: Answerer;
  readonly #log: Pick<Log, 'warn'>;
  readonly #networks: LocalNetworks;
  #hasWarned = false;

  constructor(answerer: Answerer, networks: LocalNetworks, log: Pick<Log, 'warn'>) {
    this.#answerer = answerer;
    this.#networks = networks;
    this.#log = log;
  }

  answer(query: Query, out: Uint8Array, client: Client): number {
    const { address } = client;
    if (this.#networks.has(address)) return this.#answerer.answer(query, out, client);
    query.trace?.note(CLIENT_IGNORED, address);
    if (!this.#hasWarned) {
      this.#hasWarned = true;
      const shown = withoutZone(address);
      this.#log.warn(`ignoring query from non-local network ${shown} (logged only once)`);
    }
    return NO_ANSWER_YET;
  }
}

function withoutZone(address: string): string {
  return address.replace(/%.*$/, '');
}
