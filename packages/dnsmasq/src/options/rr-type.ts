import { typeName as nameOf, typeNumber } from '@kube-dns/wire';
import { OptionError } from '../errors.js';

const MAX_TYPE = 65_535;
/** How RFC 3597 writes a type without a name, which dnsmasq does not read. */
const NUMBERED = /^type/i;

/** The number of a type that is given by name, in any case, or by number. Throws an OptionError. */
export function parseType(text: string, words: string): number {
  const named = NUMBERED.test(text) ? undefined : typeNumber(text);
  const number = named ?? (/^[0-9]{1,5}$/.test(text) ? Number(text) : 0);
  if (number < 1 || number > MAX_TYPE) {
    throw new OptionError(`unknown record type ${JSON.stringify(text)}`, words);
  }
  return number;
}

/** The name of a type as dnsmasq logs it; `type=65535` for one without. */
export function typeName(type: number): string {
  return nameOf(type) ?? `type=${type}`;
}
