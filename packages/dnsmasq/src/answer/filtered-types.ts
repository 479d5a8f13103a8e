import { RecordCursor, SECTION, TYPE, writeUint16 } from '@kube-dns/wire';
import { withoutTypes } from './reply-edit.js';

/** The types in an answer to ANY with `--filter-rr=ANY` (dnsmasq src/rrfilter.c). */
const ALLOWED_IN_ANY: ReadonlySet<number> = new Set([TYPE.A, TYPE.AAAA, TYPE.MX, TYPE.CNAME]);

/** The types of `--filter-A`, `--filter-AAAA` and `--filter-rr`, which are removed from answers from upstream. */
export class FilteredTypes {
  readonly #types: ReadonlySet<number>;
  readonly #cursor = new RecordCursor();
  /** A CNAME leads to the requested records, so it is removed only when it was asked for itself. */
  readonly #isUnwanted = (type: number): boolean => type !== TYPE.CNAME && this.#types.has(type);
  readonly #isUnwantedCname = (type: number): boolean => this.#types.has(type);
  readonly #isUnwantedInAny = (type: number): boolean =>
    this.#types.has(type) || !ALLOWED_IN_ANY.has(type);

  constructor(types: readonly number[]) {
    this.#types = new Set(types);
  }

  /** Whether records of this type are removed. */
  has(type: number): boolean {
    return this.#types.has(type);
  }

  /**
   * Cuts a cached answer to a question of this type after its CNAMEs, in place, and returns its length. A
   * negative answer stays unchanged.
   */
  cut(answer: Uint8Array, length: number, questionType: number): number {
    const cursor = this.#cursor.reset(answer, length);
    let { end } = cursor;
    let cnames = 0;
    while (cursor.next() && cursor.section === SECTION.ANSWER) {
      if (cursor.type === questionType) {
        writeUint16(answer, 6, cnames);
        return end;
      }
      ({ end } = cursor);
      cnames++;
    }
    return length;
  }

  /** A reply to a question of this type without the unwanted records; undefined when it is malformed. */
  apply(reply: Buffer, questionType: number): Buffer | undefined {
    if (this.#types.size === 0) return reply;
    if (questionType === TYPE.CNAME) return withoutTypes(reply, this.#isUnwantedCname);
    const isAny = questionType === TYPE.ANY && this.#types.has(TYPE.ANY);
    return withoutTypes(reply, isAny ? this.#isUnwantedInAny : this.#isUnwanted);
  }
}
