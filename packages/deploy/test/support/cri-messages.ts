import protobuf from 'protobufjs';

/** A part of k8s.io/cri-api, runtime/v1/api.proto: the fields that the tests fill in or read. */
const API = `
syntax = "proto3";
package runtime.v1;

message Int64Value { int64 value = 1; }
message Metadata { string name = 1; string uid = 2; string namespace = 3; }
message SecurityProfile { int32 profile_type = 1; }

message PodSandboxConfig {
  Metadata metadata = 1;
  string hostname = 2;
  string log_directory = 3;
  LinuxPodSandboxConfig linux = 8;
}
message LinuxPodSandboxConfig {
  LinuxSandboxSecurityContext security_context = 2;
  map<string, string> sysctls = 3;
}
message LinuxSandboxSecurityContext {
  repeated int64 supplemental_groups = 5;
  SecurityProfile seccomp = 9;
}

message ContainerConfig {
  Metadata metadata = 1;
  ImageSpec image = 2;
  repeated string args = 4;
  repeated KeyValue envs = 6;
  repeated Mount mounts = 7;
  string log_path = 11;
  LinuxContainerConfig linux = 15;
}
message ImageSpec { string image = 1; }
message KeyValue { string key = 1; string value = 2; }
message Mount { string container_path = 1; string host_path = 2; bool readonly = 3; }
message LinuxContainerConfig {
  LinuxContainerResources resources = 1;
  LinuxContainerSecurityContext security_context = 2;
}
message LinuxContainerResources { int64 memory_limit_in_bytes = 4; }
message LinuxContainerSecurityContext {
  Capability capabilities = 1;
  Int64Value run_as_user = 5;
  bool readonly_rootfs = 7;
  repeated int64 supplemental_groups = 8;
  bool no_new_privs = 11;
  Int64Value run_as_group = 12;
  SecurityProfile seccomp = 15;
}
message Capability { repeated string add_capabilities = 1; repeated string drop_capabilities = 2; }

message RunPodSandboxRequest { PodSandboxConfig config = 1; }
message RunPodSandboxResponse { string pod_sandbox_id = 1; }
message PodSandboxStatusRequest { string pod_sandbox_id = 1; bool verbose = 2; }
message PodSandboxStatusResponse { map<string, string> info = 2; }
message StopPodSandboxRequest { string pod_sandbox_id = 1; }
message StopPodSandboxResponse {}
message RemovePodSandboxRequest { string pod_sandbox_id = 1; }
message RemovePodSandboxResponse {}
message CreateContainerRequest {
  string pod_sandbox_id = 1;
  ContainerConfig config = 2;
  PodSandboxConfig sandbox_config = 3;
}
message CreateContainerResponse { string container_id = 1; }
message StartContainerRequest { string container_id = 1; }
message StartContainerResponse {}
message ContainerStatusRequest { string container_id = 1; bool verbose = 2; }
message ContainerStatusResponse { map<string, string> info = 2; }
`;

/** The fields of a message, with the names of the API. */
export type CriMessage = Readonly<Record<string, unknown>>;

/** The fields that the tests read in responses. */
export interface CriResponse {
  readonly pod_sandbox_id?: string;
  readonly container_id?: string;
  readonly info?: Readonly<Record<string, string>>;
}

const { root } = protobuf.parse(API, { keepCase: true });

/** Encodes the request of a method of runtime.v1.RuntimeService. */
export function encodeRequest(method: string, request: CriMessage): Uint8Array {
  const type = root.lookupType(`runtime.v1.${method}Request`);
  return type.encode(type.fromObject(request)).finish();
}

/** Decodes the response of a method; fields that are not in the API above are skipped. */
export function decodeResponse(method: string, bytes: Uint8Array): CriResponse {
  const type = root.lookupType(`runtime.v1.${method}Response`);
  return type.toObject(type.decode(bytes));
}
