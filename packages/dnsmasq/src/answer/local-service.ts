import { BlockList, isIPv4 } from 'node:net';
import type { Log } from '@kube-dns/daemon';
import { type Answerer, type Client, NO_ANSWER_YET } from '@kube-dns/transport';
import type { Query } from '@kube-dns/wire';
import type { Interfaces } from '../listen-addresses.js';
import type { DnsmasqOptions } from '../options/option-values.js';

/** Tells whether `--local-service` counts: it does not beside options that say where to listen. */
export function isLocalServiceOn(options: DnsmasqOptions): boolean {
  const { listenAddresses, interfaces, exceptInterfaces, localService } = options;
  const lists = [listenAddresses, interfaces, exceptInterfaces];
  return localService !== 'off' && lists.every((list) => list.length === 0);
}

/**
 * Answers only clients of the networks that this machine is in, or only those on it; others hear
 * nothing (dnsmasq src/forward.c, receive_query).
 */
export class LocalService implements Answerer {
  readonly #answerer: Answerer;
  readonly #log: Pick<Log, 'warn'>;
  readonly #networks = new BlockList();
  #hasWarned = false;

  constructor(
    answerer: Answerer,
    service: 'net' | 'host',
    interfaces: Interfaces,
    log: Pick<Log, 'warn'>,
  ) {
    this.#answerer = answerer;
    this.#log = log;
    for (const addresses of Object.values(interfaces)) {
      for (const { address, family, cidr } of addresses ?? []) {
        const type = family === 'IPv4' ? 'ipv4' : 'ipv6';
        const bits = Number(cidr?.split('/')[1] ?? Number.NaN);
        if (service === 'host' || Number.isNaN(bits)) this.#networks.addAddress(address, type);
        else this.#networks.addSubnet(address, bits, type);
      }
    }
  }

  answer(query: Query, out: Uint8Array, client: Client): number {
    const address = client.address.replace(/%.*$/, '');
    if (this.#networks.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')) {
      return this.#answerer.answer(query, out, client);
    }
    if (!this.#hasWarned) {
      this.#hasWarned = true;
      this.#log.warn(`ignoring query from non-local network ${address} (logged only once)`);
    }
    return NO_ANSWER_YET;
  }
}
