import { decodeMessage, FLAG, RCODE_MASK, readUint16, type DecodedRecord } from '@kube-dns/wire';
import { withHashLabel } from '../question.js';

/** A record, prepared for comparison. */
export interface ReplyRecord {
  readonly owner: string;
  readonly type: string;
  readonly ttlSeconds: number;
  readonly data: string;
  /** Owner, type and data without the parts that known classes of differences concern. */
  readonly matchKey: string;
  /** The names of owner and data, to find the class of a difference. */
  readonly names: string;
}

/** A decoded reply for comparison; names in lower case, OPT left out. */
export interface Reply {
  readonly rcode: string;
  readonly isAuthoritative: boolean;
  readonly isRecursive: boolean;
  readonly isTruncated: boolean;
  readonly hasOpt: boolean;
  readonly answers: readonly ReplyRecord[];
  readonly authorities: readonly ReplyRecord[];
  readonly additionals: readonly ReplyRecord[];
}

/** Decodes a reply; undefined when it is malformed. */
export function readReply(bytes: Uint8Array): Reply | undefined {
  try {
    const message = decodeMessage(bytes);
    const opt = message.additionals.find((record) => record.type === 'OPT');
    const extended = opt?.type === 'OPT' ? opt.extendedRcode : 0;
    return {
      rcode: extended > 0 ? `EXTENDED${(extended << 4) | (bytes[3]! & RCODE_MASK)}` : message.rcode,
      isAuthoritative: message.isAuthoritative,
      isRecursive: (readUint16(bytes, 2) & FLAG.RA) !== 0,
      isTruncated: message.isTruncated,
      hasOpt: opt !== undefined,
      answers: message.answers.map(readRecord),
      authorities: message.authorities.map(readRecord),
      additionals: message.additionals.filter(({ type }) => type !== 'OPT').map(readRecord),
    };
  } catch {
    return undefined; // malformed
  }
}

/** What makes a record the same one at another time: all but its TTL. */
export function recordKey({ owner, type, data }: ReplyRecord): string {
  return `${owner} ${type} ${data}`;
}

/** A record in one line, as `dig` prints it. */
export function recordText({ owner, ttlSeconds, type, data }: ReplyRecord): string {
  return `${owner} ${ttlSeconds} ${type} ${data}`;
}

/** A whole reply as lines. */
export function replyText(reply: Reply): string[] {
  const flags = [
    reply.isAuthoritative && 'aa',
    reply.isTruncated && 'tc',
    reply.isRecursive && 'ra',
    reply.hasOpt && 'edns',
  ].filter((flag) => flag !== false);
  return [
    [reply.rcode, ...flags].join(' '),
    ...reply.answers.map((record) => `answer ${recordText(record)}`),
    ...reply.authorities.map((record) => `authority ${recordText(record)}`),
    ...reply.additionals.map((record) => `additional ${recordText(record)}`),
  ];
}

interface Data {
  readonly text: string;
  /** The text without the parts that are expected to differ. */
  readonly core: string;
  readonly name: string;
}

function readRecord(record: DecodedRecord): ReplyRecord {
  const owner = record.name.toLowerCase();
  const ttl: unknown = 'ttl' in record ? record.ttl : 0;
  const { text, core, name } = readData(record);
  return {
    owner,
    type: record.type,
    ttlSeconds: typeof ttl === 'number' ? ttl : 0,
    data: text,
    matchKey: `${withHashLabel(owner)} ${record.type} ${core}`,
    names: `${owner} ${name}`,
  };
}

function readData(record: DecodedRecord): Data {
  switch (record.type) {
    case 'A':
    case 'AAAA':
      return { text: record.data, core: record.data, name: '' };
    case 'CNAME':
    case 'DNAME':
    case 'NS':
    case 'PTR': {
      const name = record.data.toLowerCase();
      return { text: name, core: withHashLabel(name), name };
    }
    case 'SRV': {
      const { priority = 0, weight = 0, port } = record.data;
      const name = record.data.target.toLowerCase();
      const text = `${priority} ${weight} ${port} ${name}`;
      return { text, core: `${port} ${withHashLabel(name)}`, name };
    }
    case 'SOA': {
      const { serial = 0, refresh = 0, retry = 0, expire = 0, minimum = 0 } = record.data;
      const name = `${record.data.mname} ${record.data.rname}`.toLowerCase();
      const text = `${name} ${serial} ${refresh} ${retry} ${expire} ${minimum}`;
      return { text, core: name, name };
    }
    default: {
      const text = dataText('data' in record ? record.data : '');
      return { text, core: text, name: '' };
    }
  }
}

/** Any other data: strings as `dig` quotes them, unknown bytes in hex, all else as JSON. */
function dataText(data: unknown): string {
  if (typeof data === 'string') return JSON.stringify(data);
  if (data instanceof Uint8Array) return `\\# ${data.length} ${Buffer.from(data).toString('hex')}`;
  if (Array.isArray(data) && data.every((one) => one instanceof Uint8Array)) {
    return data.map((one) => JSON.stringify(Buffer.from(one).toString('latin1'))).join(' ');
  }
  return JSON.stringify(data);
}
