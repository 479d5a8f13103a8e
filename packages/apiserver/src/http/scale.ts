import { ApiError } from '../errors.js';
import { isJsonObject, type JsonObject, type KubeObject } from '../object.js';

interface Scalable extends KubeObject {
  readonly spec: { readonly replicas?: number; readonly selector?: { matchLabels?: object } };
  readonly status?: { readonly replicas?: number };
}

/** The subresource of a deployment that `kubectl scale` reads and writes: `autoscaling/v1.Scale`. */
export function scaleOf(object: KubeObject): KubeObject {
  const { metadata, spec, status } = object as Scalable;
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const labels = Object.entries(spec.selector?.matchLabels ?? {});
  const selector = labels.map(([label, value]) => `${label}=${value}`).join(',');
  const scale = {
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: spec.replicas },
    status: { replicas: status?.replicas ?? 0, selector },
  };
  return scale as unknown as KubeObject;
}

/** A deployment with the replicas of a Scale, which a client sent; a version in it is a precondition. */
export function withScale(object: KubeObject, scale: unknown): unknown {
  const { metadata, spec }: JsonObject = isJsonObject(scale) ? scale : {};
  // A missing number is 0, as in every other object of the API.
  const replicas = isJsonObject(spec) ? (spec.replicas ?? 0) : undefined;
  if (!Number.isInteger(replicas) || Number(replicas) < 0) {
    throw new ApiError('BadRequest', 'the scale has no spec.replicas of 0 or more');
  }
  const resourceVersion = isJsonObject(metadata) ? metadata.resourceVersion : undefined;
  return {
    ...object,
    metadata: { ...object.metadata, ...(resourceVersion !== undefined && { resourceVersion }) },
    spec: { ...(object as Scalable).spec, replicas },
  };
}
