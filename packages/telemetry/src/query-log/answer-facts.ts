import type { QueryLogClass } from '@kube-dns/daemon';
import {
  EDNS_OPTION,
  FLAG,
  OPTION_HEAD_BYTES,
  RCODE,
  RCODE_MASK,
  readUint16,
  RecordCursor,
  SECTION,
  TYPE,
} from '@kube-dns/wire';

/** More are not shown. */
export const MAX_EXTENDED_ERRORS = 4;

/** What a line says of an answer that is not in its header. One is used for all answers. */
export class AnswerFacts {
  rcode = 0;
  /** The first `errorCount` are the Extended DNS Errors (RFC 8914). */
  readonly errors = new Uint16Array(MAX_EXTENDED_ERRORS);
  errorCount = 0;
  readonly #cursor = new RecordCursor();

  /** Reads an answer, whose OPT record has the upper bits of the rcode. */
  read(message: Uint8Array, length: number): void {
    this.rcode = readUint16(message, 2) & RCODE_MASK;
    this.errorCount = 0;
    if (readUint16(message, 10) === 0) return;
    const cursor = this.#cursor.reset(message, length);
    while (cursor.next()) {
      if (cursor.section !== SECTION.ADDITIONAL || cursor.type !== TYPE.OPT) continue;
      this.rcode |= message[cursor.ttlAt]! << 4;
      this.#readErrors(message, cursor.rdataStart, cursor.end);
      return;
    }
  }

  #readErrors(message: Uint8Array, start: number, end: number): void {
    for (let at = start; at + OPTION_HEAD_BYTES <= end;) {
      const next = at + OPTION_HEAD_BYTES + readUint16(message, at + 2);
      const isError = readUint16(message, at) === EDNS_OPTION.EXTENDED_ERROR;
      if (next > end || this.errorCount === MAX_EXTENDED_ERRORS) return;
      if (isError && next >= at + OPTION_HEAD_BYTES + 2) {
        this.errors[this.errorCount++] = readUint16(message, at + OPTION_HEAD_BYTES);
      }
      at = next;
    }
  }
}

/** The class of an answer, as CoreDNS's plugin log has them; no answer at all is an error. */
export function classOf(message: Uint8Array, length: number): QueryLogClass {
  if (length === 0) return 'error';
  const flags = readUint16(message, 2);
  const rcode = flags & RCODE_MASK;
  if (rcode === RCODE.NXDOMAIN) return 'denial';
  if (rcode !== RCODE.NOERROR) return 'error';
  // A truncated answer may have none of its records.
  const hasAnswer = readUint16(message, 6) > 0 || (flags & FLAG.TC) !== 0;
  return hasAnswer ? 'success' : 'denial';
}
