import { parseAddress } from '@kube-dns/wire';
import { OptionError } from '../errors.js';
import type { InterfaceName } from './option-values.js';
import { nameOf } from './record-values.js';

/**
 * Reads `name,[IPv4],[IPv6],interface`: only the host part of each address is used, the network part is
 * the interface's. Throws an OptionError.
 */
export function parseDynamicHost([name = '', ...rest]: readonly string[]): InterfaceName {
  const addresses: Uint8Array[] = [];
  let device = rest.shift() ?? '';
  for (let next = rest.shift(); next !== undefined; next = rest.shift()) {
    const address = parseAddress(device);
    if (address === undefined) break;
    addresses.push(address);
    device = next;
  }
  if (addresses.length === 0) {
    throw new OptionError('it takes a part of an address', 'missing address in dynamic host');
  }
  const words = 'bad dynamic host';
  if (/^$|\/[46]$/.test(device)) throw new OptionError(`bad interface "${device}"`, words);
  // The last address of each family is used.
  const latest = new Map(addresses.map((address) => [address.length, address]));
  const hosts = [...latest.values()];
  return { name: nameOf(name, words).key, interface: device, families: 'both', hosts };
}
