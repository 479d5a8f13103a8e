import { isIP } from 'node:net';
import {
  type AnswerSource,
  randomId,
  type ServerAddress,
  serverText,
  SOURCE_NAMES,
} from '@kube-dns/transport';
import {
  appendOpt,
  buildQuery,
  decodeName,
  EDNS_OPTION,
  encodeName,
  FLAG,
  lowerCaseByte,
  MAX_MESSAGE_BYTES,
  OPTION_HEAD_BYTES,
  Query,
  RCODE,
  RCODE_MASK,
  RCODE_NAMES,
  readUint16,
  reasonsOf,
  RecordCursor,
  ReplyOutline,
  recordText,
  SAFE_UDP_BYTES,
  SECTION,
  TYPE,
  typeNumber,
  typeText,
  writeUint16,
} from '@kube-dns/wire';

/** What one program says about one question: JSON of `GET /explain?name=NAME&type=TYPE`. */
export interface Explanation {
  /** `kubedns`, `dnsmasq` or `node-cache`. */
  readonly program: string;
  /** The question as it was asked: the whole name with its final dot, and the type. */
  readonly question: { readonly name: string; readonly type: string };
  /** What led to the answer, in the order in which it was decided. */
  readonly steps: readonly ExplainedStep[];
  /** The answer that a client gets. */
  readonly verdict: ExplainedAnswer;
}

/** One step: a sentence for people, and the facts that it is made of. */
export interface ExplainedStep {
  /** What kind of step it is, such as `route`, `cache`, `service`, `slice`, `left-out`, `server`. */
  readonly step: string;
  readonly text: string;
  readonly [fact: string]: unknown;
}

/** An answer in presentation form (RFC 1035 section 5). */
export interface ExplainedAnswer {
  /** The name of the rcode; null where a client gets no answer. */
  readonly rcode: string | null;
  /** `aa`, `ra`, … in the order of the header. */
  readonly flags: readonly string[];
  /** `NAME TTL CLASS TYPE DATA` of each record. */
  readonly answers: readonly string[];
  readonly authorities: readonly string[];
  /** Extended DNS Errors (RFC 8914). */
  readonly ede: readonly { readonly code: number; readonly text: string }[];
  /** Where it came from: see AnswerSource. */
  readonly source: string;
  /** The server that replied; null where none was asked. */
  readonly server: string | null;
  /** How long it took, in milliseconds. */
  readonly ms: number;
}

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
  /** After this time there is no answer, in milliseconds. */
  readonly limitMs: number;
}

/** The longest text of a name: each byte escaped. */
const MAX_NAME_CHARACTERS = 1_024;
const DEFAULT_CLIENT = '127.0.0.1';
const OPT_BYTES = 11;
/** Every answerer has its own, shorter time-out. */
const MAX_LIMIT_MS = 15_000;

/** Reads `name`, `type`, `client` and `limit` (in milliseconds) of a request; a text says what is wrong with them. */
export function readQuestion(parameters: URLSearchParams): ExplainedQuestion | string {
  const nameText = parameters.get('name') ?? '';
  const typeName = parameters.get('type') ?? 'A';
  const client = parameters.get('client') ?? DEFAULT_CLIENT;
  const limitMs = Number(parameters.get('limit') ?? MAX_LIMIT_MS);
  if (nameText === '') return 'name is missing: /explain?name=NAME&type=TYPE';
  if (nameText.length > MAX_NAME_CHARACTERS) return 'name is too long';
  const type = typeNumber(typeName);
  if (type === undefined) return `type ${JSON.stringify(typeName.slice(0, 64))} is no record type`;
  if (type === TYPE.AXFR || type === TYPE.IXFR) return 'a zone transfer is not one answer';
  if (isIP(client) === 0) return `client ${JSON.stringify(client.slice(0, 64))} is no IP address`;
  if (!(limitMs >= 1 && limitMs <= MAX_LIMIT_MS)) {
    return `limit must be 1 to ${MAX_LIMIT_MS} milliseconds`;
  }
  try {
    const name = encodeName(nameText);
    const text = { name: absolute(decodeName(name)), type: typeText(type) };
    return { name, key: name.map(lowerCaseByte), type, text, client, limitMs };
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

/** An answer, where it came from, and how long it took. */
export interface ReceivedAnswer {
  /** Undefined where the client gets none. */
  readonly message: Uint8Array | undefined;
  readonly source: AnswerSource;
  readonly server: ServerAddress | undefined;
  readonly ms: number;
}

/** The bits of the header's second word, in their order there. */
const FLAGS = [
  ['aa', FLAG.AA],
  ['tc', FLAG.TC],
  ['rd', FLAG.RD],
  ['ra', FLAG.RA],
  ['ad', FLAG.AD],
  ['cd', FLAG.CD],
] as const;
/** More records than this are counted, not shown. */
const MAX_RECORDS = 2_000;
const CODE_BYTES = 2;

/** The answer that a client gets, in presentation form. */
export function explainedAnswer({ message, source, server, ms }: ReceivedAnswer): ExplainedAnswer {
  const common = {
    source: SOURCE_NAMES[source],
    server: server === undefined ? null : serverText(server),
    ms: Math.round(ms * 100) / 100,
  };
  const none = { rcode: null, flags: [], answers: [], authorities: [], ede: [] };
  if (message === undefined) return { ...none, ...common };
  const word = readUint16(message, 2);
  const answers: string[] = [];
  const authorities: string[] = [];
  let upperRcode = 0;
  const cursor = new RecordCursor().reset(message, message.length);
  while (cursor.next() && answers.length < MAX_RECORDS) {
    if (cursor.section === SECTION.ANSWER) answers.push(recordText(message, cursor));
    else if (cursor.section === SECTION.AUTHORITY) authorities.push(recordText(message, cursor));
    else if (cursor.type === TYPE.OPT) upperRcode = message[cursor.ttlAt]!;
  }
  return {
    rcode: rcodeName((upperRcode << 4) | (word & RCODE_MASK)),
    flags: FLAGS.filter(([, bit]) => (word & bit) !== 0).map(([name]) => name),
    answers,
    authorities,
    ede: extendedErrors(reasonsOf(message, new ReplyOutline().read(message))),
    ...common,
  };
}

function rcodeName(rcode: number): string {
  const later = Object.entries(RCODE).find(([, number]) => number === rcode)?.[0];
  return RCODE_NAMES[rcode] ?? later ?? `RCODE${rcode}`;
}

function extendedErrors(options: Uint8Array): ExplainedAnswer['ede'] {
  const errors: { code: number; text: string }[] = [];
  for (let at = 0; at < options.length;) {
    const end = at + OPTION_HEAD_BYTES + readUint16(options, at + 2);
    if (readUint16(options, at) !== EDNS_OPTION.EXTENDED_ERROR) break;
    const textAt = at + OPTION_HEAD_BYTES + CODE_BYTES;
    const text = Buffer.from(options.subarray(textAt, end)).toString();
    errors.push({ code: readUint16(options, textAt - CODE_BYTES), text });
    at = end;
  }
  return errors;
}
