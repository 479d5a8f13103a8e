import { type AnswerWriter, MAX_NAME_BYTES, SECTION, type Section, TYPE } from '@kube-dns/wire';
import { IPV4_BYTES } from '../cluster/packed-addresses.js';
import { Locations } from './locations.js';
import type { ServiceAnswererOptions } from './service-answerer.js';
import type { ServiceQuestion } from './service-question.js';
import type { Shuffle } from './shuffle.js';
import { SRV_TARGET_OFFSET, SRV_TOTAL_WEIGHT, writeSrvHead } from './srv-record.js';

/**
 * Writes the records of single services, which most are: a cluster address of IPv4 and no other. Their name and
 * address come out of the block of the index where they were found, and no object is read but their ports.
 */
export class SingleServiceAnswerer {
  readonly #ttlSeconds: number;
  readonly #shuffle: Shuffle;
  readonly #locations = new Locations();
  readonly #srv = new Uint8Array(SRV_TARGET_OFFSET + MAX_NAME_BYTES);
  readonly #target = new Uint8Array(MAX_NAME_BYTES);
  readonly #address = new Uint8Array(IPV4_BYTES);

  constructor({ ttlSeconds, shuffle }: ServiceAnswererOptions) {
    this.#ttlSeconds = ttlSeconds;
    this.#shuffle = shuffle;
  }

  /** Writes the address; false when it did not fit. */
  answerAddress(
    question: ServiceQuestion,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): boolean {
    return this.#add(question, SECTION.ANSWER, owner, writer);
  }

  /** Writes the SRV records of the service, or of the port that is asked for, and its address; false when none fits. */
  answerLocations(
    question: ServiceQuestion,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): boolean {
    const before = writer.answerCount();
    const locations = this.#locations;
    locations.collect(question);
    const srv = this.#srv;
    const length = SRV_TARGET_OFFSET + question.writeName(srv, SRV_TARGET_OFFSET);
    const weight = Math.floor(SRV_TOTAL_WEIGHT / locations.count);
    for (let left = this.#shuffle.start(locations.count); left > 0; left--) {
      locations.locate(this.#shuffle.next(), question);
      writeSrvHead(srv, weight, locations.port);
      if (!writer.add(SECTION.ANSWER, owner, TYPE.SRV, this.#ttlSeconds, srv, length)) break;
    }
    if (writer.answerCount() === before) return false;
    question.writeName(this.#target, 0);
    this.#add(question, SECTION.ADDITIONAL, this.#target, writer);
    return true;
  }

  #add(
    question: ServiceQuestion,
    section: Section,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): boolean {
    question.copyAddress(this.#address);
    return writer.add(section, owner, TYPE.A, this.#ttlSeconds, this.#address);
  }
}
