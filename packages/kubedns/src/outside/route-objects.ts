import { isDnsSubdomain } from '@kube-dns/daemon';
import {
  checkLabels,
  type HostRecords,
  hostRecords,
  isSameHost,
  metadataOf,
  outsideAddresses,
  recordsBytes,
} from '../watch/projections.js';
import type { ApiObject, Projection } from '../watch/store.js';
import {
  BACKEND_TARGET,
  createdOf,
  createdText,
  hostBytes,
  hostList,
  TARGET_ANNOTATION,
  targetsBackend,
} from './host-names.js';

type OnRejected = (reason: string) => void;
type Fields = Readonly<Record<string, unknown>>;

/** The fields of an Ingress, or of a Gateway route, that its hosts need. */
export interface Route extends Projection {
  /** In seconds since 1970; 0 where that is not known. */
  readonly created: number;
  readonly hosts: readonly string[];
  /** The service behind each host, in its namespace; '' where it has none. Empty unless hosts lead there. */
  readonly backends: readonly string[];
  /** Of an Ingress: the addresses of its load balancer. */
  readonly records: HostRecords | undefined;
  /** `namespace/name` of the gateways that a route is attached to. */
  readonly gateways: readonly string[];
}

/** The fields of a Gateway. */
export interface Gateway extends Projection {
  readonly records: HostRecords | undefined;
}

const GATEWAY_GROUP = 'gateway.networking.k8s.io';
/** The API allows 32 parents of a route. */
const MAX_PARENTS = 32;
/** Of an Ingress; a route has 16 rules. */
const MAX_RULES = 256;
/** Without hosts and addresses, as measured. */
const ROUTE_BYTES = 700;
const GATEWAY_BYTES = 500;

/** Projects an Ingress; throws for an object without a name. */
export function projectIngress(object: ApiObject, onRejected: OnRejected): Route {
  const { metadata, spec, status } = object as ApiObject & { spec?: unknown; status?: unknown };
  checkName(metadata);
  const backends = new Map<string, string>();
  for (const rule of listOf(fieldsOf(spec).rules, MAX_RULES, 'rules', onRejected)) {
    const { host, http } = fieldsOf(rule);
    // A rule without a host is for every name.
    if (host === undefined || host === null || host === '') continue;
    const [path] = arrayOf(fieldsOf(http).paths);
    const { name } = fieldsOf(fieldsOf(fieldsOf(path).backend).service);
    const [taken] = hostList([host], onRejected);
    if (taken !== undefined && !backends.has(taken)) backends.set(taken, serviceName(name));
  }
  const ingress = arrayOf(fieldsOf(fieldsOf(status).loadBalancer).ingress);
  return routeOf(metadata, [...backends.keys()], [...backends.values()], {
    records: hostRecords(ingress.map(addressOf), onRejected),
    gateways: [],
  });
}

/** Projects an HTTPRoute, a GRPCRoute or a TLSRoute; throws for an object without a name. */
export function projectRoute(object: ApiObject, onRejected: OnRejected): Route {
  const { metadata, spec, status } = object as ApiObject & { spec?: unknown; status?: unknown };
  checkName(metadata);
  const namespace = metadata?.namespace ?? '';
  const { hostnames, parentRefs, rules } = fieldsOf(spec);
  const hosts = hostList(arrayOf(hostnames), onRejected);
  const refused = refusedParents(status, namespace);
  const parents = listOf(parentRefs, MAX_PARENTS, 'parents', onRejected);
  const gateways = new Set(parents.flatMap((ref) => gatewayOf(ref, namespace)));
  const [rule] = arrayOf(rules);
  const [backend] = arrayOf(fieldsOf(rule).backendRefs);
  const service = backendOf(backend, namespace);
  return routeOf(
    metadata,
    hosts,
    hosts.map(() => service),
    { records: undefined, gateways: [...gateways].filter((key) => !refused.has(key)) },
  );
}

/** Projects a Gateway; throws for an object without a name. */
export function projectGateway(object: ApiObject, onRejected: OnRejected): Gateway {
  const { metadata, status } = object as ApiObject & { status?: unknown };
  checkName(metadata);
  const addresses = arrayOf(fieldsOf(status).addresses).map((each) => {
    const { type, value } = fieldsOf(each);
    return type === 'Hostname' ? { hostname: textOf(value) } : { ip: textOf(value) };
  });
  return { version: '', listNumber: 0, records: hostRecords(addresses, onRejected) };
}

function routeOf(
  metadata: ApiObject['metadata'],
  hosts: readonly string[],
  backends: readonly string[],
  { records, gateways }: Pick<Route, 'records' | 'gateways'>,
): Route {
  const isOfBackend = targetsBackend(metadata?.annotations);
  return {
    version: '',
    listNumber: 0,
    created: createdOf(metadata),
    hosts,
    backends: isOfBackend ? backends : [],
    records,
    gateways,
  };
}

