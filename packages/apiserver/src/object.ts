/** The fields of `metav1.OwnerReference` that are stored. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** The fields of `metav1.ObjectMeta` that this server has. */
export interface ObjectMeta {
  name: string;
  generateName?: string;
  namespace?: string;
  uid: string;
  resourceVersion: string;
  generation?: number;
  creationTimestamp: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
  /** Only loaded objects have them; those that clients send are dropped. */
  managedFields?: readonly object[];
}

/** Any stored object. Stored objects are never changed in place; a write stores a new one. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
}

/** An object as a client writes it: fields that the server fills in may be missing. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<Partial<ObjectMeta>>;
  readonly spec?: object;
  readonly status?: object;
  readonly subsets?: readonly object[];
  readonly addressType?: string;
  readonly endpoints?: readonly object[];
  readonly ports?: readonly object[];
  readonly data?: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
  readonly immutable?: boolean;
}

/** A JSON object whose content is not checked yet. */
export type JsonObject = Record<string, unknown>;

/** Whether `value` is a JSON object: neither null nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A copy of a JSON value. Unlike `structuredClone`, its prototypes are those of parsed bodies. */
export function copyJson<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/** The key of an object within its resource: `namespace/name`; lists are sorted by it. */
export function objectKey(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`;
}

/** The key of a stored object within its resource. */
export function keyOf(object: KubeObject): string {
  return objectKey(object.metadata.namespace, object.metadata.name);
}
