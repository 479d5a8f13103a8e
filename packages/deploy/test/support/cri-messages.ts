import type { MessageType } from './protobuf.js';

// The fields that the tests fill in, with the numbers of k8s.io/cri-api, runtime/v1/api.proto.

const INT64_VALUE: MessageType = { value: [1, 'int'] };
const METADATA: MessageType = { name: [1, 'string'], uid: [2, 'string'], namespace: [3, 'string'] };
const SECURITY_PROFILE: MessageType = { profile_type: [1, 'int'] };

export const POD_SANDBOX_CONFIG: MessageType = {
  metadata: [1, METADATA],
  hostname: [2, 'string'],
  log_directory: [3, 'string'],
  linux: [
    8,
    {
      security_context: [2, { supplemental_groups: [5, 'int'], seccomp: [9, SECURITY_PROFILE] }],
      sysctls: [3, 'map'],
    },
  ],
};

export const CONTAINER_CONFIG: MessageType = {
  metadata: [1, { name: [1, 'string'] }],
  image: [2, { image: [1, 'string'] }],
  args: [4, 'string'],
  envs: [6, { key: [1, 'string'], value: [2, 'string'] }],
  mounts: [7, { container_path: [1, 'string'], host_path: [2, 'string'], readonly: [3, 'bool'] }],
  log_path: [11, 'string'],
  linux: [
    15,
    {
      resources: [1, { memory_limit_in_bytes: [4, 'int'] }],
      security_context: [
        2,
        {
          capabilities: [1, { add_capabilities: [1, 'string'], drop_capabilities: [2, 'string'] }],
          run_as_user: [5, INT64_VALUE],
          readonly_rootfs: [7, 'bool'],
          supplemental_groups: [8, 'int'],
          no_new_privs: [11, 'bool'],
          run_as_group: [12, INT64_VALUE],
          seccomp: [15, SECURITY_PROFILE],
        },
      ],
    },
  ],
};

/** The requests of runtime.v1.RuntimeService by method. */
export const REQUESTS = {
  RunPodSandbox: { config: [1, POD_SANDBOX_CONFIG] },
  PodSandboxStatus: { pod_sandbox_id: [1, 'string'], verbose: [2, 'bool'] },
  StopPodSandbox: { pod_sandbox_id: [1, 'string'] },
  RemovePodSandbox: { pod_sandbox_id: [1, 'string'] },
  CreateContainer: {
    pod_sandbox_id: [1, 'string'],
    config: [2, CONTAINER_CONFIG],
    sandbox_config: [3, POD_SANDBOX_CONFIG],
  },
  StartContainer: { container_id: [1, 'string'] },
  ContainerStatus: { container_id: [1, 'string'], verbose: [2, 'bool'] },
} as const satisfies Record<string, MessageType>;
