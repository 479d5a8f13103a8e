import {
  AnswerWriter,
  encodeName,
  encodeQuery,
  encodeRdata,
  FLAG,
  MAX_MESSAGE_BYTES,
  Query,
  RCODE,
  readUint16,
  SECTION,
  TYPE,
  writeUint16,
} from '@kube-dns/wire';

/** What a client asks; everything but the name has a plain default. */
export interface Question {
  readonly name: string;
  readonly type?: string;
  readonly class?: 'IN' | 'CH';
  readonly id?: number;
  readonly isRecursionDesired?: boolean;
  readonly isCheckingDisabled?: boolean;
  /** The size that an OPT record states; without it there is no OPT. */
  readonly ednsBytes?: number;
  readonly isDnssecOk?: boolean;
}

export function queryMessage(question: Question): Buffer {
  const { name, type = 'A', id = 0x1234, isRecursionDesired = true } = question;
  const fields = { name, type, id, recursionDesired: isRecursionDesired };
  const message = encodeQuery({ ...fields, class: question.class ?? 'IN' });
  if (question.isCheckingDisabled === true) {
    writeUint16(message, 2, readUint16(message, 2) | FLAG.CD);
  }
  if (question.ednsBytes === undefined) return message;
  const opt = Buffer.alloc(11);
  writeUint16(opt, 1, TYPE.OPT);
  writeUint16(opt, 3, question.ednsBytes);
  if (question.isDnssecOk === true) opt[7] = 0x80;
  writeUint16(message, 10, 1);
  return Buffer.concat([message, opt]);
}

/** The query as a listener reads it; fails when a listener would refuse it. */
export function readQuery(message: Uint8Array, isOverTcp = false): Query {
  const query = new Query();
  const verdict = query.read(message, message.length, isOverTcp, 65_535);
  if (verdict !== 'answer') throw new Error(`the query is ${verdict}`);
  return query;
}

export function queryFor(question: Question): Query {
  return readQuery(queryMessage(question));
}

/** A query whose OPT record has one option, with a number in its data. */
export function queryWithOption(
  question: Question,
  code: number,
  number: number,
  bytes = 8,
): Query {
  const option = Buffer.alloc(4 + bytes);
  writeUint16(option, 0, code);
  writeUint16(option, 2, bytes);
  writeUint16(option, 4, number);
  const message = Buffer.concat([queryMessage({ ednsBytes: 1232, ...question }), option]);
  writeUint16(message, message.length - option.length - 2, option.length);
  return readQuery(message);
}

/** A record of an answer's authority section. */
export interface Authority {
  readonly owner: string;
  readonly type: 'NS' | 'SOA';
  readonly data: unknown;
}

/** A response of a server that asks others, with records in its authority section. */
export function responseWith(
  query: Query,
  fields: { readonly rcode?: number; readonly addresses?: readonly string[] },
  authorities: readonly Authority[] = [],
  isAuthoritative = false,
): Buffer {
  const writer = new AnswerWriter();
  const out = new Uint8Array(MAX_MESSAGE_BYTES);
  writer.begin(query, out);
  if (isAuthoritative) writer.setAuthoritative();
  writer.setRcode(fields.rcode ?? RCODE.NOERROR);
  for (const data of fields.addresses ?? []) {
    writer.add(SECTION.ANSWER, undefined, TYPE.A, 60, rdataOf('A', data));
  }
  for (const { owner, type, data } of authorities) {
    writer.add(SECTION.AUTHORITY, encodeName(owner), TYPE[type], 60, rdataOf(type, data));
  }
  return Buffer.from(out.subarray(0, writer.finish()));
}

function rdataOf(type: string, data: unknown): Uint8Array {
  return encodeRdata({ type, name: '.', data } as Parameters<typeof encodeRdata>[0]);
}
