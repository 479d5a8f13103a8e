import { StreamError } from '../errors.js';
import type { ApiReader } from './api-client.js';
import { ItemReader } from './item-reader.js';
import { listKind } from './list-kind.js';
import type { ApiObject } from './object-store.js';

/** A small object that is listed alone, to learn the version of its resource. It need not exist. */
export interface Landmark {
  readonly namespace?: string;
  readonly name: string;
  /** Whether another UID of it means another cluster. */
  readonly isIdentity?: boolean;
}

/** What a list of the landmark alone shows; '' for what it does not. */
export interface LandmarkState {
  readonly version: string;
  readonly uid: string;
}

/** Every cluster has this service, one slice and one Endpoints object of its name. */
export const KUBERNETES: Landmark = { namespace: 'default', name: 'kubernetes' };
/** No cluster can be without this namespace, or delete it. */
export const KUBE_SYSTEM: Landmark = { name: 'kube-system', isIdentity: true };

/** A server that ignores the selector would send everything. */
const MAX_BYTES = 256 * 1024;

/** The UID of the landmark; '' of any other object. */
export function landmarkUid(landmark: Landmark, object: ApiObject | null | undefined): string {
  const { namespace, name, uid } = object?.metadata ?? {};
  const isLandmark = name === landmark.name && namespace === landmark.namespace;
  return isLandmark && typeof uid === 'string' ? uid : '';
}

/**
 * Lists the landmark alone: out of the server's cache, which needs no etcd, with `resourceVersion` 0, or
 * consistently with ''. Rejects as `ApiReader.get`, and when the answer is cut.
 */
export async function readLandmark(options: {
  readonly client: ApiReader;
  readonly path: string;
  readonly landmark: Landmark;
  readonly resourceVersion: '0' | '';
  readonly signal: AbortSignal;
}): Promise<LandmarkState> {
  const { client, path, landmark, resourceVersion, signal } = options;
  // With version 0 a server ignores `limit`: only the selector keeps the answer small.
  const query = new URLSearchParams({ fieldSelector: selectorOf(landmark), limit: '1' });
  if (resourceVersion !== '') query.set('resourceVersion', resourceVersion);
  const body = await client.get({ path, query, signal });
  const reader = new ItemReader(listKind(path));
  let uid = '';
  try {
    for await (const { bytes } of body) {
      for (const item of reader.push(bytes)) uid ||= landmarkUid(landmark, item as ApiObject);
      if (body.contentBytes > MAX_BYTES) return { version: '', uid };
    }
    return { version: reader.finish().resourceVersion, uid };
  } catch (error) {
    // The server is there; more does not follow from an answer that is no list.
    if (error instanceof StreamError && error.reason === 'garbled') return { version: '', uid };
    throw error;
  }
}

function selectorOf({ namespace, name }: Landmark): string {
  const byName = `metadata.name=${name}`;
  return namespace === undefined ? byName : `${byName},metadata.namespace=${namespace}`;
}
