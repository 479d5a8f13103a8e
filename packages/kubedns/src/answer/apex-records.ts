import { type AnswerWriter, prependLabels, SECTION, type Section, TYPE } from '@kube-dns/wire';
import { addressType } from '../zone/zone-names.js';

export interface ApexRecordsOptions {
  /** The name of the zone, lower-cased in wire form. */
  readonly apex: Uint8Array;
  readonly ttlSeconds: number;
  /** The addresses of this server, 4 or 16 bytes each. */
  readonly serverAddresses: () => readonly Uint8Array[];
}

/** The records of the name of a zone, SOA and NS, and those of its name server, `ns.dns` below it. */
export class ApexRecords {
  readonly #options: ApexRecordsOptions;
  readonly #nameServer: Uint8Array;

  constructor(options: ApexRecordsOptions) {
    this.#options = options;
    this.#nameServer = prependLabels(['ns', 'dns'], options.apex);
  }

  /** Adds those of the zone's name; false where it has none of the type. */
  add(
    type: number,
    soaRdata: Uint8Array,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): boolean {
    const { ttlSeconds } = this.#options;
    if (type === TYPE.SOA || type === TYPE.ANY) {
      writer.add(SECTION.ANSWER, owner, TYPE.SOA, ttlSeconds, soaRdata);
      return true;
    }
    if (type !== TYPE.NS) return false;
    writer.add(SECTION.ANSWER, owner, TYPE.NS, ttlSeconds, this.#nameServer);
    this.#addAddresses(SECTION.ADDITIONAL, TYPE.ANY, this.#nameServer, writer);
    return true;
  }

  /** Adds those of the name server; false where it has none of the type. */
  addServer(type: number, owner: Uint8Array | undefined, writer: AnswerWriter): boolean {
    return this.#addAddresses(SECTION.ANSWER, type, owner, writer);
  }

  #addAddresses(
    section: Section,
    type: number,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): boolean {
    let isAny = false;
    for (const address of this.#options.serverAddresses()) {
      const own = addressType(address.length);
      if (type !== TYPE.ANY && type !== own) continue;
      isAny = true;
      writer.add(section, owner, own, this.#options.ttlSeconds, address);
    }
    return isAny;
  }
}
