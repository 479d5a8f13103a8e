import { addressText, decodeName, typeText } from '@kube-dns/wire';
import { countOf, type PackedAddresses, type Port } from '../watch/projections.js';

/** More items of a list than this are counted. */
const MAX_LISTED = 10;

/** `1 endpoint`, `2 endpoints`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** `a, b and c`; after ten of them, how many more there are. */
export function listed(texts: readonly string[], last = 'and'): string {
  const shown = texts.slice(0, MAX_LISTED);
  const more = texts.length - shown.length;
  if (more > 0) return `${shown.join(', ')} ${last} ${more} more`;
  if (shown.length < 2) return shown.join('');
  return `${shown.slice(0, -1).join(', ')} ${last} ${shown.at(-1)!}`;
}

/** `a` or `an`, with the name of a type. */
export function recordOf(type: number): string {
  const text = typeText(type);
  return `${/^(?:A|MX|NS|SRV|SOA|NAPTR|HTTPS)/.test(text) ? 'an' : 'a'} ${text} record`;
}

/** The texts of packed addresses. */
export function addressesOf(packed: PackedAddresses): string[] {
  return Array.from({ length: countOf(packed) }, (_, i) => addressAt(packed, i));
}

export function addressAt({ size, bytes }: PackedAddresses, index: number): string {
  return addressText(Buffer.from(bytes.slice(index * size, (index + 1) * size), 'latin1'));
}

/** `http (TCP 80)`. */
export function portText({ name, protocol, port }: Port): string {
  return `${name === '' ? 'unnamed' : name} (${protocol.toUpperCase()} ${port})`;
}

/** A lower-cased name in wire form, or a label of it, as it can be shown. */
export function nameText(name: Uint8Array, start = 0): string {
  return decodeName(name, start);
}
