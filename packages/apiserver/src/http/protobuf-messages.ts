/** How the value of a field is encoded, and what becomes of it in JSON. */
export type FieldType =
  | 'string'
  | 'int'
  | 'bool'
  | 'base64'
  | 'intOrString'
  | { readonly message: Message }
  | { readonly mapOf: 'string' | 'base64' };

/** Name and type of a field; the third member marks a repeated one. */
export type Field = readonly [name: string, type: FieldType, isList?: 'list'];

/** The fields of a message by number; what is not named is passed over. */
export type Message = Readonly<Record<number, Field>>;

// Source of all numbers: generated.proto of k8s.io/api and k8s.io/apimachinery. Timestamps and
// managed fields are left out, because the server sets or drops them.

const OWNER_REFERENCE: Message = {
  1: ['kind', 'string'],
  3: ['name', 'string'],
  4: ['uid', 'string'],
  5: ['apiVersion', 'string'],
  6: ['controller', 'bool'],
  7: ['blockOwnerDeletion', 'bool'],
};

const METADATA: Field = [
  'metadata',
  {
    message: {
      1: ['name', 'string'],
      2: ['generateName', 'string'],
      3: ['namespace', 'string'],
      5: ['uid', 'string'],
      6: ['resourceVersion', 'string'],
      11: ['labels', { mapOf: 'string' }],
      12: ['annotations', { mapOf: 'string' }],
      13: ['ownerReferences', { message: OWNER_REFERENCE }, 'list'],
      14: ['finalizers', 'string', 'list'],
    },
  },
];

const OBJECT_REFERENCE: Message = {
  1: ['kind', 'string'],
  2: ['namespace', 'string'],
  3: ['name', 'string'],
  4: ['uid', 'string'],
  5: ['apiVersion', 'string'],
  6: ['resourceVersion', 'string'],
  7: ['fieldPath', 'string'],
};

const NAMESPACE: Message = {
  1: METADATA,
  2: ['spec', { message: { 1: ['finalizers', 'string', 'list'] } }],
  3: ['status', { message: { 1: ['phase', 'string'] } }],
};

const CONFIG_MAP: Message = {
  1: METADATA,
  2: ['data', { mapOf: 'string' }],
  3: ['binaryData', { mapOf: 'base64' }],
  4: ['immutable', 'bool'],
};

const SERVICE_PORT: Message = {
  1: ['name', 'string'],
  2: ['protocol', 'string'],
  3: ['port', 'int'],
  4: ['targetPort', 'intOrString'],
  5: ['nodePort', 'int'],
  6: ['appProtocol', 'string'],
};

const AFFINITY: Message = { 1: ['clientIP', { message: { 1: ['timeoutSeconds', 'int'] } }] };

const SERVICE_SPEC: Message = {
  1: ['ports', { message: SERVICE_PORT }, 'list'],
  2: ['selector', { mapOf: 'string' }],
  3: ['clusterIP', 'string'],
  4: ['type', 'string'],
  5: ['externalIPs', 'string', 'list'],
  7: ['sessionAffinity', 'string'],
  8: ['loadBalancerIP', 'string'],
  9: ['loadBalancerSourceRanges', 'string', 'list'],
  10: ['externalName', 'string'],
  11: ['externalTrafficPolicy', 'string'],
  12: ['healthCheckNodePort', 'int'],
  13: ['publishNotReadyAddresses', 'bool'],
  14: ['sessionAffinityConfig', { message: AFFINITY }],
  17: ['ipFamilyPolicy', 'string'],
  18: ['clusterIPs', 'string', 'list'],
  19: ['ipFamilies', 'string', 'list'],
  20: ['allocateLoadBalancerNodePorts', 'bool'],
  21: ['loadBalancerClass', 'string'],
  22: ['internalTrafficPolicy', 'string'],
  23: ['trafficDistribution', 'string'],
};

const INGRESS: Message = {
  1: ['ip', 'string'],
  2: ['hostname', 'string'],
  3: ['ipMode', 'string'],
};

const LOAD_BALANCER: Message = { 1: ['ingress', { message: INGRESS }, 'list'] };

const SERVICE: Message = {
  1: METADATA,
  2: ['spec', { message: SERVICE_SPEC }],
  3: ['status', { message: { 1: ['loadBalancer', { message: LOAD_BALANCER }] } }],
};

const ADDRESS: Message = {
  1: ['ip', 'string'],
  2: ['targetRef', { message: OBJECT_REFERENCE }],
  3: ['hostname', 'string'],
  4: ['nodeName', 'string'],
};

const SUBSET_PORT: Message = {
  1: ['name', 'string'],
  2: ['port', 'int'],
  3: ['protocol', 'string'],
  4: ['appProtocol', 'string'],
};

const SUBSET: Message = {
  1: ['addresses', { message: ADDRESS }, 'list'],
  2: ['notReadyAddresses', { message: ADDRESS }, 'list'],
  3: ['ports', { message: SUBSET_PORT }, 'list'],
};

const ENDPOINTS: Message = { 1: METADATA, 2: ['subsets', { message: SUBSET }, 'list'] };

const CONDITIONS: Message = {
  1: ['ready', 'bool'],
  2: ['serving', 'bool'],
  3: ['terminating', 'bool'],
};

const ENDPOINT: Message = {
  1: ['addresses', 'string', 'list'],
  2: ['conditions', { message: CONDITIONS }],
  3: ['hostname', 'string'],
  4: ['targetRef', { message: OBJECT_REFERENCE }],
  5: ['deprecatedTopology', { mapOf: 'string' }],
  6: ['nodeName', 'string'],
  7: ['zone', 'string'],
};

const SLICE_PORT: Message = {
  1: ['name', 'string'],
  2: ['protocol', 'string'],
  3: ['port', 'int'],
  4: ['appProtocol', 'string'],
};

const ENDPOINT_SLICE: Message = {
  1: METADATA,
  2: ['endpoints', { message: ENDPOINT }, 'list'],
  3: ['ports', { message: SLICE_PORT }, 'list'],
  4: ['addressType', 'string'],
};

const DELETE_OPTIONS: Message = {
  2: ['preconditions', { message: { 1: ['uid', 'string'], 2: ['resourceVersion', 'string'] } }],
  5: ['dryRun', 'string', 'list'],
};

/** What bodies in protobuf may hold, by the kind that they name. */
export const MESSAGES: ReadonlyMap<string, Message> = new Map([
  ['ConfigMap', CONFIG_MAP],
  ['DeleteOptions', DELETE_OPTIONS],
  ['Endpoints', ENDPOINTS],
  ['EndpointSlice', ENDPOINT_SLICE],
  ['Namespace', NAMESPACE],
  ['Service', SERVICE],
]);
