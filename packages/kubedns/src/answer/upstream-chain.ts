import {
  CLASS,
  expandName,
  MAX_NAME_BYTES,
  RecordCursor,
  type ResourceRecord,
  SECTION,
  type Section,
  skipName,
  TYPE,
} from '@kube-dns/wire';

/** A record of a reply that goes into an answer of ours, and the section it goes into. */
export interface ChainRecord extends ResourceRecord {
  readonly section: Section;
}

/** How many bytes of rdata stand before its only name, which may be compressed (RFC 1035, RFC 2782). */
const BYTES_BEFORE_NAME: ReadonlyMap<number, number> = new Map([
  [TYPE.CNAME, 0],
  [TYPE.NS, 0],
  [TYPE.PTR, 0],
  [TYPE.MX, 2],
  [TYPE.SRV, 6],
]);
/** Types whose rdata holds no names, so that it can be moved to another message as it is. */
const NAMELESS: ReadonlySet<number> = new Set([TYPE.A, TYPE.AAAA, TYPE.TXT]);
/** Types from here on came after RFC 3597, whose section 4 forbids to compress names in them. */
const FIRST_UNCOMPRESSED = 48;
const SOA_NUMBERS_BYTES = 20;

const cursor = new RecordCursor();
const name = new Uint8Array(MAX_NAME_BYTES);

/**
 * What a reply says about the end of an alias chain: from its answer section the CNAMEs and the records
 * of the type that was asked, and the SOA of a denial. What is malformed, or cannot be moved to another
 * message, is left out.
 */
export function chainRecords(reply: Uint8Array, type: number): ChainRecord[] {
  const records: ChainRecord[] = [];
  cursor.reset(reply, reply.length);
  while (cursor.next() && cursor.section !== SECTION.ADDITIONAL) {
    const { section } = cursor;
    if (cursor.class !== CLASS.IN || !isWanted(section, cursor.type, type)) continue;
    const owner = expand(reply, cursor.start);
    const rdata = movableRdata(reply);
    if (owner === undefined || rdata === undefined) continue;
    records.push({ section, owner, type: cursor.type, ttlSeconds: cursor.ttlSeconds, rdata });
  }
  return records;
}

function isWanted(section: Section, found: number, asked: number): boolean {
  if (section === SECTION.AUTHORITY) return found === TYPE.SOA;
  return found === TYPE.CNAME || found === asked;
}

/** The rdata that the cursor stands on, without pointers; undefined when that cannot be had. */
function movableRdata(reply: Uint8Array): Uint8Array | undefined {
  const { type, rdataStart, end } = cursor;
  if (type === TYPE.SOA) return soaRdata(reply);
  const before = BYTES_BEFORE_NAME.get(type);
  if (before !== undefined) {
    const target = expand(reply, rdataStart + before);
    return target && join(reply.subarray(rdataStart, rdataStart + before), target);
  }
  const isMovable = NAMELESS.has(type) || type >= FIRST_UNCOMPRESSED;
  return isMovable ? join(reply.subarray(rdataStart, end)) : undefined;
}

function soaRdata(reply: Uint8Array): Uint8Array | undefined {
  const { rdataStart, end } = cursor;
  const primary = expand(reply, rdataStart);
  const mailboxAt = skipName(reply, rdataStart, end);
  const mailbox = mailboxAt < 0 ? undefined : expand(reply, mailboxAt);
  if (primary === undefined || mailbox === undefined) return undefined;
  return join(primary, mailbox, reply.subarray(end - SOA_NUMBERS_BYTES, end));
}

function join(...parts: Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

function expand(reply: Uint8Array, at: number): Uint8Array | undefined {
  const length = expandName(reply, at, reply.length, name);
  return length < 0 ? undefined : name.slice(0, length);
}
