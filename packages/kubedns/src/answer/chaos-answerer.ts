import {
  type AnswerWriter,
  encodeKey,
  encodeRdata,
  NameTable,
  type Query,
  RCODE,
  SECTION,
  TYPE,
} from '@kube-dns/wire';
import { NOT_OURS } from './explanations.js';

export interface ChaosFacts {
  /** As `kube-dns 1.2.3`. */
  readonly version: string;
  /** The host name, in a cluster the pod's name. */
  readonly hostname: string;
}

/** Answers about this server must not be cached. */
const TTL_SECONDS = 0;

/** Answers the questions of class CHAOS that servers are asked about themselves (RFC 4892). */
export class ChaosAnswerer {
  readonly #texts = new NameTable<Uint8Array>();

  constructor({ version, hostname }: ChaosFacts) {
    for (const name of ['version.bind', 'version.server']) this.#add(name, version);
    for (const name of ['hostname.bind', 'id.server']) this.#add(name, hostname);
  }

  /** Answers; the writer has begun. Other names are refused: this server has no such zone. */
  answer(query: Query, writer: AnswerWriter): void {
    const text = this.#texts.get(query.name, 0, query.nameLength);
    if (text === undefined) {
      writer.setRcode(RCODE.REFUSED, NOT_OURS);
      return;
    }
    writer.setAuthoritative();
    // Another type of these names is NODATA.
    if (query.type !== TYPE.TXT && query.type !== TYPE.ANY) return;
    writer.add(SECTION.ANSWER, undefined, TYPE.TXT, TTL_SECONDS, text);
  }

  #add(name: string, text: string): void {
    this.#texts.set(encodeKey(name), encodeRdata({ type: 'TXT', name, data: text }));
  }
}
