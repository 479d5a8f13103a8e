import { ednsOf, optRecord, questionEnd, withRecord } from '@kube-dns/testkit';
import { FLAG, type Query } from '@kube-dns/wire';

export interface ReplyFields {
  readonly rcode?: number;
  /** More flags than QR and RA, which are always set. */
  readonly flags?: number;
  readonly addresses?: readonly string[];
}

/** A reply with the query's ID and question, and A records of its name. */
export function replyTo(query: Uint8Array, fields: ReplyFields = {}): Buffer {
  const { rcode = 0, flags = 0, addresses = [] } = fields;
  const head = Buffer.from(query.subarray(0, questionEnd(query)));
  head.writeUInt16BE(FLAG.QR | FLAG.RA | flags | rcode, 2);
  head.writeUInt16BE(addresses.length, 6);
  head.writeUInt32BE(0, 8);
  const records = addresses.map((address) =>
    Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 30, 0, 4, ...address.split('.').map(Number)]),
  );
  return Buffer.concat([head, ...records]);
}

/** Writes the reply to a query that a listener has read, as an answerer does. */
export function answerWith(query: Query, out: Uint8Array, addresses: readonly string[]): number {
  const reply = replyTo(query.bytes.subarray(0, query.length), { addresses });
  out.set(reply);
  return reply.length;
}

/** `count` addresses, 10.0.0.0 and on. */
export function manyAddresses(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `10.0.${i >> 8}.${i & 0xff}`);
}

/** The query with an OPT record behind it. */
export function withOpt(query: Uint8Array, ednsBytes: number, ednsVersion = 0): Buffer {
  return withRecord(query, optRecord({ ednsBytes, ednsVersion }));
}

const COOKIE = '10 ';

/** The query with an OPT record that has this cookie, behind another option. */
export function withCookie(query: Uint8Array, cookie: string, ednsBytes = 1_232, version = 0) {
  const options = ['3 ', COOKIE + cookie];
  return withRecord(query, optRecord({ ednsBytes, ednsVersion: version, options }));
}

/** A query without a question that has this cookie (RFC 7873 section 5.4). */
export function cookieQuery(cookie: string): Buffer {
  return withCookie(Buffer.from('000701000000000000000000', 'hex'), cookie);
}

/** The cookie of an answer; `none` without one. */
export function cookieOf(message: Uint8Array): string {
  const option = ednsOf(message)?.options.find((text) => text.startsWith(COOKIE));
  return option?.slice(COOKIE.length) ?? 'none';
}

/** The rcode of an answer with its upper bits, which are in the OPT record. */
export function extendedRcode(message: Uint8Array): number {
  return ednsOf(message)?.rcode ?? message[3]! & 0xf;
}
