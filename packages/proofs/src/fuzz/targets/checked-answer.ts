import { FLAG, HEADER_BYTES, readUint16, RecordCursor } from '@kube-dns/wire';

const CLIENT_BYTES = 65_535;

/** Throws when an answer is none: too short, of another question, or not to be read to its end. */
export function checkAnswer(answer: Uint8Array, id: number, maxBytes = CLIENT_BYTES): void {
  if (answer.length < HEADER_BYTES) throw new Error('an answer is shorter than a header');
  if (answer.length > maxBytes) throw new Error('an answer is larger than the client takes');
  if (readUint16(answer, 0) !== id) throw new Error('an answer has another ID');
  if ((readUint16(answer, 2) & FLAG.QR) === 0) throw new Error('an answer is no response');
  const cursor = new RecordCursor().reset(answer, answer.length);
  while (cursor.next()) {
    // Walking is the check.
  }
  if (cursor.isMalformed()) throw new Error('an answer is malformed');
  if (cursor.end !== answer.length) throw new Error('an answer has bytes after its records');
}
