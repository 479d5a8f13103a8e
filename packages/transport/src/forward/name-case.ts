import { HEADER_BYTES, readUint16, skipName } from '@kube-dns/wire';
import { randomId } from '../random-id.js';

/** After so many replies in a row with another case, which the server did not give over TCP either, it counts as its way. */
const MAX_UNEXPLAINED = 3;
const CASE_BIT = 0x20;
const BITS_PER_DRAW = 16;

/** Gives each letter of a question's name a random case: what a forger must guess, too (draft-vixie-dnsext-dns0x20). */
export function mixCase(query: Uint8Array): void {
  const end = skipName(query, HEADER_BYTES, query.length);
  let bits = 0;
  let left = 0;
  for (let i = HEADER_BYTES; i < end; i++) {
    const lower = query[i]! | CASE_BIT;
    // Lengths of labels are below the letters.
    if (lower < 0x61 || lower > 0x7a || query[i]! < 0x41) continue;
    if (left === 0) [bits, left] = [randomId(), BITS_PER_DRAW];
    query[i] = (bits & 1) === 1 ? lower : lower & ~CASE_BIT;
    bits >>>= 1;
    left--;
  }
}

/** Whether the question of a reply has the bytes of the query's; a reply without one has no other case. */
export function hasSameCase(query: Uint8Array, reply: Uint8Array): boolean {
  if (readUint16(reply, 4) === 0) return true;
  const end = skipName(query, HEADER_BYTES, query.length);
  for (let i = HEADER_BYTES; i < end; i++) if (query[i] !== reply[i]) return false;
  return true;
}

/** Whether a server returns the case of names. It counts as one that does until it shows otherwise. */
export class CaseEcho {
  #isKept = true;
  #unexplained = 0;

  /** Whether a reply over UDP may be the server's; if not, the question is to be asked over TCP, which is not forged so easily. */
  accepts(query: Uint8Array, reply: Uint8Array): boolean {
    if (!this.#isKept || hasSameCase(query, reply)) return true;
    this.#isKept = ++this.#unexplained < MAX_UNEXPLAINED;
    return false;
  }

  /** Notes a reply over TCP. */
  learn(query: Uint8Array, reply: Uint8Array): void {
    if (hasSameCase(query, reply)) this.#unexplained = 0;
    else this.#isKept = false;
  }
}
