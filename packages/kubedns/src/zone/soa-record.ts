import { encodeRdata, readUint32, writeUint32 } from '@kube-dns/wire';

const SOA_TIMES = { refresh: 28_800, retry: 7_200, expire: 604_800 };
/** The serial is the first of five 32-bit numbers at the end of the rdata. */
const SERIAL_FROM_END = 20;

/** The data of the SOA of a zone, whose name has no final dot; `negativeTtlSeconds` is its minimum. */
export function encodeSoa(domain: string, negativeTtlSeconds: number, serial: number): Uint8Array {
  return encodeRdata({
    type: 'SOA',
    name: domain,
    data: {
      ...SOA_TIMES,
      mname: `ns.dns.${domain}`,
      rname: `hostmaster.${domain}`,
      serial,
      minimum: negativeTtlSeconds,
    },
  });
}

export function serialOf(soaRdata: Uint8Array): number {
  return readUint32(soaRdata, soaRdata.length - SERIAL_FROM_END);
}

export function setSerial(soaRdata: Uint8Array, serial: number): void {
  writeUint32(soaRdata, soaRdata.length - SERIAL_FROM_END, serial);
}

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
    this.#rdata = encodeSoa(domain, negativeTtlSeconds, Math.floor(now() / 1000));
  }

  /** Notes a change of the zone's content. */
  change(): void {
    this.#isChanged = true;
  }

  get rdata(): Uint8Array {
    if (this.#isChanged) {
      this.#isChanged = false;
      const serial = Math.max(Math.floor(this.#now() / 1000), this.serial + 1);
      setSerial(this.#rdata, serial);
    }
    return this.#rdata;
  }

  get serial(): number {
    return serialOf(this.#rdata);
  }
}
