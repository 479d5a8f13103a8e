import { BITS_PER_REVERSE_LABEL, encodeKey, parseAddress, reverseName } from '@kube-dns/wire';
import { OptionError } from '../errors.js';
import { wholeNumber } from './number-value.js';
import { parseServerRule, type ServerRule } from './server-value.js';

/**
 * Reads `IP[/bits],server`: the server answers for the reverse zones of the addresses, several zones
 * where the prefix ends inside a label. Throws an OptionError.
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
  const step = BITS_PER_REVERSE_LABEL[isIpv4 ? 'ipv4' : 'ipv6'];
  const whole = Math.ceil(bits / step) * step;
  return Array.from({ length: 2 ** (whole - bits) }, (_, i) =>
    reverseName(withLastBits(address, bits, whole, i), whole),
  );
}

/** The address with `value` in its bits from `from` to `to`; both are in one byte. */
function withLastBits(address: Uint8Array, from: number, to: number, value: number): Uint8Array {
  const changed = address.slice();
  if (to === from) return changed;
  const at = (to - 1) >> 3;
  const mask = (2 ** (to - from) - 1) << ((8 - (to % 8)) % 8);
  changed[at] = (changed[at]! & ~mask) | (value << ((8 - (to % 8)) % 8));
  return changed;
}
