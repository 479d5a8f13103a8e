import { InnerClient, type OnFound } from '@kube-dns/resolver';
import { type Client, NO_ANSWER_YET } from '@kube-dns/transport';
import {
  type AnswerWriter,
  buildQuery,
  expandName,
  expandRdata,
  FLAG,
  MAX_MESSAGE_BYTES,
  MAX_NAME_BYTES,
  Query,
  readUint16,
  RecordCursor,
  SECTION,
} from '@kube-dns/wire';
import { wireName } from './names.js';

/** Answers the queries of an address: from the server block of the longest zone that the name is in. */
export interface ZoneLookup {
  /** As an Answerer does; undefined where the name is in no zone. */
  answerInZone(query: Query, out: Uint8Array, client: Client, lookups: Lookups): number | undefined;
}

/** How many CNAMEs of templates and rewritten ones may follow each other. */
const MAX_DEPTH = 8;

/**
 * Questions that an answer needs, asked as the client of this address would ask them (coredns plugin/pkg/upstream): for
 * the targets of CNAMEs.
 */
export class Lookups {
  readonly #zones: ZoneLookup;
  readonly #depth: number;
  #next: Lookups | undefined;

  constructor(zones: ZoneLookup, depth = 0) {
    this.#zones = zones;
    this.#depth = depth;
  }

  /** Answers a question of this program, as an Answerer does; undefined where its name is in no zone. */
  answer(query: Query, out: Uint8Array, client: Client): number | undefined {
    this.#next ??= new Lookups(this.#zones, this.#depth + 1);
    return this.#depth < MAX_DEPTH
      ? this.#zones.answerInZone(query, out, client, this.#next)
      : undefined;
  }

  /** Asks for a name as presentation text; calls back now or later. */
  ask(
    name: string,
    type: number,
    client: Pick<Client, 'address' | 'port'>,
    onFound: OnFound,
  ): void {
    const query = this.#depth < MAX_DEPTH ? questionFor(name, type) : undefined;
    if (query === undefined) {
      onFound(undefined);
      return;
    }
    this.#next ??= new Lookups(this.#zones, this.#depth + 1);
    const out = new Uint8Array(MAX_MESSAGE_BYTES);
    const inner = new InnerClient(client.address, client.port, onFound);
    const length = this.#zones.answerInZone(query, out, inner, this.#next);
    if (length === undefined) onFound(undefined);
    else if (length !== NO_ANSWER_YET) onFound(out.subarray(0, length));
  }
}

/** A question over TCP, so that its answer is whole; undefined for what is no name. */
function questionFor(name: string, type: number): Query | undefined {
  const encoded = wireName(name);
  if (encoded === undefined) return undefined;
  const bytes = buildQuery(encoded, type);
  const query = new Query();
  query.read(bytes, bytes.length, true, MAX_MESSAGE_BYTES);
  return query;
}

/** Adds the answer section of a message to the one that is written, and that it is truncated if it is. */
export function addAnswers(writer: AnswerWriter, message: Uint8Array): void {
  const cursor = new RecordCursor().reset(message, message.length);
  const name = new Uint8Array(MAX_NAME_BYTES);
  const rdata = new Uint8Array(MAX_MESSAGE_BYTES);
  while (cursor.next() && cursor.section === SECTION.ANSWER) {
    const { type, rdataStart, end, start, ttlSeconds } = cursor;
    const bytes = expandRdata(message, type, rdataStart, end, rdata, 0);
    if (bytes < 0 || expandName(message, start, message.length, name) < 0) return;
    writer.add(SECTION.ANSWER, name, type, ttlSeconds, rdata, bytes);
  }
  if ((readUint16(message, 2) & FLAG.TC) !== 0) writer.setTruncated();
}
