import protobuf from 'protobufjs';
import { errorText } from '@kube-dns/base';
import type { DuplicateFields } from '../cluster/registry.js';
import { ApiError, ApiserverError } from '../errors.js';
import type { JsonObject } from '../object.js';
import { isDeeperThan } from '../resources/shape.js';
import {
  findDuplicateYamlKeys,
  findFault,
  MAX_DEPTH,
  parseYamlText,
  yamlValueOf,
} from '../yaml.js';

/**
 * The fields of protobuf bodies that the server reads. Source: generated.proto of k8s.io/api and
 * k8s.io/apimachinery; other fields are skipped. Timestamps and managed fields are missing,
 * because the server sets or drops them.
 */
const SCHEMA = `
syntax = "proto2";

message Unknown {
  optional TypeMeta typeMeta = 1;
  optional bytes raw = 2;
}
message TypeMeta {
  optional string apiVersion = 1;
  optional string kind = 2;
}
message ObjectMeta {
  optional string name = 1;
  optional string generateName = 2;
  optional string namespace = 3;
  optional string uid = 5;
  optional string resourceVersion = 6;
  map<string, string> labels = 11;
  map<string, string> annotations = 12;
  repeated OwnerReference ownerReferences = 13;
  repeated string finalizers = 14;
}
message OwnerReference {
  optional string kind = 1;
  optional string name = 3;
  optional string uid = 4;
  optional string apiVersion = 5;
  optional bool controller = 6;
  optional bool blockOwnerDeletion = 7;
}
message ObjectReference {
  optional string kind = 1;
  optional string namespace = 2;
  optional string name = 3;
  optional string uid = 4;
  optional string apiVersion = 5;
  optional string resourceVersion = 6;
  optional string fieldPath = 7;
}
message IntOrString {
  optional int64 type = 1;
  optional int32 intVal = 2;
  optional string strVal = 3;
}
message DeleteOptions {
  optional Preconditions preconditions = 2;
  repeated string dryRun = 5;
}
message Preconditions {
  optional string uid = 1;
  optional string resourceVersion = 2;
}

message Namespace {
  optional ObjectMeta metadata = 1;
  optional NamespaceSpec spec = 2;
  optional NamespaceStatus status = 3;
}
message NamespaceSpec {
  repeated string finalizers = 1;
}
message NamespaceStatus {
  optional string phase = 1;
}

message ConfigMap {
  optional ObjectMeta metadata = 1;
  map<string, string> data = 2;
  map<string, bytes> binaryData = 3;
  optional bool immutable = 4;
}

message Service {
  optional ObjectMeta metadata = 1;
  optional ServiceSpec spec = 2;
  optional ServiceStatus status = 3;
}
message ServiceSpec {
  repeated ServicePort ports = 1;
  map<string, string> selector = 2;
  optional string clusterIP = 3;
  optional string type = 4;
  repeated string externalIPs = 5;
  optional string sessionAffinity = 7;
  optional string loadBalancerIP = 8;
  repeated string loadBalancerSourceRanges = 9;
  optional string externalName = 10;
  optional string externalTrafficPolicy = 11;
  optional int32 healthCheckNodePort = 12;
  optional bool publishNotReadyAddresses = 13;
  optional SessionAffinityConfig sessionAffinityConfig = 14;
  optional string ipFamilyPolicy = 17;
  repeated string clusterIPs = 18;
  repeated string ipFamilies = 19;
  optional bool allocateLoadBalancerNodePorts = 20;
  optional string loadBalancerClass = 21;
  optional string internalTrafficPolicy = 22;
  optional string trafficDistribution = 23;
}
message ServicePort {
  optional string name = 1;
  optional string protocol = 2;
  optional int32 port = 3;
  optional IntOrString targetPort = 4;
  optional int32 nodePort = 5;
  optional string appProtocol = 6;
}
message SessionAffinityConfig {
  optional ClientIPConfig clientIP = 1;
}
message ClientIPConfig {
  optional int32 timeoutSeconds = 1;
}
message ServiceStatus {
  optional LoadBalancerStatus loadBalancer = 1;
}
message LoadBalancerStatus {
  repeated LoadBalancerIngress ingress = 1;
}
message LoadBalancerIngress {
  optional string ip = 1;
  optional string hostname = 2;
  optional string ipMode = 3;
}

message Endpoints {
  optional ObjectMeta metadata = 1;
  repeated EndpointSubset subsets = 2;
}
message EndpointSubset {
  repeated EndpointAddress addresses = 1;
  repeated EndpointAddress notReadyAddresses = 2;
  repeated SubsetPort ports = 3;
}
message EndpointAddress {
  optional string ip = 1;
  optional ObjectReference targetRef = 2;
  optional string hostname = 3;
  optional string nodeName = 4;
}
message SubsetPort {
  optional string name = 1;
  optional int32 port = 2;
  optional string protocol = 3;
  optional string appProtocol = 4;
}

message EndpointSlice {
  optional ObjectMeta metadata = 1;
  repeated Endpoint endpoints = 2;
  repeated SlicePort ports = 3;
  optional string addressType = 4;
}
message Endpoint {
  repeated string addresses = 1;
  optional EndpointConditions conditions = 2;
  optional string hostname = 3;
  optional ObjectReference targetRef = 4;
  map<string, string> deprecatedTopology = 5;
  optional string nodeName = 6;
  optional string zone = 7;
}
message EndpointConditions {
  optional bool ready = 1;
  optional bool serving = 2;
  optional bool terminating = 3;
}
message SlicePort {
  optional string name = 1;
  optional string protocol = 2;
  optional int32 port = 3;
  optional string appProtocol = 4;
}
`;

