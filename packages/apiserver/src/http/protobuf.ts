import { ApiError } from '../errors.js';
import type { JsonObject } from '../object.js';
import { MESSAGES, type FieldType, type Message } from './protobuf-messages.js';

/** Media type of protobuf bodies, which clients made by code generation prefer. */
export const PROTOBUF = 'application/vnd.kubernetes.protobuf';

/** Every body begins with this. Source: apimachinery runtime/serializer/protobuf. */
const MAGIC = Buffer.from('k8s\0');

/** The envelope `runtime.Unknown` behind the magic. */
const ENVELOPE: Message = {
  1: ['type', { message: { 1: ['apiVersion', 'string'], 2: ['kind', 'string'] } }],
  2: ['raw', 'base64'],
};

const INT_OR_STRING: Message = { 1: ['type', 'int'], 2: ['int', 'int'], 3: ['string', 'string'] };

function refuse(why: string): ApiError {
  return new ApiError('BadRequest', `error decoding the request body: ${why}`);
}

/** Reads the fields of one message; every length is checked before it is used. */
class MessageReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw refuse('truncated number');
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, value);
    }
    throw refuse('number of more than ten bytes');
  }

  chunk(length = Number(this.varint())): Buffer {
    const end = this.#at + length;
    if (length < 0 || end > this.#bytes.length) throw refuse('truncated field');
    const bytes = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }

  /** The value of a field as number or bytes, by its wire type. */
  value(wireType: number): bigint | Buffer {
    switch (wireType) {
      case 0:
        return this.varint();
      case 1:
        return this.chunk(8);
      case 2:
        return this.chunk();
      case 5:
        return this.chunk(4);
      default:
        throw refuse(`unknown wire type ${wireType}`);
    }
  }
}

function requireBytes(value: bigint | Buffer): Buffer {
  if (typeof value === 'bigint') throw refuse('a field has the wrong wire type');
  return value;
}

function requireNumber(value: bigint | Buffer): number {
  if (typeof value !== 'bigint') throw refuse('a field has the wrong wire type');
  return Number(value);
}

/**
 * The JSON value of a field; undefined where it says no more than its absence. Go writes every
 * field that is not a pointer, so empty texts and zeros are what was not set.
 */
function toJson(value: bigint | Buffer, type: FieldType): unknown {
  if (type === 'int') return requireNumber(value) || undefined;
  if (type === 'bool') return requireNumber(value) !== 0;
  const bytes = requireBytes(value);
  if (type === 'string') return bytes.toString('utf8') || undefined;
  if (type === 'base64') return bytes.toString('base64');
  if (type !== 'intOrString') return 'message' in type ? decodeMessage(bytes, type.message) : bytes;
  const { type: kind, int, string } = decodeMessage(bytes, INT_OR_STRING);
  return kind === 1 ? string : int;
}

function decodeMessage(bytes: Buffer, message: Message): JsonObject {
  const reader = new MessageReader(bytes);
  const result: JsonObject = {};
  while (!reader.isAtEnd) {
    const tag = Number(reader.varint());
    const value = reader.value(tag & 7);
    const field = message[tag >> 3];
    if (!field) continue;
    const [name, type, isList] = field;
    if (typeof type === 'object' && 'mapOf' in type) {
      addEntry((result[name] ??= {}) as JsonObject, requireBytes(value), type.mapOf);
    } else if (isList) {
      ((result[name] ??= []) as unknown[]).push(toJson(value, type) ?? '');
    } else {
      const json = toJson(value, type);
      if (json !== undefined) result[name] = json;
    }
  }
  return result;
}

function addEntry(map: JsonObject, bytes: Buffer, valueType: 'string' | 'base64'): void {
  const { key = '', value = '' } = decodeMessage(bytes, {
    1: ['key', 'string'],
    2: ['value', valueType],
  });
  Object.defineProperty(map, String(key), {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}

/**
 * Reads a body in Kubernetes' protobuf encoding as the JSON that it stands for. Throws a 400
 * when it is broken and a 415 for kinds whose messages are not known (pods, nodes).
 */
export function parseProtobuf(body: Buffer): JsonObject {
  if (!body.subarray(0, MAGIC.length).equals(MAGIC)) throw refuse('not a Kubernetes message');
  const { type, raw = '' } = decodeMessage(body.subarray(MAGIC.length), ENVELOPE);
  const { apiVersion, kind } = (type ?? {}) as JsonObject;
  const message = MESSAGES.get(String(kind));
  if (!message) {
    throw new ApiError('UnsupportedMediaType', `${String(kind)} is not accepted as ${PROTOBUF}`);
  }
  const content = decodeMessage(Buffer.from(String(raw), 'base64'), message);
  return { apiVersion, kind, ...content };
}
