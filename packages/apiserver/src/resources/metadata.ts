import type { ObjectMeta } from '../object.js';
import { forbiddenField, invalidValue, required, tooLong, type FieldError } from './field-error.js';
import { refuseLabelValue, refuseQualifiedName } from './names.js';
import type { ResourceKind } from './resource-kind.js';

/** The finalizers that the garbage collector removes, by the policy of the delete. */
export const COLLECTOR_FINALIZERS = {
  Foreground: 'foregroundDeletion',
  Orphan: 'orphan',
} as const;

/** Source: apimachinery TotalAnnotationSizeLimitB. */
const MAX_ANNOTATION_BYTES = 256 * 1024;

function validateLabels(labels: Readonly<Record<string, string>>): FieldError[] {
  return Object.entries(labels).flatMap(([key, value]) => {
    const badKey = refuseQualifiedName(key);
    const badValue = refuseLabelValue(value);
    return [
      ...(badKey ? [invalidValue('metadata.labels', key, badKey)] : []),
      ...(badValue ? [invalidValue('metadata.labels', value, badValue)] : []),
    ];
  });
}

function validateAnnotations(annotations: Readonly<Record<string, string>>): FieldError[] {
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) {
    const reason = refuseQualifiedName(key.toLowerCase());
    if (reason) errors.push(invalidValue('metadata.annotations', key, reason));
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (bytes > MAX_ANNOTATION_BYTES) {
    errors.push(tooLong('metadata.annotations', MAX_ANNOTATION_BYTES));
  }
  return errors;
}

function validateFinalizers(
  { finalizers = [] }: ObjectMeta,
  previous: ObjectMeta | undefined,
): FieldError[] {
  const path = 'metadata.finalizers';
  const errors = finalizers.flatMap((finalizer) => {
    const reason = refuseQualifiedName(finalizer);
    return reason ? [invalidValue(path, finalizer, reason)] : [];
  });
  const { Foreground, Orphan } = COLLECTOR_FINALIZERS;
  if (finalizers.includes(Foreground) && finalizers.includes(Orphan)) {
    const why = `finalizer ${Orphan} and ${Foreground} cannot be both set`;
    errors.push(invalidValue(path, finalizers, why));
  }
  const added = finalizers.filter((item) => !(previous?.finalizers ?? []).includes(item));
  if (previous?.deletionTimestamp && added.length > 0) {
    const why = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((item) => JSON.stringify(item)).join(', ')}}`;
    errors.push(forbiddenField(path, why));
  }
  return errors;
}

/** Checks name, labels, annotations, finalizers and owners of any object. */
export function validateMetadata(
  metadata: ObjectMeta,
  kind: ResourceKind,
  previous?: ObjectMeta,
): FieldError[] {
  const errors = validateFinalizers(metadata, previous);
  const badName = kind.refuseName(metadata.name);
  if (metadata.name === '') {
    errors.push(required('metadata.name', 'name or generateName is required'));
  } else if (badName) errors.push(invalidValue('metadata.name', metadata.name, badName));
  errors.push(...validateLabels(metadata.labels ?? {}));
  errors.push(...validateAnnotations(metadata.annotations ?? {}));
  for (const [i, owner] of (metadata.ownerReferences ?? []).entries()) {
    for (const field of ['apiVersion', 'kind', 'name', 'uid'] as const) {
      if (!owner[field]) errors.push(required(`metadata.ownerReferences[${i}].${field}`));
    }
  }
  return errors;
}
