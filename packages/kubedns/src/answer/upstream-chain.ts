import {
  CLASS,
  equalNames,
  expandName,
  expandRdata,
  lowerCaseByte,
  MAX_NAME_BYTES,
  RecordCursor,
  type ResourceRecord,
  SECTION,
  type Section,
  suffixOffset,
  TYPE,
} from '@kube-dns/wire';

/** A record of a reply for our answer, and its section there. */
export interface ChainRecord extends ResourceRecord {
  readonly section: Section;
}

/** What a reply adds to a CNAME chain: records in the order of the chain, and the name it ends at. */
export interface UpstreamChain {
  readonly records: readonly ChainRecord[];
  readonly end: Uint8Array;
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
/** Maximum CNAMEs of a reply that are followed; a longer chain is cut there. */
const MAX_LINKS = 16;

/** Whether a question of a type is about what a CNAME leads to, and not about the CNAME itself. */
export function isFollowed(type: number): boolean {
  return type !== TYPE.CNAME && type !== TYPE.ANY;
}

/**
 * The records of a reply that the question for `target` leads to: its CNAMEs, the records of the asked type
 * where they end, or else the SOA above that name. The chain ends where it enters the own zone: no other
 * server speaks for that. Records that are malformed, or cannot be copied to another message, are left out.
 */
export function upstreamChain(
  reply: Uint8Array,
  type: number,
  target: Uint8Array,
  isOwn: (name: Uint8Array) => boolean,
): UpstreamChain {
  const found = chainRecords(reply, type);
  const records: ChainRecord[] = [];
  let end = target;
  while (isFollowed(type) && !isOwn(end) && records.length < MAX_LINKS) {
    const owner = end;
    const link = found.find((each) => each.type === TYPE.CNAME && equalNames(each.owner, owner));
    // A chain that leads back to itself is taken once: an answer holds no record twice (RFC 2181 section 5).
    if (link === undefined || records.includes(link)) break;
    records.push(link);
    end = link.rdata;
  }
  if (isOwn(end)) return { records, end };
  const wanted = found.filter((each) => isAsked(each, type) && equalNames(each.owner, end));
  const isAbove = ({ section, owner }: ChainRecord) =>
    section === SECTION.AUTHORITY && !isOwn(owner) && isAtOrBelow(end, owner);
  records.push(...(wanted.length > 0 ? wanted : found.filter(isAbove)));
  return { records, end };
}

/** Whether a record is in the answer to a question of a type; ANY asks for each. */
function isAsked({ section, type: found }: ChainRecord, type: number): boolean {
  return section === SECTION.ANSWER && (found === type || type === TYPE.ANY);
}

function isAtOrBelow(name: Uint8Array, apex: Uint8Array): boolean {
  return suffixOffset(name.map(lowerCaseByte), name.length, apex.map(lowerCaseByte)) >= 0;
}

/** The CNAMEs and the records of a type in the answer section, and the SOAs in the authority section. */
function chainRecords(reply: Uint8Array, type: number): ChainRecord[] {
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
  return found === TYPE.CNAME || found === asked || asked === TYPE.ANY;
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
