import { encodeRdata, readUint32, writeUint32 } from '@kube-dns/wire';

const SOA_TIMES = { refresh: 28_800, retry: 7_200, expire: 604_800 };
/** The serial is the first of five 32-bit numbers at the end of the rdata. */
const SERIAL_FROM_END = 20;

/** The data of the SOA of a zone, whose name has no final dot; `negativeTtlSeconds` is its minimum. */
function encodeSoa(domain: string, negativeTtlSeconds: number, serial: number): Uint8Array {
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

export interface SoaOptions {
  /** With or without a final dot. */
  readonly domain: string;
  /** The minimum, in seconds. */
  readonly negativeTtlSeconds: number;
  readonly now?: (() => number) | undefined;
}

/**
 * The SOA of a zone. Its serial is the time of the last change, in seconds since the epoch; more, where a secondary was told
 * that one already. So it rises with each change that a secondary could tell from the one before, and not with each of the
 * thousands of one second: after a restart it would be in the past of what secondaries have. It never decreases when the
 * clock does.
 */
export class SoaRecord {
  /** Changed in place. */
  readonly rdata: Uint8Array;
  readonly #now: () => number;
  /** The serial that a secondary was told last. */
  #toldSerial = 0;

  constructor({ domain, negativeTtlSeconds, now = Date.now }: SoaOptions) {
    this.#now = now;
    this.rdata = encodeSoa(domain.replace(/\.$/, ''), negativeTtlSeconds, 0);
    this.change();
  }

  get serial(): number {
    return readUint32(this.rdata, this.rdata.length - SERIAL_FROM_END);
  }

  /** Notes a change of the zone's content. */
  change(): void {
    const now = Math.floor(this.#now() / 1_000);
    const serial = Math.max(now, this.serial, this.#toldSerial + 1);
    writeUint32(this.rdata, this.rdata.length - SERIAL_FROM_END, serial);
  }

  /** A copy of the data for a secondary: the next change has a newer serial. */
  tell(): Uint8Array {
    this.#toldSerial = this.serial;
    return this.rdata.slice();
  }
}