/** Media type of protobuf bodies: `kubectl create KIND` sends only these. */
const PROTOBUF = 'application/vnd.kubernetes.protobuf';

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
    throw refuse(errorText(error));
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

/** An object or a list that is not closed yet. */
interface Level {
  /** The keys so far; undefined in a list. */
  readonly keys: Set<string> | undefined;
  /** The key or the index of the present value. */
  at: string | number;
  expectsKey: boolean;
}

function open(isObject: boolean): Level {
  return { keys: isObject ? new Set() : undefined, at: 0, expectsKey: isObject };
}

/** The index after the text that begins at `start`. */
function endOfText(json: string, start: number): number {
  let end = start;
  do {
    end = json.indexOf('"', end + 1);
    let first = end;
    while (json[first - 1] === '\\') first -= 1;
    // An odd number of backslashes: the quotation mark is part of the text.
    if ((end - first) % 2 === 0) return end + 1;
  } while (end >= 0);
  return json.length;
}

function pathOf(levels: readonly Level[]): string {
  const steps = levels.map(({ at }) => (typeof at === 'number' ? `[${at}]` : `.${at}`));
  return steps.join('').replace(/^\./, '');
}

/** The paths of the keys that an object of a valid JSON text has twice, in the order of the text. */
export function findDuplicateKeys(json: string): string[] {
  const found = new Set<string>();
  const levels: Level[] = [];
  let level: Level | undefined;
  for (let i = 0; i < json.length; i += 1) {
    const character = json.charAt(i);
    switch (character) {
      case '{':
      case '[':
        level = open(character === '{');
        levels.push(level);
        break;
      case '}':
      case ']':
        levels.pop();
        level = levels.at(-1);
        break;
      case ',':
        if (level?.keys) level.expectsKey = true;
        else if (level) level.at = Number(level.at) + 1;
        break;
      case '"': {
        const end = endOfText(json, i);
        if (level?.keys && level.expectsKey) {
          const key = JSON.parse(json.slice(i, end)) as string;
          level.at = key;
          level.expectsKey = false;
          if (level.keys.has(key)) found.add(pathOf(levels));
          level.keys.add(key);
        }
        i = end - 1;
      }
    }
  }
  return [...found];
}

/** The warnings about fields that a JSON text has twice; undefined when it has none. */
function describeDuplicates(paths: readonly string[], prefix = ''): DuplicateFields | undefined {
  if (paths.length === 0) return undefined;
  const warnings = paths.map((path) => `${prefix}duplicate field ${JSON.stringify(path)}`);
  return { warnings, refusal: warnings.join(', ') };
}

