import {
  CLASS,
  expandName,
  expandRdata,
  MAX_NAME_BYTES,
  RecordCursor,
  type ResourceRecord,
  SECTION,
  type Section,
  TYPE,
} from '@kube-dns/wire';

/** A record of a reply that goes into an answer of ours, and the section it goes into. */
export interface ChainRecord extends ResourceRecord {
  readonly section: Section;
}

/** Types whose data can be moved to another message, with the names in it written out. */
const MOVABLE: ReadonlySet<number> = new Set([
  TYPE.A,
  TYPE.NS,
  TYPE.CNAME,
  TYPE.SOA,
  TYPE.PTR,
  TYPE.MX,
  TYPE.TXT,
  TYPE.AAAA,
  TYPE.SRV,
]);
/** Types from here on came after RFC 3597, whose section 4 forbids to compress names in them. */
const FIRST_UNCOMPRESSED = 48;
/** More names than these are in no record's data. */
const MAX_NAMES_IN_RDATA = 2;

/**
 * What a reply says about the end of an alias chain: from its answer section the CNAMEs and the records
 * of the type that was asked, and the SOA of a denial. What is malformed, or cannot be moved to another
 * message, is left out.
 */
export function chainRecords(reply: Uint8Array, type: number): ChainRecord[] {
  const records: ChainRecord[] = [];
  const cursor = new RecordCursor().reset(reply, reply.length);
  while (cursor.next() && cursor.section !== SECTION.ADDITIONAL) {
    const { section } = cursor;
    if (cursor.class !== CLASS.IN || !isWanted(section, cursor.type, type)) continue;
    const owner = expand(reply, cursor.start);
    const rdata = movableRdata(reply, cursor);
    if (owner === undefined || rdata === undefined) continue;
    records.push({ section, owner, type: cursor.type, ttlSeconds: cursor.ttlSeconds, rdata });
  }
  return records;
}

function isWanted(section: Section, found: number, asked: number): boolean {
  if (section === SECTION.AUTHORITY) return found === TYPE.SOA;
  return found === TYPE.CNAME || found === asked;
}

/** The rdata of a cursor's record, without pointers; undefined when that cannot be had. */
function movableRdata(
  reply: Uint8Array,
  { type, rdataStart, end }: RecordCursor,
): Uint8Array | undefined {
  if (!MOVABLE.has(type) && type < FIRST_UNCOMPRESSED) return undefined;
  const room = new Uint8Array(end - rdataStart + MAX_NAMES_IN_RDATA * MAX_NAME_BYTES);
  const length = expandRdata(reply, type, rdataStart, end, room, 0);
  return length < 0 ? undefined : room.slice(0, length);
}

function expand(reply: Uint8Array, at: number): Uint8Array | undefined {
  const name = new Uint8Array(MAX_NAME_BYTES);
  const length = expandName(reply, at, reply.length, name);
  return length < 0 ? undefined : name.slice(0, length);
}
