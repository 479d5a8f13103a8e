import { RecordCursor, SECTION, TYPE, writeUint16 } from '@kube-dns/wire';
import { withoutTypes } from './reply-edit.js';

/** What is left of an answer to ANY under `--filter-rr=ANY` (dnsmasq src/rrfilter.c). */
const ALLOWED_IN_ANY: ReadonlySet<number> = new Set([TYPE.A, TYPE.AAAA, TYPE.MX, TYPE.CNAME]);

/** The types of `--filter-A`, `--filter-AAAA` and `--filter-rr`, which no answer from upstream has. */
export class FilteredTypes {
  readonly #types: ReadonlySet<number>;
  readonly #cursor = new RecordCursor();
  /** An alias leads to what was asked for, so it is left out only where it is itself that. */
  readonly #isUnwanted = (type: number): boolean => type !== TYPE.CNAME && this.#types.has(type);
  readonly #isUnwantedAlias = (type: number): boolean => this.#types.has(type);
  readonly #isUnwantedInAny = (type: number): boolean =>
    this.#types.has(type) || !ALLOWED_IN_ANY.has(type);

  constructor(types: readonly number[]) {
    this.#types = new Set(types);
  }

  /** Tells whether records of this type must not be shown. */
  has(type: number): boolean {
    return this.#types.has(type);
  }

  /**
   * Cuts a cached answer to a question of this type behind its aliases, in place; returns its length,
   * which is as before where there is nothing to be cut: a denial says as much as it did.
   */
  cut(answer: Uint8Array, length: number, questionType: number): number {
    const cursor = this.#cursor.reset(answer, length);
    let { end } = cursor;
    let aliases = 0;
    while (cursor.next() && cursor.section === SECTION.ANSWER) {
      if (cursor.type === questionType) {
        writeUint16(answer, 6, aliases);
        return end;
      }
      ({ end } = cursor);
      aliases++;
    }
    return length;
  }

  /** A reply to a question of this type without the unwanted records; undefined when it is malformed. */
  apply(reply: Buffer, questionType: number): Buffer | undefined {
    if (this.#types.size === 0) return reply;
    if (questionType === TYPE.CNAME) return withoutTypes(reply, this.#isUnwantedAlias);
    const isAny = questionType === TYPE.ANY && this.#types.has(TYPE.ANY);
    return withoutTypes(reply, isAny ? this.#isUnwantedInAny : this.#isUnwanted);
  }
}
