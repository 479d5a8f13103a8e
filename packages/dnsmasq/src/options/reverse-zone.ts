import { encodeKey } from '@kube-dns/wire';
import { OptionError } from '../errors.js';
import { parseAddress } from './address-range.js';
import { wholeNumber } from './number-value.js';
import { parseServerRule, type ServerRule } from './server-value.js';

/** As many bits as a label of a reverse name stands for. */
const BITS_PER_LABEL = { ipv4: 8, ipv6: 4 } as const;

/** The reverse name of an address in wire form, lower-cased; as `1.2.0.192.in-addr.arpa`. */
export function reverseName(address: Uint8Array): Uint8Array {
  return encodeKey(reverseText(address, address.length * 8));
}

/**
 * Reads `IP[/bits],server`: the reverse zones of the addresses go to the server, as many zones as it
 * takes where the prefix ends inside a label. Throws an OptionError.
 */
export function parseReverseServer(value: string): ServerRule {
  const comma = value.indexOf(',');
  const range = comma < 0 ? value : value.slice(0, comma);
  const { target } = parseServerRule(comma < 0 ? '' : value.slice(comma + 1).trim());
  return { domains: reverseZones(range.trim()).map((zone) => encodeKey(zone)), target };
}

function reverseZones(text: string): string[] {
  const [addressText = '', bitsText] = text.split('/', 2);
  const address = parseAddress(addressText);
  if (address === undefined) throw new OptionError(`bad address ${JSON.stringify(addressText)}`);
  const isIpv4 = address.length === 4;
  const most = address.length * 8;
  const words = `bad ${isIpv4 ? 'IPv4' : 'IPv6'} prefix length`;
  const bits = bitsText === undefined ? most : wholeNumber(bitsText, most, words);
  if (bits === 0) throw new OptionError('a prefix of 0 bits is every name', words);
  const step = isIpv4 ? BITS_PER_LABEL.ipv4 : BITS_PER_LABEL.ipv6;
  const whole = Math.ceil(bits / step) * step;
  return Array.from({ length: 2 ** (whole - bits) }, (_, i) =>
    reverseText(withLastBits(address, bits, whole, i), whole),
  );
}

/** The address whose bits from `from` to `to` say `value`; the two lie in one byte. */
function withLastBits(address: Uint8Array, from: number, to: number, value: number): Uint8Array {
  const changed = address.slice();
  if (to === from) return changed;
  const at = (to - 1) >> 3;
  const mask = (2 ** (to - from) - 1) << ((8 - (to % 8)) % 8);
  changed[at] = (changed[at]! & ~mask) | (value << ((8 - (to % 8)) % 8));
  return changed;
}

function reverseText(address: Uint8Array, bits: number): string {
  if (address.length === 4) {
    const labels = [...address.subarray(0, bits / BITS_PER_LABEL.ipv4)].reverse();
    return `${labels.join('.')}.in-addr.arpa`;
  }
  const digits = Buffer.from(address)
    .toString('hex')
    .slice(0, bits / BITS_PER_LABEL.ipv6);
  return `${Array.from(digits).reverse().join('.')}.ip6.arpa`;
}
