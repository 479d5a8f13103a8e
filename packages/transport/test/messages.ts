import { FLAG, type Query, readUint16, RecordCursor } from '@kube-dns/wire';

export interface ReplyFields {
  readonly rcode?: number;
  /** More flags than QR and RA, which are always set. */
  readonly flags?: number;
  readonly addresses?: readonly string[];
}

/** A reply with the query's ID and question, and A records of its name. */
export function replyTo(query: Uint8Array, fields: ReplyFields = {}): Buffer {
  const { rcode = 0, flags = 0, addresses = [] } = fields;
  const questionEnd = new RecordCursor().reset(query, query.length).end;
  const head = Buffer.from(query.subarray(0, questionEnd));
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
export function withOpt(query: Uint8Array, size: number, version = 0): Buffer {
  const message = Buffer.concat([query, Buffer.from([0, 0, 41, 0, 0, 0, version, 0, 0, 0, 0])]);
  message.writeUInt16BE(size, query.length + 3);
  message.writeUInt16BE(readUint16(message, 10) + 1, 10);
  return message;
}
