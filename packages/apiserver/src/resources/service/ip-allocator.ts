import { formatIp, isInRange, parseIp, type IpRange } from '../ip.js';

/** Allocates the addresses of one range, each to one service at a time. */
export class IpAllocator {
  readonly range: IpRange;
  readonly #usable: bigint;
  readonly #used = new Set<bigint>();
  /** Offset of the first address for services that request none. */
  readonly #dynamicStart: bigint;
  #next: bigint;
  #proposed: bigint | undefined;

  constructor(range: IpRange) {
    this.range = range;
    // The network address is never allocated, nor the broadcast address of an IPv4 range.
    this.#usable = range.size - (range.family === 'IPv4' ? 2n : 1n);
    this.#dynamicStart = dynamicStart(range.size);
    this.#next = this.#dynamicStart;
  }

  /** The first address of the range. */
  get first(): string {
    return formatIp({ family: this.range.family, value: this.range.base + 1n });
  }

  /** Why an address cannot be allocated, or undefined when it can. */
  refuse(address: string): string | undefined {
    const ip = parseIp(address);
    const isUsable =
      ip && isInRange(ip, this.range) && this.#isOffsetUsable(ip.value - this.range.base);
    if (!isUsable) {
      return `provided IP is not in the valid range. The range of valid IPs is ${this.range.text}`;
    }
    return this.#used.has(ip.value) ? 'provided IP is already allocated' : undefined;
  }

  /**
   * A free address, or undefined when none is left; `take` allocates it. Addresses are proposed in
   * order, and released ones not before the end of the range is reached.
   */
  propose(): string | undefined {
    for (let tried = 0n; tried <= BigInt(this.#used.size); tried++) {
      const offset = this.#wrap(this.#next + tried);
      const value = this.range.base + offset;
      if (!this.#used.has(value)) {
        this.#proposed = value;
        return formatIp({ family: this.range.family, value });
      }
    }
    return undefined;
  }

  /** Allocates an address. */
  take(address: string): void {
    const value = parseIp(address)!.value;
    this.#used.add(value);
    if (value === this.#proposed) this.#next = value - this.range.base + 1n;
  }

  /** Releases an address. */
  release(address: string): void {
    this.#used.delete(parseIp(address)!.value);
  }

  #isOffsetUsable(offset: bigint): boolean {
    return offset >= 1n && offset <= this.#usable;
  }

  #wrap(offset: bigint): bigint {
    return ((offset - 1n) % this.#usable) + 1n;
  }
}

/**
 * The lower part of a range is reserved for addresses that services request.
 * Source: KEP-3070, min(max(16, size/16), 256).
 */
function dynamicStart(size: bigint): bigint {
  const part = size / 16n;
  const band = part < 16n ? 16n : part > 256n ? 256n : part;
  return band < size - 2n ? band + 1n : 1n;
}
