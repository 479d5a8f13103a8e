/** Opcodes of a classic BPF program (include/uapi/linux/bpf_common.h). */
export const BPF = {
  LOAD_WORD: 0x20,
  MULTIPLY: 0x24,
  TO_X: 0x07,
  XOR_X: 0xac,
  JUMP: 0x05,
  IF_EQUAL: 0x15,
  IF_GREATER: 0x25,
  IF_GREATER_OR_EQUAL: 0x35,
  RETURN: 0x06,
} as const;

/** Loads from here on are from the network header; this one is no load but a random number of the kernel (include/uapi/linux/filter.h). */
export const FROM_NETWORK = -0x10_0000;
export const RANDOM_NUMBER = -0x1000 + 56;
/** Of the source, in the headers of IPv4 and IPv6; of the latter the /64, which is two words. */
const IPV4_SOURCE = 12;
const IPV6_SOURCE = 8;

/** struct sock_filter: the opcode, two short jumps, and a number. */
const INSTRUCTION_BYTES = 8;
/** BPF_MAXINSNS */
const MAX_INSTRUCTIONS = 4_096;
const DROP = 0;
const PASS = 0xffff_ffff;
/**
 * The number of a socket of a port, in the order in which they were bound: the one for limited sources is that which gets all where
 * there is no program. Of IPv4 this is the last one, of IPv6 the first (net/ipv4/udp.c, udp_lib_get_port).
 */
function socketNumber(isForLimited: boolean, isIpv6: boolean): number {
  return isForLimited === isIpv6 ? 0 : 1;
}

/** Sources that are compared one after the other, at the ends of the tree. */
const LEAF = 8;

/** The most sources of one program: with the tree each takes 2.8 instructions at most, and each class four. */
export const MAX_LIMITED = 1_050;
/** Classes of sources: in sixteen steps what passes is halved. Class 0 is not limited. */
export const CLASSES = 256;
const CLASSES_PER_HALF = 16;

/** The part of the datagrams of a source of this class that passes. */
export function passingPart(limitClass: number): number {
  return 2 ** (-limitClass / CLASSES_PER_HALF);
}

/** The class in which about this part passes. */
export function classOf(part: number): number {
  const limitClass = Math.round(-CLASSES_PER_HALF * Math.log2(part));
  return Math.max(0, Math.min(CLASSES - 1, limitClass));
}

/** Makes the key of a source of its address: of IPv4 the address itself, of IPv6 a secret hash of the /64. */
export interface SourceKeys {
  readonly isIpv6: boolean;
  /** Odd numbers that no client knows: else it could choose addresses that have the key of another. */
  readonly first: number;
  readonly second: number;
}

/** The key of the source whose address starts with these numbers, as the program computes it: without a sign. */
export function keyOf(keys: SourceKeys, first: number, second: number): number {
  if (!keys.isIpv6) return first >>> 0;
  return (Math.imul(first, keys.first) ^ Math.imul(second, keys.second)) >>> 0;
}

/**
 * A classic BPF program that the kernel runs for each datagram before it takes a place in a socket. One for SO_ATTACH_FILTER
 * lets that of a listed source pass with the probability of its class, and every other one always; one for
 * SO_ATTACH_REUSEPORT_CBPF gives that of a listed source to one socket of the port, and every other one to the other.
 *
 *     load the key │ tree of comparisons, eight keys at each end │ of each class: a random number, pass or drop
 */
export class SourceFilter {
  readonly #keys: SourceKeys;
  /** Used again for each program; its address is valid as long as this object is. */
  readonly bytes = new Uint8Array(MAX_INSTRUCTIONS * INSTRUCTION_BYTES);
  readonly #view = new DataView(this.bytes.buffer);
  /** Of each class: its jumps are known when its part is written. */
  readonly #jumps: number[][] = Array.from({ length: CLASSES }, () => []);
  /** Instructions of the current program. */
  length = 0;

  constructor(keys: SourceKeys) {
    this.#keys = keys;
  }

