import { encodeRdata, readUint32, writeUint32 } from '@kube-dns/wire';

const SOA_TIMES = { refresh: 28_800, retry: 7_200, expire: 604_800 };
/** The serial is the first of five 32-bit numbers at the end of the rdata. */
const SERIAL_FROM_END = 20;

export interface SoaOptions {
  /** Without a final dot. */
  readonly domain: string;
  /** The minimum, in seconds. */
  readonly negativeTtlSeconds: number;
  readonly now?: (() => number) | undefined;
}

/**
 * The SOA of a zone. Its serial is the time of the last change, and rises with each change that anyone could tell from the one
 * before: by one within a second, but not once for each of many changes that are not asked for.
 */
export class SoaRecord {
  readonly #rdata: Uint8Array;
  readonly #now: () => number;
  #isChanged = false;

  constructor({ domain, negativeTtlSeconds, now = Date.now }: SoaOptions) {
    this.#now = now;
    this.#rdata = encodeRdata({
      type: 'SOA',
      name: domain,
      data: {
        ...SOA_TIMES,
        mname: `ns.dns.${domain}`,
        rname: `hostmaster.${domain}`,
        serial: Math.floor(now() / 1000),
        minimum: negativeTtlSeconds,
      },
    });
  }

  /** Notes a change of the zone's content. */
  change(): void {
    this.#isChanged = true;
  }

  get rdata(): Uint8Array {
    if (this.#isChanged) {
      this.#isChanged = false;
      const serial = Math.max(Math.floor(this.#now() / 1000), this.serial + 1);
      writeUint32(this.#rdata, this.#rdata.length - SERIAL_FROM_END, serial);
    }
    return this.#rdata;
  }

  get serial(): number {
    return readUint32(this.#rdata, this.#rdata.length - SERIAL_FROM_END);
  }
}