/** The gateways of which a controller says that the route is not accepted there. */
function refusedParents(status: unknown, namespace: string): ReadonlySet<string> {
  const refused = new Set<string>();
  for (const parent of arrayOf(fieldsOf(status).parents).slice(0, MAX_PARENTS)) {
    const { parentRef, conditions } = fieldsOf(parent);
    const isRefused = arrayOf(conditions).some((each) => {
      const { type, status: state } = fieldsOf(each);
      return type === 'Accepted' && state === 'False';
    });
    if (isRefused) for (const key of gatewayOf(parentRef, namespace)) refused.add(key);
  }
  return refused;
}

function gatewayOf(ref: unknown, namespace: string): string[] {
  const { group = GATEWAY_GROUP, kind = 'Gateway', namespace: own, name } = fieldsOf(ref);
  if (group !== GATEWAY_GROUP || kind !== 'Gateway' || typeof name !== 'string') return [];
  return [`${typeof own === 'string' ? own : namespace}/${name}`];
}

/** A service of another namespace needs a ReferenceGrant, which is not read. */
function backendOf(ref: unknown, namespace: string): string {
  const { group = '', kind = 'Service', namespace: own = namespace, name } = fieldsOf(ref);
  return group === '' && kind === 'Service' && own === namespace ? serviceName(name) : '';
}

function serviceName(name: unknown): string {
  return typeof name === 'string' && isDnsSubdomain(name) ? name : '';
}

function addressOf(each: unknown): { ip?: string; hostname?: string } {
  const { ip, hostname } = fieldsOf(each);
  return {
    ...(ip !== undefined && { ip: textOf(ip) }),
    ...(hostname !== undefined && { hostname: textOf(hostname) }),
  };
}

/** What is no text is shown as it is, where it is refused. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined ? '' : JSON.stringify(value);
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function listOf(
  value: unknown,
  max: number,
  what: string,
  onRejected: OnRejected,
): readonly unknown[] {
  const all = arrayOf(value);
  if (all.length > max) onRejected(`${all.length - max} more ${what} than ${max}`);
  return all.slice(0, max);
}

/** Names of these objects may have dots. */
function checkName(metadata: ApiObject['metadata']): void {
  const { namespace = '', name = '' } = metadata ?? {};
  checkLabels(namespace);
  if (!isDnsSubdomain(name)) throw new Error(`${JSON.stringify(name)} is not a name of an object`);
}

/** The object of which `projectIngress` makes the same fields. */
export function ingressOf(key: string, route: Route): ApiObject {
  const rules = route.hosts.map((host, i) => ({
    host,
    http: { paths: [{ backend: { service: { name: route.backends[i] ?? '' } } }] },
  }));
  const status = route.records && {
    loadBalancer: { ingress: outsideAddresses(route.records) },
  };
  const object = {
    metadata: routeMetadata(key, route),
    spec: { rules },
    ...(status && { status }),
  };
  return object;
}

/** The object of which `projectRoute` makes the same fields. */
export function gatewayRouteOf(key: string, route: Route): ApiObject {
  const { hosts, backends, gateways } = route;
  const parentRefs = gateways.map((gateway) => {
    const slash = gateway.indexOf('/');
    return { namespace: gateway.slice(0, slash), name: gateway.slice(slash + 1) };
  });
  const [name = ''] = backends;
  const rules = name === '' ? [] : [{ backendRefs: [{ name }] }];
  const object = {
    metadata: routeMetadata(key, route),
    spec: { hostnames: hosts, parentRefs, rules },
  };
  return object;
}

/** The object of which `projectGateway` makes the same fields. */
export function gatewayObjectOf(key: string, gateway: Gateway): ApiObject {
  const addresses = (gateway.records ? outsideAddresses(gateway.records) : []).map(
    ({ ip, hostname }) =>
      hostname === undefined ? { value: ip } : { type: 'Hostname', value: hostname },
  );
  const object = { metadata: metadataOf(key, gateway), status: { addresses } };
  return object;
}

function routeMetadata(key: string, route: Route) {
  const creationTimestamp = createdText(route.created);
  const isOfBackend = route.backends.length > 0;
  return {
    ...metadataOf(key, route),
    ...(isOfBackend && { annotations: { [TARGET_ANNOTATION]: BACKEND_TARGET } }),
    ...(creationTimestamp !== undefined && { creationTimestamp }),
  };
}

/** Whether two states of a route have the same hosts, and lead to the same. */
export function isSameRoute(before: Route, after: Route): boolean {
  return (
    before.created === after.created &&
    isSameHost(before.records, after.records) &&
    isSameList(before.hosts, after.hosts) &&
    isSameList(before.backends, after.backends) &&
    isSameList(before.gateways, after.gateways)
  );
}

function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, i) => text === other[i]);
}

/** The memory of a route, with its hosts in the index, in bytes: as measured. */
export function routeBytes({ hosts, records }: Route): number {
  return ROUTE_BYTES + recordsBytes(records) + hostBytes(hosts);
}

/** The memory of a gateway, in bytes: as measured. */
export function gatewayBytes({ records }: Gateway): number {
  return GATEWAY_BYTES + recordsBytes(records);
}
