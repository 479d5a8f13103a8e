import { type AnswerSource, type ServerAddress, SOURCE } from '@kube-dns/transport';
import { AnswerWriter, MAX_MESSAGE_BYTES, parseAddress, Query } from '@kube-dns/wire';
import { ObservedAnswer } from '../src/observed-answer.js';

export interface ObservedFields {
  /** The query as it came. */
  readonly query: Uint8Array;
  readonly isOverTcp?: boolean;
  readonly client?: string;
  readonly port?: number;
  /** The answer; none: there was no answer. */
  readonly message?: Uint8Array | undefined;
  readonly ms?: number;
  readonly source?: AnswerSource;
  readonly server?: ServerAddress;
}

/** An answer as sinks get it. */
export function observed(fields: ObservedFields): ObservedAnswer {
  const { query, isOverTcp = false, client = '192.0.2.1', message, ms = 0.25 } = fields;
  const answer = new ObservedAnswer();
  answer.query.read(query, query.length, isOverTcp, 1_232);
  const address = parseAddress(client)!;
  answer.address.set(address);
  answer.addressBytes = address.length;
  answer.port = fields.port ?? 40_000;
  answer.endedMs = ms;
  answer.message = message ?? new Uint8Array(0);
  answer.length = message?.length ?? 0;
  answer.source = fields.source ?? SOURCE.CACHE;
  answer.server = fields.server;
  return answer;
}

/** An answer without records to a query. */
export function answerTo(bytes: Uint8Array, rcode = 0, reason?: Uint8Array): Uint8Array {
  const query = new Query();
  query.read(bytes, bytes.length, true, MAX_MESSAGE_BYTES);
  const writer = new AnswerWriter();
  const out = new Uint8Array(MAX_MESSAGE_BYTES);
  writer.begin(query, out);
  writer.setRcode(rcode, reason);
  return out.slice(0, writer.finish());
}
