import protobuf from 'protobufjs';
import { ApiError, messageOf } from '../errors.js';
import type { JsonObject } from '../object.js';
import { SCHEMA } from './protobuf-messages.js';

/** Media type of protobuf bodies: `kubectl create KIND` sends only these. */
export const PROTOBUF = 'application/vnd.kubernetes.protobuf';

/** The first bytes of every body. Source: apimachinery runtime/serializer/protobuf. */
const MAGIC = Buffer.from('k8s\0');

/** The messages of the schema that a body may hold. */
const KINDS = ['ConfigMap', 'DeleteOptions', 'Endpoints', 'EndpointSlice', 'Namespace', 'Service'];

const { root } = protobuf.parse(SCHEMA);

function refuse(why: string): ApiError {
  return new ApiError('BadRequest', `error decoding the request body: ${why}`);
}

function decode(type: protobuf.Type, bytes: Uint8Array): JsonObject {
  const reader = protobuf.Reader.create(bytes);
  // The library reports a field of the wrong wire type as unknown.
  reader.discardUnknown = false;
  let message: protobuf.Message;
  try {
    message = type.decode(reader);
  } catch (error) {
    throw refuse(messageOf(error));
  }
  return messageToJson(type, message);
}

/**
 * The JSON of a message. Go writes every field that is not a pointer, so empty strings and zeros
 * are fields that were not set.
 */
function messageToJson(type: protobuf.Type, message: protobuf.Message): JsonObject {
  for (const unknown of message.$unknowns ?? []) {
    const id = protobuf.Reader.create(unknown).uint32() >>> 3;
    if (id in type.fieldsById) throw refuse(`${type.name}: field ${id} has the wrong wire type`);
  }
  const json: JsonObject = {};
  for (const field of type.fieldsArray) {
    // The prototype of a message has a default for each field.
    if (!Object.hasOwn(message, field.name)) continue;
    const value = fieldToJson(field, Reflect.get(message, field.name));
    if (value !== undefined && value !== '' && value !== 0) json[field.name] = value;
  }
  return json;
}

function fieldToJson(field: protobuf.Field, value: unknown): unknown {
  if (!field.repeated && !field.map) return itemToJson(field, value);
  const entries = Object.entries(value as object);
  // The library creates an empty list or map for every such field.
  if (entries.length === 0) return undefined;
  if (field.repeated) return entries.map(([, item]) => itemToJson(field, item));
  return Object.fromEntries(entries.map(([key, item]) => [key, itemToJson(field, item)]));
}

function itemToJson({ resolvedType: type }: protobuf.Field, value: unknown): unknown {
  if (Buffer.isBuffer(value)) return value.toString('base64');
  if (!(type instanceof protobuf.Type)) return value;
  const json = messageToJson(type, value as protobuf.Message);
  if (type.name !== 'IntOrString') return json;
  return String(json.type) === '1' ? json.strVal : json.intVal;
}

/**
 * Decodes a body in Kubernetes' protobuf encoding to JSON. Throws a 400 when it is malformed, and a
 * 415 for kinds that the schema does not have (pods, nodes).
 */
export function parseProtobuf(body: Buffer): JsonObject {
  if (!body.subarray(0, MAGIC.length).equals(MAGIC)) throw refuse('not a Kubernetes message');
  const { typeMeta, raw = '' } = decode(root.lookupType('Unknown'), body.subarray(MAGIC.length));
  const { apiVersion, kind } = (typeMeta ?? {}) as JsonObject;
  if (typeof kind !== 'string' || !KINDS.includes(kind)) {
    throw new ApiError('UnsupportedMediaType', `${String(kind)} is not accepted as ${PROTOBUF}`);
  }
  // The schema has bytes here, which are base64 in JSON.
  const content = decode(root.lookupType(kind), Buffer.from(raw as string, 'base64'));
  return { apiVersion, kind, ...content };
}
