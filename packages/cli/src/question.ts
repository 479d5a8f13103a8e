import { isIP } from 'node:net';
import { errorText, quote, UsageError } from '@kube-dns/base';
import { randomId } from '@kube-dns/transport';
import {
  buildQuery,
  encodeName,
  FNV_OFFSET,
  hashBytes,
  shortIpv6,
  typeNumber,
  writeUint16,
} from '@kube-dns/wire';

/** How a question is asked: over UDP, over TCP, and over UDP with an OPT record. */
export const WAYS = ['udp', 'tcp', 'edns'] as const;
export type Way = (typeof WAYS)[number];

/** The two name servers. */
export const SIDES = ['left', 'right'] as const;
export type Side = (typeof SIDES)[number];

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

/** Whether a name can be asked for: no label and no name is too long. */
export function isName(name: string): boolean {
  try {
    encodeName(name);
    return true;
  } catch {
    return false;
  }
}

/** A question in its normal form; undefined when the name is invalid or the type is unknown. */
export function readQuestion(name: string, type: string, kind: QuestionKind): Question | undefined {
  if (typeNumberOf(type) === undefined || !isName(name)) return undefined;
  const lower = name.toLowerCase();
  return {
    name: lower === '.' ? lower : lower.replace(/\.$/, ''),
    type: type.toUpperCase().replace('=', ''),
    kind,
  };
}

/** DNS itself has names with any byte, but no application asks for these: they are a mistake of quotes. */
const NEVER_IN_NAMES = /[\s\p{Cc}"'`]/u;

/** Why a text that is given as a name is none that can be asked for; undefined when it is one. */
export function nameProblem(text: string): string | undefined {
  const [wrong] = NEVER_IN_NAMES.exec(text) ?? [];
  if (text.trim() === '') return 'it is empty';
  if (wrong !== undefined) {
    return `no name has ${/\s/.test(wrong) ? 'blanks' : `the character ${JSON.stringify(wrong)}`}`;
  }
  try {
    encodeName(text);
    return undefined;
  } catch (error) {
    return errorText(error).replace(/^name ".*": /s, '');
  }
}

/** Throws a UsageError for a text that is no name, with the reason. */
export function checkName(text: string): void {
  const problem = nameProblem(text);
  if (problem !== undefined) throw new UsageError(`${quote(text)} is no name: ${problem}`);
}

/** The query for a question with a random ID; with an OPT record when `hasEdns`. */
export function encodeQuestion(name: string, type: string, hasEdns: boolean): Uint8Array {
  const query = buildQuery(encodeName(name), typeNumberOf(type) ?? 0);
  writeUint16(query, 0, randomId());
  if (!hasEdns) return query;
  writeUint16(query, ADDITIONAL_COUNT_OFFSET, 1);
  return Uint8Array.from(Buffer.concat([query, OPT]));
}

const OCTETS = /^(?:[0-9]{1,3}-){3}[0-9]{1,3}$/;
/** Endpoint, service, namespace, and what makes it a name of the cluster. */
const ENDPOINT_NAME = /^([0-9a-f-]+)(\.[^.]+\.[^.]+\.svc\..+)$/;

/**
 * The label in kube-dns for an address without hostname (kubernetes/dns pkg/dns/util/util.go,
 * HashServiceRecord): FNV-1a of the record as Go prints it, in hex, and that text in hex once more.
 */
export function hashLabel(address: string): string {
  const text = Buffer.from(`&{${address} 0 10 10  false 30 0  }`);
  const hash = hashBytes(FNV_OFFSET, text, 0, text.length);
  return Buffer.from((hash >>> 0).toString(16)).toString('hex');
}

/** The label in CoreDNS (plugin/kubernetes endpointHostname): the address with dashes. */
export function dashedLabel(address: string): string {
  const dashed = address.toLowerCase().replace(/[.:]/g, '-');
  return dashed.replace(/^-/, '0-').replace(/-$/, '-0');
}

/** The address of a label with dashes, as RFC 5952 writes it. */
function addressOfLabel(label: string): string | undefined {
  if (OCTETS.test(label)) {
    const address = label.replaceAll('-', '.');
    return isIP(address) === 4 ? address : undefined;
  }
  const address = label.replaceAll('-', ':');
  if (isIP(address) !== 6) return undefined;
  return shortIpv6(address);
}

/**
 * The name of an endpoint with the hash in place of the address in its first label, so that the names of both
 * servers are equal; any other name is unchanged.
 */
export function withHashLabel(name: string): string {
  const [, label = '', rest = ''] = ENDPOINT_NAME.exec(name) ?? [];
  const address = label.includes('-') ? addressOfLabel(label) : undefined;
  return address === undefined ? name : hashLabel(address) + rest;
}
