import protobuf from 'protobufjs';
import { ApiError, messageOf } from '../errors.js';
import type { JsonObject } from '../object.js';

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
