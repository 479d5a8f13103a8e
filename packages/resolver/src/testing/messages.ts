import {
  AnswerWriter,
  encodeKey,
  encodeName,
  encodeQuery,
  encodeRdata,
  FLAG,
  Query,
  readUint16,
  RCODE,
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

/** A record as text; the owner is the question's name unless given. */
export interface WrittenRecord {
  readonly owner?: string;
  readonly type: 'A' | 'AAAA' | 'CNAME' | 'PTR' | 'SRV' | 'TXT' | 'MX' | 'SOA' | 'NS';
  readonly ttl: number;
  readonly data: unknown;
}

export interface Response {
  readonly rcode?: number;
  readonly isAuthoritative?: boolean;
  readonly isTruncated?: boolean;
  readonly answers?: readonly WrittenRecord[];
  readonly authorities?: readonly WrittenRecord[];
  readonly additionals?: readonly WrittenRecord[];
}

/** An SOA record whose negative answers are cached for `minimum` seconds, or for its TTL if that is less. */
export function soaRecord(minimum: number, owner = 'example', ttl = 60): WrittenRecord {
  return {
    owner,
    type: 'SOA',
    ttl,
    data: {
      mname: 'ns.example',
      rname: 'root.example',
      serial: 1,
      refresh: 2,
      retry: 3,
      expire: 4,
      minimum,
    },
  };
}

export function cnameRecord(owner: string, data: string, ttl: number): WrittenRecord {
  return { owner, type: 'CNAME', ttl, data };
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
  if (verdict !== 'answer') {
    throw new Error(`the query is ${verdict}: ${Buffer.from(message).toString('hex')}`);
  }
  return query;
}

export function queryFor(question: Question): Query {
  return readQuery(queryMessage(question));
}

const SECTIONS = [
  [SECTION.ANSWER, 'answers'],
  [SECTION.AUTHORITY, 'authorities'],
  [SECTION.ADDITIONAL, 'additionals'],
] as const;

const out = new Uint8Array(65_535);

/** The response of a server to a query of class IN. */
export function responseTo(query: Query, response: Response): Buffer {
  const writer = new AnswerWriter();
  writer.begin(query, out);
  if (response.isAuthoritative === true) writer.setAuthoritative();
  writer.setRcode(response.rcode ?? RCODE.NOERROR);
  for (const [section, key] of SECTIONS) {
    for (const { owner, type, ttl, data } of response[key] ?? []) {
      const name = owner === undefined ? undefined : encodeName(owner);
      const rdata = encodeRdata({ type, name: '.', data } as Parameters<typeof encodeRdata>[0]);
      if (!writer.add(section, name, TYPE[type], ttl, rdata)) throw new Error('no room');
    }
  }
  const message = Buffer.from(out.subarray(0, writer.finish()));
  if (response.isTruncated === true) writeUint16(message, 2, readUint16(message, 2) | FLAG.TC);
  return message;
}

/** A server's response to a question, for tests without a server. */
export function responseFor(question: Question, response: Response): Buffer {
  return responseTo(queryFor(question), response);
}

export function addressRecords(ttl: number, ...addresses: string[]): WrittenRecord[] {
  return addresses.map((data) => ({ type: 'A', ttl, data }));
}

/** The name of a question in the form that caches and routes compare. */
export function keyOf(name: string): Uint8Array {
  return encodeKey(name);
}
