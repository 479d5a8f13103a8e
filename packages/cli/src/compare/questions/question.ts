import { randomId } from '@kube-dns/transport';
import { buildQuery, encodeName, typeNumber, writeUint16 } from '@kube-dns/wire';

/** The kinds of questions, in the order of a report. */
export const QUESTION_KINDS = [
  'service',
  'port',
  'endpoint',
  'pod',
  'reverse',
  'zone',
  'absent',
  'external',
  'given',
] as const;
export type QuestionKind = (typeof QUESTION_KINDS)[number];

export interface Question {
  /** Lower case, without the trailing dot; the root is `.`. */
  readonly name: string;
  /** Upper case: `SRV`, or `TYPE65` where the type has no name here. */
  readonly type: string;
  readonly kind: QuestionKind;
  /** The name of the same endpoint on a server that names endpoints in the other way. */
  readonly alternate?: string;
}

const ADDITIONAL_COUNT_OFFSET = 10;
/** OPT with a payload size of 1232 bytes, version 0, no options (RFC 6891 section 6.1.2). */
const OPT = Uint8Array.of(0, 0, 41, 0x04, 0xd0, 0, 0, 0, 0, 0, 0);
/** Zone transfers are not asked: they are not one answer, and a heavy load. */
const TRANSFERS = new Set([251, 252]);

/**
 * The number of a record type given as `SRV`, `TYPE33` (RFC 3597) or `type=33` (dnsmasq); undefined for any
 * other text, and for zone transfers.
 */
export function typeNumberOf(text: string): number | undefined {
  const number = typeNumber(text.replace(/^(type)=/i, '$1'));
  return number === undefined || TRANSFERS.has(number) ? undefined : number;
}

/** A question in its normal form; undefined when the name is invalid or the type is unknown. */
export function readQuestion(name: string, type: string, kind: QuestionKind): Question | undefined {
  if (typeNumberOf(type) === undefined) return undefined;
  try {
    encodeName(name);
  } catch {
    return undefined;
  }
  const lower = name.toLowerCase();
  return {
    name: lower === '.' ? lower : lower.replace(/\.$/, ''),
    type: type.toUpperCase().replace('=', ''),
    kind,
  };
}

/** The query for a question with a random ID; with an OPT record when `hasEdns`. */
export function encodeQuestion(name: string, type: string, hasEdns: boolean): Uint8Array {
  const query = buildQuery(encodeName(name), typeNumberOf(type) ?? 0);
  writeUint16(query, 0, randomId());
  if (!hasEdns) return query;
  writeUint16(query, ADDITIONAL_COUNT_OFFSET, 1);
  return Uint8Array.from(Buffer.concat([query, OPT]));
}
