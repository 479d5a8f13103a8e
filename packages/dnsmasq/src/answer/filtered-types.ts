import { FLAG, RCODE, readUint16, RecordCursor, SECTION, TYPE, writeUint16 } from '@kube-dns/wire';
import { withoutTypes } from './reply-edit.js';

/** What is left of an answer to ANY under `--filter-rr=ANY` (dnsmasq src/rrfilter.c). */
const ALLOWED_IN_ANY: ReadonlySet<number> = new Set([TYPE.A, TYPE.AAAA, TYPE.MX, TYPE.CNAME]);

const cursor = new RecordCursor();

/** The types of `--filter-A`, `--filter-AAAA` and `--filter-rr`, which no answer from upstream has. */
export class FilteredTypes {
  readonly #types: ReadonlySet<number>;
  readonly #isUnwanted = (type: number): boolean => this.#types.has(type);
  readonly #isUnwantedInAny = (type: number): boolean =>
    this.#types.has(type) || !ALLOWED_IN_ANY.has(type);

  constructor(types: readonly number[]) {
    this.#types = new Set(types);
  }

  /** Tells whether the records that a cached answer has for this type must not be shown. */
  hides(type: number, answer: Uint8Array): boolean {
    if (this.#types.size === 0 || !this.#types.has(type)) return false;
    return (readUint16(answer, 2) & 0xf) === RCODE.NOERROR && readUint16(answer, 6) > 0;
  }

  /** The other type of addresses of a type that must not be shown; 0 when there is none. */
  siblingOf(type: number): number {
    if (!this.#types.has(type)) return 0;
    if (type === TYPE.A) return TYPE.AAAA;
    return type === TYPE.AAAA ? TYPE.A : 0;
  }

  /** Cuts a cached answer behind its aliases, in place; returns its length. */
  cut(answer: Uint8Array, length: number): number {
    cursor.reset(answer, length);
    let { end } = cursor;
    let aliases = 0;
    while (cursor.next() && cursor.section === SECTION.ANSWER && cursor.type === TYPE.CNAME) {
      ({ end } = cursor);
      aliases++;
    }
    writeUint16(answer, 6, aliases);
    writeUint16(answer, 8, 0);
    return end;
  }

  /** A reply to a question of this type without the unwanted records; undefined when it is malformed. */
  apply(reply: Buffer, questionType: number): Buffer | undefined {
    if (this.#types.size === 0 || (readUint16(reply, 2) & FLAG.TC) !== 0) return reply;
    const isAny = questionType === TYPE.ANY && this.#types.has(TYPE.ANY);
    return withoutTypes(reply, isAny ? this.#isUnwantedInAny : this.#isUnwanted);
  }
}
