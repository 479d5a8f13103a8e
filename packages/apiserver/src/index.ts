export { ApiServer, createApiServer, type ApiServerOptions } from './api-server.js';
export { ApiError, ApiserverError, ListenError, type StatusReason } from './errors.js';
export type { KubeObject, Manifest, ObjectMeta, OwnerReference } from './object.js';
export type { ObjectAccess } from './object-access.js';
export type { RequestLog } from './switches.js';
export type { ConfigMap } from './resources/core-kinds.js';
export type { EndpointPort } from './resources/endpoints.js';
export type { EndpointSlice, SliceEndpoint } from './resources/endpoints.js';
export type { EndpointAddress, Endpoints, EndpointSubset } from './resources/endpoints.js';
export type { Namespace } from './resources/core-kinds.js';
export type { Node } from './resources/core-kinds.js';
export type { Pod } from './resources/core-kinds.js';
export type { KindName, ObjectTypes } from './resources/resource-table.js';
export type { Service, ServicePort, ServiceSpec } from './resources/service.js';
export type {
  ClusterRole,
  ClusterRoleBinding,
  DaemonSet,
  Deployment,
  DisruptionBudget,
  PolicyRule,
  ServiceAccount,
} from './resources/stored-kinds.js';
export type { Bookmarks } from './http/watch.js';
export type { Failure, RestartOptions, Verb } from './switches.js';
