import { EDNS_OPTION, findOption, readUint16, RecordCursor, TYPE } from '@kube-dns/wire';
import { withOpt } from './messages.js';

/** The query with an OPT record that has this cookie, behind another option. */
export function withCookie(query: Uint8Array, cookie: string, size = 1_232, version = 0): Buffer {
  const data = Buffer.from(cookie, 'hex');
  const options = Buffer.from([0, 3, 0, 0, 0, EDNS_OPTION.COOKIE, 0, data.length, ...data]);
  const message = Buffer.concat([withOpt(query, size, version), options]);
  message.writeUInt16BE(options.length, message.length - options.length - 2);
  return message;
}

/** A query without a question that has this cookie (RFC 7873 section 5.4). */
export function cookieQuery(cookie: string): Buffer {
  return withCookie(Buffer.from('000701000000000000000000', 'hex'), cookie);
}

/** The cookie of an answer; `none` without one. */
export function cookieOf(message: Uint8Array): string {
  const cursor = new RecordCursor().reset(message, message.length);
  while (cursor.next()) {
    if (cursor.type !== TYPE.OPT) continue;
    const at = findOption(message, cursor.rdataStart, cursor.end, EDNS_OPTION.COOKIE);
    if (at < 0) return 'none';
    return Buffer.from(message.subarray(at + 4, at + 4 + readUint16(message, at + 2))).toString(
      'hex',
    );
  }
  return 'none';
}

/** The rcode of an answer with its upper bits, which are in the OPT record. */
export function extendedRcode(message: Uint8Array): number {
  const cursor = new RecordCursor().reset(message, message.length);
  let upper = 0;
  while (cursor.next()) if (cursor.type === TYPE.OPT) upper = message[cursor.ttlAt]!;
  return (upper << 4) | (message[3]! & 0xf);
}
