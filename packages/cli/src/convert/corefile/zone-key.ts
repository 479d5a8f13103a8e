import { isIPv4 } from 'node:net';
import { addressBytes, reverseName } from '@kube-dns/wire';
import { plainDomain } from '../dns-setup.js';

/** The zone and the port of a server block. */
export interface ZoneKey {
  readonly zone: string;
  readonly port: number;
}

/**
 * Reads the key of a server block: `[dns://]zone[:port]`; the zone may be a network, for its reverse names.
 * Returns the reason as text when kube-dns cannot serve it.
 */
export function readKey(key: string): ZoneKey | string {
  const [, scheme = 'dns', rest = ''] = /^(?:(\w+):\/\/)?(.*)$/s.exec(key) ?? [];
  if (scheme !== 'dns') return `kube-dns does not speak ${scheme}`;
  const [, name = '', port = '53'] = /^(.*?)(?::(\d{1,5}))?$/s.exec(rest) ?? [];
  if (name.includes('/')) {
    const zone = reverseZone(name);
    return zone === undefined
      ? 'only networks of 8, 16 or 24 bits are one zone'
      : { zone, port: +port };
  }
  if (!/^[\w.*-]*$/.test(name)) return 'not a zone';
  return { zone: plainDomain(name), port: Number(port) };
}

function reverseZone(network: string): string | undefined {
  const [address = '', bits] = network.split('/', 2);
  const labels = Number(bits) / 8;
  if (!isIPv4(address) || ![1, 2, 3].includes(labels)) return undefined;
  return reverseName(addressBytes(address), Number(bits));
}
