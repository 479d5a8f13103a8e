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

/** A record of a reply for our answer, and its section there. */
export interface ChainRecord extends ResourceRecord {
  readonly section: Section;
}

/** Types whose rdata can be copied to another message after its names were expanded. */
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
/** Types from this number on are newer than RFC 3597; its section 4 forbids compressed names in them. */
const FIRST_UNCOMPRESSED = 48;
/** Maximum number of names in the rdata of these types. */
const MAX_NAMES_IN_RDATA = 2;

/**
 * The records of a reply about the end of a CNAME chain: the CNAMEs and the records of the asked type from
 * its answer section, and the SOA of a negative answer. Records that are malformed, or cannot be copied to
 * another message, are left out.
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

/** The rdata of a cursor's record without compression; undefined when it cannot be expanded. */
function movableRdata(
  reply: Uint8Array,
  { type, rdataStart, end }: RecordCursor,
): Uint8Array | undefined {
  if (!MOVABLE.has(type) && type < FIRST_UNCOMPRESSED) return undefined;
  const expanded = new Uint8Array(end - rdataStart + MAX_NAMES_IN_RDATA * MAX_NAME_BYTES);
  const length = expandRdata(reply, type, rdataStart, end, expanded, 0);
  return length < 0 ? undefined : expanded.slice(0, length);
}

function expand(reply: Uint8Array, at: number): Uint8Array | undefined {
  const name = new Uint8Array(MAX_NAME_BYTES);
  const length = expandName(reply, at, reply.length, name);
  return length < 0 ? undefined : name.slice(0, length);
}
