import {
  finishHash,
  hashByte,
  MAX_NAME_BYTES,
  type Query,
  QUESTION_FIXED_BYTES,
  randomSeed,
  writeUint16,
} from '@kube-dns/wire';

/** The variant of a question that is asked for one client alone. */
export const UNSHARED = -1;
/** Bits beside the header's flags. */
const IS_DNSSEC_OK = 1;
const IS_OVER_TCP = 2;

/** What tells questions of one name, type and class apart. */
export interface QuestionVariant {
  /** What changes an answer: header bits, DO, the transport; UNSHARED where no other client may join. */
  readonly variant: number;
  /** The EDNS options that the question is sent with. */
  readonly options: Uint8Array;
}

/**
 * What makes two queries the same question: name in any case, type, class, RD, CD, DO, transport, and the EDNS
 * options that this server adds. What else a client sends does not leave, so it makes no difference.
 */
export class QuestionKey implements QuestionVariant {
  /** Name in lower case, type and class; valid up to `length`. */
  readonly question = new Uint8Array(MAX_NAME_BYTES + QUESTION_FIXED_BYTES);
  length = 0;
  /** Of name and type, with a secret start. */
  hash = 0;
  variant = 0;
  options: Uint8Array = this.question;
  readonly #seed = randomSeed();

  /** Builds the key of a query that is sent with these header bits and options. */
  fill(query: Query, flags: number, options: Uint8Array): void {
    const { question } = this;
    const { name, nameLength } = query;
    let hash = this.#seed;
    for (let i = 0; i < nameLength; i++) {
      const byte = name[i]!;
      question[i] = byte;
      hash = hashByte(hash, byte);
    }
    writeUint16(question, nameLength, query.type);
    writeUint16(question, nameLength + 2, query.class);
    this.hash = finishHash(hashByte(hash, query.type));
    this.length = nameLength + QUESTION_FIXED_BYTES;
    this.options = options;
    this.variant = query.hasOtherRecords
      ? UNSHARED
      : flags | (query.isDnssecOk ? IS_DNSSEC_OK : 0) | (query.isOverTcp ? IS_OVER_TCP : 0);
  }

  /** Whether a question of the same name, type and class is the same in all else, and may be shared. */
  isOf({ variant, options }: QuestionVariant): boolean {
    if (variant === UNSHARED || variant !== this.variant) return false;
    return options === this.options || Buffer.compare(options, this.options) === 0;
  }
}
