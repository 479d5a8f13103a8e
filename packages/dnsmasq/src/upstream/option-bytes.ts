import { readUint16, RecordCursor, TYPE, writeUint16 } from '@kube-dns/wire';

const OPTION_HEAD_BYTES = 4;

/** An EDNS option (RFC 6891 section 6.1.2). */
export function encodeOption(code: number, data: Uint8Array): Buffer {
  const option = Buffer.alloc(OPTION_HEAD_BYTES + data.length);
  writeUint16(option, 0, code);
  writeUint16(option, 2, data.length);
  option.set(data, OPTION_HEAD_BYTES);
  return option;
}

/** The data of the first option of a code in a message's OPT record; undefined where there is none. */
export function findOption(
  message: Uint8Array,
  length: number,
  code: number,
): Uint8Array | undefined {
  const cursor = new RecordCursor().reset(message, length);
  while (cursor.next()) {
    if (cursor.type !== TYPE.OPT) continue;
    const { rdataStart, end } = cursor;
    for (let at = rdataStart; at + OPTION_HEAD_BYTES <= end;) {
      const dataAt = at + OPTION_HEAD_BYTES;
      const next = dataAt + readUint16(message, at + 2);
      if (next > end) return undefined;
      if (readUint16(message, at) === code) return message.subarray(dataAt, next);
      at = next;
    }
  }
  return undefined;
}
