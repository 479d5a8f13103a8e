import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { addressBytes, addressText, readUint16, writeUint16 } from '@kube-dns/wire';
import type { Peer } from '../udp-engine.js';
import { AF_INET, AF_INET6 } from './constants.js';
import { type MessageArena, NAME_WORDS, PACKET_INFO_WORDS } from './message-arena.js';

const IPV4_CONTROL_BYTES = 32;
/** Words of a struct in_pktinfo and in6_pktinfo, after their header of four. */
const IPV4_INTERFACE = 4;
const IPV6_ADDRESS = 4;
const IPV6_INTERFACE = 8;
/** fe80::/10, as the first two bytes of a little-endian word. */
const LINK_LOCAL_MASK = 0xc0ff;
const LINK_LOCAL = 0x80fe;
/** Words of a struct sockaddr_in and sockaddr_in6. */
const FAMILY_MASK = 0xffff;
const IPV4_NAME_WORD = 1;
const IPV6_NAME_WORD = 2;
const SCOPE_WORD = 6;
/** The third word of ::ffff:0:0/96, as a signed number. */
const MAPPED_WORD = -0x1_0000;

/**
 * The other end of a datagram: its address and, as a control message, the address that a query was sent
 * to, which becomes the source of the answer. Either in the arena of received messages, or a copy.
 */
export class BatchPeer implements Peer {
  #words: Int32Array;
  #nameLengthAt = 0;
  #nameAt = 0;
  #controlLengthAt = 0;
  #controlAt = 0;

  private constructor(words: Int32Array) {
    this.#words = words;
  }

  /** Represents the sender in a slot of an arena, see `pointTo`. */
  static inArena(arena: MessageArena): BatchPeer {
    return new BatchPeer(arena.words);
  }

  /** One with its own memory, see `copyFrom`. */
  static copy(): BatchPeer {
    const peer = new BatchPeer(new Int32Array(2 + NAME_WORDS + PACKET_INFO_WORDS));
    peer.#controlLengthAt = 1;
    peer.#nameAt = 2;
    peer.#controlAt = peer.#nameAt + NAME_WORDS;
    return peer;
  }