  /** Writes the filter for sources in rising order of their keys, MAX_LIMITED at most, and their classes. */
  write(keys: ArrayLike<number>, classes: ArrayLike<number>, count: number): void {
    this.length = 0;
    this.#loadKey();
    this.#writeTree(keys, classes, 0, count, PASS);
    for (let limitClass = 1; limitClass < CLASSES; limitClass++) this.#writeClass(limitClass);
  }

  /** Writes the choice of a socket for such sources; `classes` are those of `write`. */
  writeChoice(keys: ArrayLike<number>, classes: ArrayLike<number>, count: number): void {
    this.length = 0;
    const { isIpv6 } = this.#keys;
    this.#loadKey();
    this.#writeTree(keys, classes, 0, count, socketNumber(false, isIpv6));
    for (const jumps of this.#jumps) this.#jumpAllHere(jumps);
    this.#add(BPF.RETURN, socketNumber(true, isIpv6));
  }

  /** Writes the choice of the socket for limited sources for all. */
  writeOneChoice(): void {
    this.length = 0;
    this.#add(BPF.RETURN, socketNumber(true, this.#keys.isIpv6));
  }

  #loadKey(): void {
    const { isIpv6, first, second } = this.#keys;
    if (!isIpv6) {
      this.#add(BPF.LOAD_WORD, FROM_NETWORK + IPV4_SOURCE);
      return;
    }
    this.#add(BPF.LOAD_WORD, FROM_NETWORK + IPV6_SOURCE);
    this.#add(BPF.MULTIPLY, first);
    this.#add(BPF.TO_X, 0);
    this.#add(BPF.LOAD_WORD, FROM_NETWORK + IPV6_SOURCE + 4);
    this.#add(BPF.MULTIPLY, second);
    this.#add(BPF.XOR_X, 0);
  }

  /** `other` is returned for a source that is not listed. */
  #writeTree(
    keys: ArrayLike<number>,
    classes: ArrayLike<number>,
    from: number,
    to: number,
    other: number,
  ): void {
    if (to - from <= LEAF) {
      for (let i = from; i < to; i++) {
        this.#add(BPF.IF_EQUAL, keys[i]!, 0, 1);
        this.#jumps[classes[i]!]!.push(this.length);
        this.#add(BPF.JUMP, 0);
      }
      this.#add(BPF.RETURN, other);
      return;
    }
    const middle = (from + to) >>> 1;
    // A conditional jump reaches 255 instructions; this one any.
    this.#add(BPF.IF_GREATER_OR_EQUAL, keys[middle]!, 0, 1);
    const jump = this.length;
    this.#add(BPF.JUMP, 0);
    this.#writeTree(keys, classes, from, middle, other);
    this.#jumpHere(jump);
    this.#writeTree(keys, classes, middle, to, other);
  }

  #writeClass(limitClass: number): void {
    const jumps = this.#jumps[limitClass]!;
    if (jumps.length === 0) return;
    this.#jumpAllHere(jumps);
    this.#add(BPF.LOAD_WORD, RANDOM_NUMBER);
    this.#add(BPF.IF_GREATER, Math.floor(passingPart(limitClass) * PASS), 1, 0);
    this.#add(BPF.RETURN, PASS);
    this.#add(BPF.RETURN, DROP);
  }

  #add(opcode: number, number: number, ifTrue = 0, ifFalse = 0): void {
    const at = this.length * INSTRUCTION_BYTES;
    this.#view.setUint16(at, opcode, true);
    this.#view.setUint8(at + 2, ifTrue);
    this.#view.setUint8(at + 3, ifFalse);
    this.#view.setUint32(at + 4, number, true);
    this.length++;
  }

  #jumpAllHere(jumps: number[]): void {
    for (const jump of jumps) this.#jumpHere(jump);
    jumps.length = 0;
  }

  #jumpHere(jump: number): void {
    this.#view.setUint32(jump * INSTRUCTION_BYTES + 4, this.length - jump - 1, true);
  }
}