/** Source: kube-apiserver MaxRequestBodyBytes. */
export const MAX_BODY_BYTES = 3 * 1024 * 1024;

/** Its parser needs a second for some texts of this length, and nothing else is answered meanwhile. */
const MAX_YAML_BYTES = 64 * 1024;

/** The value of a request body; undefined for an empty one. */
export interface Body {
  readonly value: unknown;
  /** The fields that its text has twice; the last one of each is in the value. */
  readonly duplicates?: DuplicateFields | undefined;
}

/** `keys` are the offsets of the duplicate keys. */
function describeYamlDuplicates(
  text: string,
  keys: readonly number[],
  lineAt: (offset: number) => number,
): DuplicateFields | undefined {
  if (keys.length === 0) return undefined;
  const warnings = keys.map((offset) => {
    const [, key = '', gap = ''] =
      /^("(?:[^"\\]|\\.)*"|'[^']*'|[^:\s]+)\s*:(\s*)/.exec(text.slice(offset)) ?? [];
    // The line of the value, which may be a later one.
    const line = lineAt(offset) + gap.split('\n').length - 1;
    return `line ${line}: key "${key.replace(/^["']|["']$/g, '')}" already set in map`;
  });
  return { warnings, refusal: `yaml: unmarshal errors:\n  ${warnings.join('\n  ')}` };
}

function parseYaml(text: string): Body {
  const { documents, lineAt } = parseYamlText(text);
  const [document, second] = documents;
  if (!document) return { value: null };
  const fault = findFault(document);
  if (fault) throw new ApiserverError('yaml', `line ${lineAt(fault.offset)}: ${fault.message}`);
  if (second) throw new ApiserverError('yaml', 'more than one document');
  const duplicates = describeYamlDuplicates(text, findDuplicateYamlKeys(document), lineAt);
  return { value: yamlValueOf(document), duplicates };
}

function parseJson(text: string, isJsonPatch: boolean): Body {
  const value: unknown = JSON.parse(text);
  // What follows is recursive.
  if (isDeeperThan(value, MAX_DEPTH)) {
    throw new ApiserverError('json', `nested deeper than ${MAX_DEPTH}`);
  }
  const prefix = isJsonPatch ? 'json patch ' : '';
  return { value, duplicates: describeDuplicates(findDuplicateKeys(text), prefix) };
}

/** The media type of a `Content-Type`, in lower case and without parameters. */
export function mediaTypeOf(header: string | undefined): string {
  return (header ?? '').split(';')[0]!.trim().toLowerCase();
}

/**
 * Parses a request body. Throws a 400 when it cannot be parsed, a 413 for a long YAML and a 415 when it
 * is neither JSON, YAML nor protobuf.
 */
export function parseBody(body: unknown, contentType: string | undefined): Body {
  if (!Buffer.isBuffer(body) || body.length === 0) return { value: undefined };
  const mediaType = mediaTypeOf(contentType);
  if (mediaType === PROTOBUF) return { value: parseProtobuf(body) };
  const isYaml = /[/+]yaml$/.test(mediaType);
  if (mediaType !== '' && !isYaml && !/[/+]json$/.test(mediaType)) {
    throw new ApiError(
      'UnsupportedMediaType',
      `the body of the request was in an unknown format (${mediaType}) - accepted media types include: application/json, application/yaml, ${PROTOBUF}`,
    );
  }
  if (isYaml && body.length > MAX_YAML_BYTES) {
    const why = `a YAML body has at most ${MAX_YAML_BYTES} bytes: send JSON, as kubectl does`;
    throw new ApiError('RequestEntityTooLarge', `Request entity too large: ${why}`);
  }
  try {
    const text = body.toString('utf8');
    return isYaml ? parseYaml(text) : parseJson(text, mediaType === 'application/json-patch+json');
  } catch (error) {
    throw new ApiError('BadRequest', `error decoding the request body: ${errorText(error)}`);
  }
}
