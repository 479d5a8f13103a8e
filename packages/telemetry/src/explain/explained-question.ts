import { isIP } from 'node:net';
import { randomId } from '@kube-dns/transport';
import {
  appendOpt,
  buildQuery,
  decodeName,
  encodeName,
  lowerCaseByte,
  MAX_MESSAGE_BYTES,
  Query,
  SAFE_UDP_BYTES,
  TYPE,
  typeNumber,
  typeText,
  writeUint16,
} from '@kube-dns/wire';

/** A question that is explained. */
export interface ExplainedQuestion {
  /** In wire form: with its case, and lower-cased. */
  readonly name: Uint8Array;
  readonly key: Uint8Array;
  readonly type: number;
  /** As an explanation shows it. */
  readonly text: { readonly name: string; readonly type: string };
  /** The address of the client. */
  readonly client: string;
}

/** The longest text of a name: each byte escaped. */
const MAX_NAME_CHARACTERS = 1_024;
const DEFAULT_CLIENT = '127.0.0.1';
const OPT_BYTES = 11;

/** Reads `name`, `type` and `client` of a request; a text says what is wrong with them. */
export function readQuestion(parameters: URLSearchParams): ExplainedQuestion | string {
  const nameText = parameters.get('name') ?? '';
  const typeName = parameters.get('type') ?? 'A';
  const client = parameters.get('client') ?? DEFAULT_CLIENT;
  if (nameText === '') return 'name is missing: /explain?name=NAME&type=TYPE';
  if (nameText.length > MAX_NAME_CHARACTERS) return 'name is too long';
  const type = typeNumber(typeName);
  if (type === undefined) return `type ${JSON.stringify(typeName.slice(0, 64))} is no record type`;
  if (type === TYPE.AXFR || type === TYPE.IXFR) return 'a zone transfer is not one answer';
  if (isIP(client) === 0) return `client ${JSON.stringify(client.slice(0, 64))} is no IP address`;
  try {
    const name = encodeName(nameText);
    const text = { name: absolute(decodeName(name)), type: typeText(type) };
    return { name, key: name.map(lowerCaseByte), type, text, client };
  } catch (error) {
    return error instanceof Error ? error.message : 'name is not valid';
  }
}

/** The query that a client with EDNS sends for it, with a new ID. */
export function queryFor({ name, type }: ExplainedQuestion, isOverTcp: boolean): Query {
  const plain = buildQuery(name, type);
  const bytes = new Uint8Array(plain.length + OPT_BYTES);
  bytes.set(plain);
  writeUint16(bytes, 0, randomId());
  const edns = { hasEdns: true, isDnssecOk: false, maxUdpBytes: SAFE_UDP_BYTES };
  const length = appendOpt(edns, bytes, plain.length);
  const query = new Query();
  query.read(bytes, length, isOverTcp, isOverTcp ? MAX_MESSAGE_BYTES : SAFE_UDP_BYTES);
  return query;
}

/** A name with its final dot. */
function absolute(text: string): string {
  return text === '.' ? text : `${text}.`;
}
