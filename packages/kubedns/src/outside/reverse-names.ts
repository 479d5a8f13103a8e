import { type AnswerWriter, encodeReverseName, NameTable, SECTION, TYPE } from '@kube-dns/wire';
import type { HostRecords, PackedAddresses } from '../watch/projections.js';

/** More names than fit into an answer over UDP. */
const MAX_NAMES = 64;

/** The names of addresses, found by their reverse names. */
export class ReverseNames {
  readonly #table = new NameTable<Uint8Array[]>();
  #found: readonly Uint8Array[] = [];

  get size(): number {
    return this.#table.size;
  }

  *names(): Generator<Uint8Array> {
    for (const [reverse] of this.#table.entries()) yield reverse;
  }

  /** Whether a lower-cased name is the reverse name of one of the addresses. */
  find(name: Uint8Array, length: number): boolean {
    const found = this.#table.get(name, 0, length);
    if (found === undefined) return false;
    this.#found = found;
    return true;
  }

  /** Writes the PTR records of the name that was found; false for another type. */
  answer(
    type: number,
    ttlSeconds: number,
    writer: AnswerWriter,
    owner: Uint8Array | undefined,
  ): boolean {
    if (type !== TYPE.PTR && type !== TYPE.ANY) return false;
    for (const name of this.#found) {
      if (!writer.add(SECTION.ANSWER, owner, TYPE.PTR, ttlSeconds, name)) break;
    }
    return true;
  }

  add(reverse: Uint8Array, name: Uint8Array): void {
    const names = this.#table.get(reverse, 0, reverse.length);
    if (names === undefined) this.#table.set(reverse, [name]);
    else if (names.length < MAX_NAMES && !names.some((each) => isSame(each, name))) {
      names.push(name);
      // The order must not depend on that of events.
      names.sort((left, right) => Buffer.compare(left, right));
    }
  }

  remove(reverse: Uint8Array, name: Uint8Array): void {
    const names = this.#table.get(reverse, 0, reverse.length);
    const at = names?.findIndex((each) => isSame(each, name)) ?? -1;
    if (names === undefined || at < 0) return;
    names.splice(at, 1);
    if (names.length === 0) this.#table.delete(reverse);
  }
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0;
}

/** Calls with each address. */
export function eachAddress(
  { ipv4, ipv6 }: Pick<HostRecords, 'ipv4' | 'ipv6'>,
  look: (address: Uint8Array) => void,
): void {
  eachOf(ipv4, look);
  eachOf(ipv6, look);
}

function eachOf({ size, bytes }: PackedAddresses, look: (address: Uint8Array) => void): void {
  for (let at = 0; at < bytes.length; at += size) {
    look(Buffer.from(bytes.slice(at, at + size), 'latin1'));
  }
}

/** The reverse names of addresses that no zone of the Internet has: RFC 1918, 4193, 6598, and link-local ones. */
export function privateReverseNames(records: HostRecords): Uint8Array[] {
  const names: Uint8Array[] = [];
  eachAddress(records, (address) => {
    if (isPrivate(address)) names.push(encodeReverseName(address));
  });
  return names;
}

function isPrivate(address: Uint8Array): boolean {
  const [first = 0, second = 0] = address;
  if (address.length > 4) return (first & 0xfe) === 0xfc || (first === 0xfe && second >= 0x80);
  if (first === 10) return true;
  if (first === 172) return second >= 16 && second < 32;
  if (first === 192) return second === 168;
  if (first === 169) return second === 254;
  return first === 100 && second >= 64 && second < 128;
}
