import { conflict, invalid } from '../errors.js';
import { copyJson, type JsonObject, type KubeObject } from '../object.js';
import { invalidValue } from '../resources/field-error.js';
import { hasStatus, type ResourceKind } from '../resources/resource-kind.js';

/**
 * What of an object a write changes: all of it, as code in this process does; everything but the
 * status, as a write of the object over HTTP; or only status and metadata, as one of its `status`.
 */
export type WrittenPart = 'all' | 'object' | 'status';

/** A conflict of a UID, with the stored one. */
export function uidConflict(kind: ResourceKind, name: string, uid: string, stored: string): Error {
  const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${stored}`;
  return conflict(kind, name, why);
}

/** Takes the fields that a write does not change from the stored object, if there is one. */
export function keepOtherPart(
  kind: ResourceKind,
  object: KubeObject,
  previous: KubeObject | undefined,
  part: WrittenPart,
): void {
  if (part === 'all' || !hasStatus(kind) || (!previous && kind.createsWithStatus)) return;
  const written = object as unknown as JsonObject;
  const stored = previous as unknown as JsonObject | undefined;
  for (const field of Object.keys(kind.shape)) {
    const isWritten = (field === 'status') === (part === 'status' && previous !== undefined);
    if (isWritten) continue;
    if (stored?.[field] === undefined) Reflect.deleteProperty(written, field);
    // A copy, because defaults may change the object.
    else written[field] = copyJson(stored[field]);
  }
}

/**
 * Copies the metadata that a client cannot change, and checks UID and version. Throws a 409, or a
 * 422 when a patch has set another UID, or when a version is necessary and missing.
 */
export function inheritMetadata(
  kind: ResourceKind,
  { metadata }: KubeObject,
  { metadata: stored }: KubeObject,
  { isPatch = false, part = 'all' }: { isPatch?: boolean; part?: WrittenPart },
): void {
  const { name, uid, resourceVersion } = metadata;
  if (kind.needsVersion && part !== 'all' && !resourceVersion) {
    const why = 'must be specified for an update';
    throw invalid(kind, name, [invalidValue('metadata.resourceVersion', 0, why)]);
  }
  if (uid && uid !== stored.uid) {
    if (!isPatch) throw uidConflict(kind, name, uid, stored.uid);
    throw invalid(kind, name, [invalidValue('metadata.uid', uid, 'field is immutable')]);
  }
  // Version 0 is none at all, as in every request.
  const isAny = !resourceVersion || resourceVersion === '0';
  if (!isAny && resourceVersion !== stored.resourceVersion) {
    const why =
      'the object has been modified; please apply your changes to the latest version and try again';
    throw conflict(kind, name, why);
  }
  metadata.uid = stored.uid;
  metadata.resourceVersion = stored.resourceVersion;
  metadata.creationTimestamp = stored.creationTimestamp;
  for (const field of ['deletionTimestamp', 'deletionGracePeriodSeconds', 'generation'] as const) {
    if (stored[field] === undefined) Reflect.deleteProperty(metadata, field);
    else Object.assign(metadata, { [field]: stored[field] });
  }
}
