import { type AnswerWriter, MAX_NAME_BYTES, SECTION, TYPE } from '@kube-dns/wire';
import { IPV4_BYTES } from '../watch/projections.js';
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
    question.copyAddress(this.#address);
    return writer.add(SECTION.ANSWER, owner, TYPE.A, this.#ttlSeconds, this.#address);
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
    this.#addTarget(question, owner, writer);
    return true;
  }

  /** Adds the address of the target, whose name is the end of the question's, or of the owner's. */
  #addTarget(question: ServiceQuestion, owner: Uint8Array | undefined, writer: AnswerWriter): void {
    const address = this.#address;
    question.copyAddress(address);
    const { nameAt } = question;
    if (owner === undefined) {
      writer.addAbove(SECTION.ADDITIONAL, nameAt, TYPE.A, this.#ttlSeconds, address);
    } else {
      const target = owner.subarray(nameAt);
      writer.add(SECTION.ADDITIONAL, target, TYPE.A, this.#ttlSeconds, address);
    }
  }
}
