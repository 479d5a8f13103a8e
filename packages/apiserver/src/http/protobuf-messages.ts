/**
 * The fields of protobuf bodies that the server reads. Source: generated.proto of k8s.io/api and
 * k8s.io/apimachinery; other fields are skipped. Timestamps and managed fields are missing,
 * because the server sets or drops them.
 */
export const SCHEMA = `
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
