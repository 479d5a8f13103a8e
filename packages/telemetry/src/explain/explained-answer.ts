import {
  type AnswerSource,
  type ServerAddress,
  serverText,
  SOURCE_NAMES,
} from '@kube-dns/transport';
import {
  EDNS_OPTION,
  FLAG,
  OPTION_HEAD_BYTES,
  RCODE,
  RCODE_MASK,
  RCODE_NAMES,
  readUint16,
  RecordCursor,
  reasonsOf,
  recordText,
  SECTION,
  TYPE,
} from '@kube-dns/wire';
import type { ExplainedAnswer } from './explanation.js';

/** An answer, where it came from, and how long it took. */
export interface TakenAnswer {
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
export function explainedAnswer({ message, source, server, ms }: TakenAnswer): ExplainedAnswer {
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
    ede: extendedErrors(reasonsOf(message, cursor)),
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
