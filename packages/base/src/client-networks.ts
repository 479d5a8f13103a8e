import { BlockList, isIP, isIPv4 } from 'node:net';
import { quote } from './text.js';

/** Addresses and networks of clients that may do something. */
export class ClientNetworks {
  /** Those of them that are one address: with no bits, or with all. */
  readonly hosts: readonly string[];
  readonly #networks = new BlockList();

  /** Reads `IP[/bits][,IP[/bits]…]`. Throws an Error that names the part that is none. */
  constructor(text: string) {
    const hosts: string[] = [];
    for (const part of text.split(',')) {
      const [, address = '', bits] = /^([^/]*)(?:\/([0-9]{1,3}))?$/.exec(part.trim()) ?? [];
      const most = isIPv4(address) ? 32 : 128;
      if (isIP(address) === 0 || address.includes('%') || Number(bits ?? 0) > most) {
        throw new Error(`${quote(part.trim())} is not IP or IP/bits`);
      }
      this.#networks.addSubnet(address, Number(bits ?? most), familyOf(address));
      if (Number(bits ?? most) === most) hosts.push(address);
    }
    this.hosts = hosts;
  }

  /** Whether a client is in one of these; a zone in its address is ignored. */
  has(clientAddress: string): boolean {
    const address = clientAddress.replace(/%.*$/, '');
    return this.#networks.check(address, familyOf(address));
  }
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv4(address) ? 'ipv4' : 'ipv6';
}
