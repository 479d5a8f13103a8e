import { readUint16 } from './bytes.js';

/** Resource record types that this project writes or handles specially (IANA registry of RR types). */
export const TYPE = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  MX: 15,
  TXT: 16,
  SIG: 24,
  AAAA: 28,
  SRV: 33,
  NAPTR: 35,
  DNAME: 39,
  OPT: 41,
  RRSIG: 46,
  NSEC: 47,
  TSIG: 250,
  IXFR: 251,
  AXFR: 252,
  ANY: 255,
} as const;

/** Classes (RFC 1035 section 3.2.4, RFC 6895 section 3.2). */
export const CLASS = { IN: 1, CH: 3, ANY: 255 } as const;

/** The names of the first response codes, by number. */
export const RCODE_NAMES: readonly string[] = [
  'NOERROR',
  'FORMERR',
  'SERVFAIL',
  'NXDOMAIN',
  'NOTIMP',
  'REFUSED',
];

/** Response codes (RFC 1035 section 4.1.1, RFC 6895 section 2.3); above 15 they need an OPT record. */
export const RCODE = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  NOTAUTH: 9,
  /** The primary TLV of a DSO request is unknown (RFC 8490 section 5.1.1). */
  DSOTYPENI: 11,
  BADVERS: 16,
  /** The server cookie is missing or bad (RFC 7873 section 8). */
  BADCOOKIE: 23,
} as const;

/** Why a TSIG is refused: its error field, beside the codes of RCODE (RFC 8945 section 3). */
export const TSIG_ERROR = { BADSIG: 16, BADKEY: 17, BADTIME: 18, BADTRUNC: 22 } as const;

/** The bits of the header's second 16-bit word (RFC 1035 section 4.1.1, RFC 4035 section 3). */
export const FLAG = {
  QR: 0x8000,
  AA: 0x0400,
  TC: 0x0200,
  RD: 0x0100,
  RA: 0x0080,
  AD: 0x0020,
  CD: 0x0010,
} as const;

/** The four bits of the response code inside the flags word. */
export const RCODE_MASK = 0xf;

/** The rcode in the header of a message: without the upper bits that an OPT record has (RFC 6891 section 6.1.3). */
export function rcodeOf(message: Uint8Array): number {
  return readUint16(message, 2) & RCODE_MASK;
}
/** The four bits of the opcode inside the flags word; 0 is QUERY. */
export const OPCODE_MASK = 0x7800;
/** NOTIFY in these bits (RFC 1996 section 3). */
export const OPCODE_NOTIFY = 4 << 11;
/** DNS Stateful Operations in these bits (RFC 8490 section 5.4). */
export const OPCODE_DSO = 6 << 11;

/** Extended DNS Error codes (RFC 8914 section 4, and the IANA registry for SYNTHESIZED). */
export const EXTENDED_ERROR = {
  OTHER: 0,
  STALE_ANSWER: 3,
  FORGED_ANSWER: 4,
  CACHED_ERROR: 13,
  NOT_READY: 14,
  BLOCKED: 15,
  FILTERED: 17,
  PROHIBITED: 18,
  STALE_NXDOMAIN: 19,
  NOT_AUTHORITATIVE: 20,
  NOT_SUPPORTED: 21,
  NO_REACHABLE_AUTHORITY: 22,
  NETWORK_ERROR: 23,
  INVALID_DATA: 24,
  SYNTHESIZED: 29,
} as const;

/** Bytes of a message header (RFC 1035 section 4.1.1). */
export const HEADER_BYTES = 12;
/** Where the first question's name starts, which most owner names point to. */
export const QUESTION_OFFSET = HEADER_BYTES;
/** Type and class after the name of a question. */
export const QUESTION_FIXED_BYTES = 4;
/** Most bytes of a name in wire form, the root label included (RFC 1035 section 2.3.4). */
export const MAX_NAME_BYTES = 255;
/** Most bytes of one label (RFC 1035 section 2.3.4). */
export const MAX_LABEL_BYTES = 63;
/** Most bytes of a message over UDP to a client without EDNS (RFC 1035 section 2.3.4). */
export const CLASSIC_UDP_BYTES = 512;
/** Most bytes of any message: the length prefix over TCP has 16 bits (RFC 1035 section 4.2.2). */
export const MAX_MESSAGE_BYTES = 65_535;
/** The longest query or reply over UDP; EDNS sizes above it are not in use (RFC 6891 section 6.2.5). */
export const MAX_DATAGRAM_BYTES = 4_096;
/** The longest TTL (RFC 2181 section 8). */
export const MAX_TTL_SECONDS = 0x7fff_ffff;
/** The largest UDP message that IP is unlikely to fragment (DNS flag day 2020). */
export const SAFE_UDP_BYTES = 1232;
