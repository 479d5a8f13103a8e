import {
  addressText,
  buildQuery,
  CLASS,
  encodeKey,
  RCODE,
  RCODE_MASK,
  readUint16,
  RecordCursor,
  SECTION,
  TYPE,
} from '@kube-dns/wire';
import type { QueryForwarder } from './forward/forwarder.js';
import type { ServerGroup } from './forward/servers.js';

/** The address types, IPv4 first: every machine has IPv4. */
export const FAMILIES = ['A', 'AAAA'] as const;
export type AddressFamily = (typeof FAMILIES)[number];

/** The addresses of a host in one family, as name servers answer. */
export interface HostAddresses {
  readonly addresses: readonly string[];
  /** The lowest TTL of the records; 0 without any. */
  readonly ttlSeconds: number;
  /** Why the lookup failed; empty for an answer, also one without addresses. */
  readonly failure: string;
}

/** More name servers than these for one domain are never asked. */
const MAX_ADDRESSES = 8;
const ADDRESS_BYTES = { A: 4, AAAA: 16 } as const;

/**
 * Asks servers for the addresses of a host; they follow CNAME chains. Calls back once, immediately when
 * no server can be asked.
 */
export function askHostAddresses(
  forwarder: QueryForwarder,
  group: ServerGroup,
  host: string,
  family: AddressFamily,
  done: (answer: HostAddresses) => void,
): void {
  const query = buildQuery(encodeKey(host), TYPE[family]);
  const isAsked = forwarder.ask(query, group, (reply) => {
    done(reply === null ? failed('no name server answers') : readAddresses(reply, family));
  });
  if (!isAsked) done(failed('no name server can be reached'));
}

function failed(failure: string): HostAddresses {
  return { addresses: [], ttlSeconds: 0, failure };
}

/**
 * The addresses in a reply, whatever their owner names. Nothing else of it is decoded: a reply of 64 KiB
 * can have thousands of long names, and decoding all of them would block the event loop for 0.3 s.
 */
export function readAddresses(reply: Uint8Array, family: AddressFamily): HostAddresses {
  const cursor = new RecordCursor().reset(reply, reply.length);
  if (cursor.isMalformed()) return failed('the answer is malformed');
  const rcode = readUint16(reply, 2) & RCODE_MASK;
  if (rcode !== RCODE.NOERROR) return failed(`the answer is ${rcodeText(rcode)}`);
  const addresses: string[] = [];
  let ttlSeconds = Number.POSITIVE_INFINITY;
  while (cursor.next() && cursor.section === SECTION.ANSWER) {
    const { rdataStart, end } = cursor;
    const isAddress = cursor.type === TYPE[family] && cursor.class === CLASS.IN;
    if (!isAddress || end - rdataStart !== ADDRESS_BYTES[family]) continue;
    if (addresses.length === MAX_ADDRESSES) continue;
    addresses.push(addressText(reply.subarray(rdataStart, end)));
    ttlSeconds = Math.min(ttlSeconds, cursor.ttlSeconds);
  }
  if (cursor.isMalformed()) return failed('the answer is malformed');
  return { addresses, ttlSeconds: addresses.length === 0 ? 0 : ttlSeconds, failure: '' };
}

function rcodeText(rcode: number): string {
  const known = Object.entries(RCODE).find(([, number]) => number === rcode);
  return known?.[0] ?? `RCODE ${rcode}`;
}
