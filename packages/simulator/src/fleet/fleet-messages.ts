import { type Answerer } from '@kube-dns/transport';
import {
  CLASS,
  CLUSTER_VERSION_REQUEST,
  encodeKey,
  FLAG,
  HEADER_BYTES,
  OPT_BYTES,
  QUESTION_FIXED_BYTES,
  QUESTION_OFFSET,
  type Query,
  readUint32,
  SAFE_UDP_BYTES,
  TYPE,
  writeUint16,
  writeUint32,
} from '@kube-dns/wire';
import type { FleetCode } from './fleet-code.js';
import type { Known } from './fleet-history.js';

export const APEX = encodeKey('cluster.local');
export const TTL_SECONDS = 30;
/** The head of a record whose owner is a pointer, before its data. */
const HEAD_BYTES = 12;
const ADDRESS_BYTES = 16;
const NUMBER_BYTES = 8;
const POINTER = 0xc000;

/** The name with a number, lower-cased in wire form: that of a service. */
export function nameOf(at: number): Uint8Array {
  return encodeKey(`s${at}.shop.svc.cluster.local`);
}

/** The number of such a name. */
export function indexOf(name: Uint8Array): number {
  let at = 0;
  for (let i = 2; i <= name[0]!; i++) at = at * 10 + name[i]! - 48;
  return at;
}

/** The questions for the addresses of the names, as caches and as clients ask: caches want the version of the zone. */
export class FleetQuestions {
  readonly #code: Pick<FleetCode, 'readQuery'>;
  readonly #ofCaches: Query[] = [];
  readonly #ofClients: Query[] = [];

  constructor(code: Pick<FleetCode, 'readQuery'>) {
    this.#code = code;
  }

  ofCache(at: number): Query {
    return (this.#ofCaches[at] ??= this.#code.readQuery(questionOf(at, CLUSTER_VERSION_REQUEST)));
  }

  ofClient(at: number): Query {
    return (this.#ofClients[at] ??= this.#code.readQuery(questionOf(at)));
  }
}

function questionOf(at: number, options?: Uint8Array): Buffer {
  const name = nameOf(at);
  const end = QUESTION_OFFSET + name.length + QUESTION_FIXED_BYTES;
  const out = Buffer.alloc(end + (options === undefined ? 0 : OPT_BYTES + options.length));
  writeUint16(out, 2, FLAG.RD);
  writeUint16(out, 4, 1);
  out.set(name, QUESTION_OFFSET);
  writeUint16(out, end - 4, TYPE.AAAA);
  writeUint16(out, end - 2, CLASS.IN);
  if (options === undefined) return out;
  writeUint16(out, 10, 1);
  writeUint16(out, end + 1, TYPE.OPT);
  writeUint16(out, end + 3, SAFE_UDP_BYTES);
  writeUint16(out, end + OPT_BYTES - 2, options.length);
  out.set(options, end + OPT_BYTES);
  return out;
}

/** Answers with an address that says what of the cluster was known: the versions of services and endpoints. */
export class KnownAnswerer implements Answerer {
  readonly #code: Pick<FleetCode, 'appendOpt'>;
  readonly #known: () => Known;

  constructor(code: Pick<FleetCode, 'appendOpt'>, known: () => Known) {
    this.#code = code;
    this.#known = known;
  }

  answer(query: Query, out: Uint8Array): number {
    const { bytes, questionEnd } = query;
    out.fill(0, 0, HEADER_BYTES);
    writeUint16(out, 2, FLAG.QR | FLAG.AA | FLAG.RD | FLAG.RA);
    writeUint16(out, 4, 1);
    writeUint16(out, 6, 1);
    for (let i = QUESTION_OFFSET; i < questionEnd; i++) out[i] = bytes[i]!;
    writeUint16(out, questionEnd, POINTER | QUESTION_OFFSET);
    writeUint16(out, questionEnd + 2, TYPE.AAAA);
    writeUint16(out, questionEnd + 4, CLASS.IN);
    writeUint32(out, questionEnd + 6, TTL_SECONDS);
    writeUint16(out, questionEnd + 10, ADDRESS_BYTES);
    this.#known().forEach((version, i) => {
      const at = questionEnd + HEAD_BYTES + i * NUMBER_BYTES;
      writeUint32(out, at, Math.floor(version / 2 ** 32));
      writeUint32(out, at + 4, version % 2 ** 32);
    });
    return this.#code.appendOpt(query, out, questionEnd + HEAD_BYTES + ADDRESS_BYTES);
  }
}

/** What an answer to this question knows. */
export function knownBy({ questionEnd }: Query, answer: Uint8Array): Known {
  const at = questionEnd + HEAD_BYTES;
  const read = (from: number) => readUint32(answer, from) * 2 ** 32 + readUint32(answer, from + 4);
  return [read(at), read(at + NUMBER_BYTES)];
}