  get isIpv4(): boolean {
    return (this.#words[this.#nameAt]! & FAMILY_MASK) === AF_INET;
  }

  get address(): string {
    return texts.of(this.#words, this.#nameAt);
  }

  get port(): number {
    // After the family, in the order of the network; the machine is little-endian here.
    const word = this.#words[this.#nameAt]!;
    return ((word >>> 8) & 0xff00) | (word >>> 24);
  }

  /** Writes the bytes of the address, 4 or 16, at `at`, and returns how many; IPv4 in IPv6 is IPv4. */
  copyAddress(to: Uint8Array, at: number): number {
    const words = this.#words;
    const ipv6At = this.#nameAt + IPV6_NAME_WORD;
    if (this.isIpv4) {
      copyWord(words[this.#nameAt + IPV4_NAME_WORD]!, to, at);
      return 4;
    }
    if (words[ipv6At] === 0 && words[ipv6At + 1] === 0 && words[ipv6At + 2] === MAPPED_WORD) {
      copyWord(words[ipv6At + 3]!, to, at);
      return 4;
    }
    for (let i = 0; i < 4; i++) copyWord(words[ipv6At + i]!, to, at + 4 * i);
    return 16;
  }

  pointTo(arena: MessageArena, slot: number): void {
    this.#nameLengthAt = arena.nameLengthAt(slot);
    this.#nameAt = arena.nameAt(slot);
    this.#controlLengthAt = arena.controlLengthAt(slot);
    this.#controlAt = arena.controlAt(slot);
  }

  /** Sets the destination; the system chooses the source. */
  setName(name: Uint8Array): void {
    this.#words[this.#nameLengthAt] = name.length;
    this.#words[this.#controlLengthAt] = 0;
    new Uint8Array(this.#words.buffer, this.#nameAt * 4).set(name);
  }

  copyFrom(other: BatchPeer): void {
    const words = this.#words;
    const from = other.#words;
    words[this.#nameLengthAt] = from[other.#nameLengthAt]!;
    words[this.#controlLengthAt] = from[other.#controlLengthAt]!;
    for (let i = 0; i < NAME_WORDS; i++) words[this.#nameAt + i] = from[other.#nameAt + i]!;
    if (from[other.#controlLengthAt] === 0) return;
    for (let i = 0; i < PACKET_INFO_WORDS; i++)
      words[this.#controlAt + i] = from[other.#controlAt + i]!;
  }

  /** Addresses the message in a slot; its source is the address that the query was sent to. */
  addressMessage(arena: MessageArena, slot: number): void {
    const { words } = arena;
    const from = this.#words;
    words[arena.nameLengthAt(slot)] = from[this.#nameLengthAt]!;
    const nameAt = arena.nameAt(slot);
    for (let i = 0; i < NAME_WORDS; i++) words[nameAt + i] = from[this.#nameAt + i]!;
    const controlBytes = from[this.#controlLengthAt]!;
    words[arena.controlLengthAt(slot)] = controlBytes;
    if (controlBytes === 0) return;
    const controlAt = arena.controlAt(slot);
    for (let i = 0; i < PACKET_INFO_WORDS; i++) words[controlAt + i] = from[this.#controlAt + i]!;
    leaveRouteOpen(words, controlAt, controlBytes);
  }
}

/** Four bytes of the network in a word of this machine, which is little-endian here. */
function copyWord(word: number, to: Uint8Array, at: number): void {
  to[at] = word;
  to[at + 1] = word >>> 8;
  to[at + 2] = word >>> 16;
  to[at + 3] = word >>> 24;
}

/** The route decides on the interface, except for a link-local address. */
function leaveRouteOpen(words: Int32Array, controlAt: number, controlBytes: number): void {
  if (controlBytes === IPV4_CONTROL_BYTES) words[controlAt + IPV4_INTERFACE] = 0;
  else if ((words[controlAt + IPV6_ADDRESS]! & LINK_LOCAL_MASK) !== LINK_LOCAL) {
    words[controlAt + IPV6_INTERFACE] = 0;
  }
}

/** The place of the first word of the address in the socket name at this word. */
export function sourceStartAt(words: Int32Array, nameAt: number): number {
  const isIpv4 = (words[nameAt]! & FAMILY_MASK) === AF_INET;
  return nameAt + (isIpv4 ? IPV4_NAME_WORD : IPV6_NAME_WORD);
}

const SLOT_BITS = 10;
/** Of a socket name: the family, and the words of an address. */
const TEXT_WORDS = 5;

/**
 * The texts of the addresses in socket names. That of a client that was seen a moment ago is not built again: each
 * address has one slot, which it shares with others.
 */
export class AddressTexts {
  readonly #words = new Int32Array(TEXT_WORDS << SLOT_BITS);
  readonly #texts: string[] = new Array<string>(1 << SLOT_BITS).fill('');

  /** The text of the address in the socket name at this word. */
  of(words: Int32Array, nameAt: number): string {
    const family = words[nameAt]! & FAMILY_MASK;
    const isIpv4 = family === AF_INET;
    // The name of an interface can change.
    if (!isIpv4 && words[nameAt + SCOPE_WORD] !== 0) return textAt(words, nameAt);
    const at = nameAt + (isIpv4 ? IPV4_NAME_WORD : IPV6_NAME_WORD);
    const first = words[at]!;
    const second = isIpv4 ? 0 : words[at + 1]!;
    const third = isIpv4 ? 0 : words[at + 2]!;
    const last = isIpv4 ? 0 : words[at + 3]!;
    const slot = Math.imul(first ^ second ^ third ^ last, 0x9e37_79b1) >>> (32 - SLOT_BITS);
    const cached = this.#words;
    const cachedAt = slot * TEXT_WORDS;
    const isCached =
      cached[cachedAt] === family &&
      cached[cachedAt + 1] === first &&
      cached[cachedAt + 2] === second &&
      cached[cachedAt + 3] === third &&
      cached[cachedAt + 4] === last;
    if (isCached) return this.#texts[slot]!;
    cached[cachedAt] = family;
    cached[cachedAt + 1] = first;
    cached[cachedAt + 2] = second;
    cached[cachedAt + 3] = third;
    cached[cachedAt + 4] = last;
    return (this.#texts[slot] = textAt(words, nameAt));
  }
}

const texts = new AddressTexts();

/** The text of the address in a socket name at the start of these words, where IPv4 in IPv6 becomes IPv4. */
export function clientText(words: Int32Array): string {
  const at = IPV6_NAME_WORD;
  const isMapped = words[at] === 0 && words[at + 1] === 0 && words[at + 2] === MAPPED_WORD;
  if (isMapped && (words[0]! & FAMILY_MASK) === AF_INET6) {
    words[0] = (words[0]! & ~FAMILY_MASK) | AF_INET;
    words[IPV4_NAME_WORD] = words[at + 3]!;
  }
  return texts.of(words, 0);
}

function textAt(words: Int32Array, nameAt: number): string {
  return addressOf(new Uint8Array(words.buffer, words.byteOffset + nameAt * 4, MAX_NAME_BYTES));
}

/** struct sockaddr_in6, the longer of the two. */
export const MAX_NAME_BYTES = 28;
const IPV4_NAME_BYTES = 16;
const PORT_AT = 2;
const IPV4_AT = 4;
const IPV6_AT = 8;
const SCOPE_AT = 24;

/** A struct sockaddr_in or sockaddr_in6; an IPv4 address for an IPv6 socket is mapped (RFC 4291 section 2.5.5.2). */
export function encodeSocketName(address: string, port: number, isIpv6Socket: boolean): Uint8Array {
  const [host = '', scope = ''] = address.split('%');
  const bytes = addressBytes(isIpv6Socket && !isIPv6(host) ? `::ffff:${host}` : host);
  const isIpv6 = bytes.length === 16;
  const name = new Uint8Array(isIpv6 ? MAX_NAME_BYTES : IPV4_NAME_BYTES);
  // The family is in the order of the machine, which is little-endian here.
  name[0] = isIpv6 ? AF_INET6 : AF_INET;
  writeUint16(name, PORT_AT, port);
  name.set(bytes, isIpv6 ? IPV6_AT : IPV4_AT);
  if (isIpv6) new DataView(name.buffer).setUint32(SCOPE_AT, scopeNumber(scope), true);
  return name;
}

/** The port in a socket name. */
export function portOf(name: Uint8Array): number {
  return readUint16(name, PORT_AT);
}

/** The address in a socket name, as node:dgram writes it. */
export function addressOf(name: Uint8Array): string {
  if (name[0] === AF_INET) return addressText(name.subarray(IPV4_AT, IPV4_AT + 4));
  const address = addressText(name.subarray(IPV6_AT, SCOPE_AT));
  const scope = name[SCOPE_AT]! | (name[SCOPE_AT + 1]! << 8);
  return scope === 0 ? address : `${address}%${scopeName(scope)}`;
}

function scopeNumber(scope: string): number {
  if (/^\d*$/.test(scope)) return Number(scope);
  return networkInterfaces()[scope]?.find(({ scopeid }) => (scopeid ?? 0) > 0)?.scopeid ?? 0;
}

function scopeName(scope: number): string {
  for (const [name, addresses] of Object.entries(networkInterfaces())) {
    if (addresses?.some(({ scopeid }) => scopeid === scope) === true) return name;
  }
  return String(scope);
}
