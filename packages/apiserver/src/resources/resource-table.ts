import {
  configMapKind,
  namespaceKind,
  nodeKind,
  podKind,
  type ConfigMap,
  type Namespace,
  type Node,
  type Pod,
} from './core-kinds.js';
import {
  endpointsKind,
  endpointSliceKind,
  type Endpoints,
  type EndpointSlice,
} from './endpoints.js';
import type { ResourceKind } from './resource-kind.js';
import { serviceKind, type Service } from './service.js';
import {
  STORED_KINDS,
  type ClusterRole,
  type ClusterRoleBinding,
  type DaemonSet,
  type Deployment,
  type DisruptionBudget,
  type Gateway,
  type GatewayRoute,
  type Ingress,
  type ServiceAccount,
  type ServiceImport,
} from './stored-kinds.js';

/** The object type of each kind that the server has. */
export interface ObjectTypes {
  ClusterRole: ClusterRole;
  ClusterRoleBinding: ClusterRoleBinding;
  ConfigMap: ConfigMap;
  DaemonSet: DaemonSet;
  Deployment: Deployment;
  Endpoints: Endpoints;
  EndpointSlice: EndpointSlice;
  Gateway: Gateway;
  GRPCRoute: GatewayRoute;
  HTTPRoute: GatewayRoute;
  Ingress: Ingress;
  Namespace: Namespace;
  Node: Node;
  Pod: Pod;
  PodDisruptionBudget: DisruptionBudget;
  Service: Service;
  ServiceAccount: ServiceAccount;
  ServiceImport: ServiceImport;
  TLSRoute: GatewayRoute;
}

/** Name of a kind that the server has. */
export type KindName = keyof ObjectTypes;

const KINDS: { readonly [K in KindName]: ResourceKind<ObjectTypes[K]> } = {
  ConfigMap: configMapKind,
  Endpoints: endpointsKind,
  EndpointSlice: endpointSliceKind,
  Namespace: namespaceKind,
  Node: nodeKind,
  Pod: podKind,
  Service: serviceKind,
  ...STORED_KINDS,
};

/** Every kind that the server has. */
export const RESOURCE_KINDS: readonly ResourceKind[] = Object.values(KINDS);

/** The table entry of a kind, by its name. */
export function kindNamed(name: KindName): ResourceKind {
  return KINDS[name];
}

/** The table entry for the `apiVersion` and `kind` of an object, if there is one. */
export function findKind(apiVersion: string, kind: string): ResourceKind | undefined {
  const [version, group = ''] = apiVersion.split('/').reverse();
  return RESOURCE_KINDS.find(
    (item) => item.kind === kind && item.group === group && isServedIn(item, version),
  );
}

/** The table entry for the parts of a URL, if there is one. */
export function findResource(
  group: string,
  version: string,
  plural: string,
): ResourceKind | undefined {
  return RESOURCE_KINDS.find(
    (item) => item.plural === plural && item.group === group && isServedIn(item, version),
  );
}

function isServedIn(kind: ResourceKind, version = ''): boolean {
  return kind.version === version || kind.otherVersions.includes(version);
}
