import { encodeKey, parseAddress, reverseName, TYPE } from '@kube-dns/wire';
import type { Interfaces } from '../listen/listen-addresses.js';
import type { InterfaceName, LocalRecord } from '../options/record-values.js';

/**
 * The addresses of `--interface-name` and `--dynamic-host` and their reverse: those that the interface
 * has now, or hosts in its networks. Link-local ones are useless without their interface.
 */
export function interfaceRecords(named: InterfaceName, interfaces: Interfaces): LocalRecord[] {
  const { name, families, hosts } = named;
  return (interfaces[named.interface] ?? []).flatMap(({ address, family, netmask }) => {
    const own = parseAddress(address);
    const mask = parseAddress(netmask);
    const isWanted = families === 'both' || families === family.toLowerCase();
    if (own === undefined || mask === undefined || !isWanted || isLinkLocal(own)) return [];
    const host = hosts === undefined ? own : hosts.find(({ length }) => length === own.length);
    if (host === undefined) return [];
    const rdata = own.map((byte, i) => (byte & mask[i]!) | (host[i]! & ~mask[i]!));
    const type = rdata.length === 4 ? TYPE.A : TYPE.AAAA;
    return [
      { owner: name, type, ttlSeconds: undefined, rdata },
      {
        owner: encodeKey(reverseName(rdata)),
        type: TYPE.PTR,
        ttlSeconds: undefined,
        rdata: name,
        isReverseOfHost: true,
      },
    ];
  });
}

function isLinkLocal(address: Uint8Array): boolean {
  return address.length === 16 && address[0] === 0xfe && (address[1]! & 0xc0) === 0x80;
}
