import {
  CLASS,
  equalNames,
  expandName,
  FLAG,
  MAX_NAME_BYTES,
  type Query,
  QUESTION_OFFSET,
  RCODE,
  readUint16,
  RecordCursor,
  SECTION,
  TYPE,
} from '@kube-dns/wire';

/** The types that dnsmasq keeps from upstream (2.90, src/rfc1035.c extract_addresses). */
const CACHED_TYPES: ReadonlySet<number> = new Set([TYPE.A, TYPE.AAAA, TYPE.PTR, TYPE.SRV]);
/** A longer chain of aliases is passed on and not kept (dnsmasq src/config.h, CNAME_CHAIN). */
const MAX_ALIASES = 10;

const cursor = new RecordCursor();
const wanted = new Uint8Array(MAX_NAME_BYTES);
const owner = new Uint8Array(MAX_NAME_BYTES);

/** Tells whether the answer to a question may come from the cache. */
export function mayReadCache(query: Query): boolean {
  // Without RD only what was asked for by somebody else would be shown (cache snooping).
  const isShared = query.isRecursionDesired && !query.isDnssecOk;
  return isShared && query.class === CLASS.IN && CACHED_TYPES.has(query.type);
}

/** Tells whether the answer to a question may go to the cache. */
export function mayFillCache(query: Query): boolean {
  // An answer that was not checked upstream is for the one who asked for it so.
  return mayReadCache(query) && (query.flags & FLAG.CD) === 0;
}

/**
 * Tells whether a response is a positive answer worth keeping: no error, whole, not with checking
 * disabled, and its answer section is nothing but the aliases that lead from the question to a name, and
 * that name's records of the type that was asked for. So nobody's records are kept but those asked for.
 */
export function isCacheableAnswer(response: Uint8Array, type: number): boolean {
  const flags = readUint16(response, 2);
  if ((flags & (FLAG.TC | FLAG.CD)) !== 0 || (flags & 0xf) !== RCODE.NOERROR) return false;
  cursor.reset(response, response.length);
  let wantedLength = expandName(response, QUESTION_OFFSET, response.length, wanted);
  let aliases = 0;
  let hasType = false;
  while (cursor.next() && cursor.section === SECTION.ANSWER) {
    if (cursor.class !== CLASS.IN || !isOwnedBy(response, wantedLength)) return false;
    if (cursor.type === type) {
      hasType = true;
    } else if (cursor.type === TYPE.CNAME && !hasType && aliases < MAX_ALIASES) {
      aliases++;
      wantedLength = expandName(response, cursor.rdataStart, cursor.end, wanted);
    } else {
      return false;
    }
  }
  return hasType && !cursor.isMalformed();
}

/** Compares the owner of the cursor's record with the wanted name; false when either is malformed. */
function isOwnedBy(response: Uint8Array, wantedLength: number): boolean {
  const ownerLength = expandName(response, cursor.start, response.length, owner);
  if (ownerLength < 0 || ownerLength !== wantedLength) return false;
  return equalNames(owner.subarray(0, ownerLength), wanted.subarray(0, wantedLength));
}
