import { conflict } from '../errors.js';
import type { KubeObject, ObjectMeta } from '../object.js';
import { COLLECTOR_FINALIZERS } from '../resources/metadata.js';
import type { ResourceKind } from '../resources/resource-kind.js';

/** What happens to the dependents of a deleted object. */
export type Propagation = 'Background' | 'Foreground' | 'Orphan';

/** The preconditions of a delete, what it does to dependents, and whether it is only tried. */
export interface DeleteOptions {
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  /** Undefined: as the finalizers of the object say, otherwise in the background. */
  readonly propagation?: Propagation | undefined;
  readonly isDryRun?: boolean;
}

/** Throws a 409 unless the object has the wanted UID and version. */
export function checkPreconditions(
  { group, kind }: ResourceKind,
  { metadata }: KubeObject,
  { uid, resourceVersion }: DeleteOptions,
): void {
  const check = (field: string, wanted: string | undefined, found: string, then: string) => {
    if (wanted === undefined || wanted === found) return;
    const why = `the ${field} in the precondition (${wanted}) does not match the ${field} in record (${found}). The object might have been ${then}`;
    // The real one names the kind here, not the resource.
    throw conflict({ group, kind, plural: kind }, metadata.name, why);
  };
  check('UID', uid, metadata.uid, 'deleted and then recreated');
  check('ResourceVersion', resourceVersion, metadata.resourceVersion, 'modified');
}

/** The finalizers of an object after a delete. Source: registry/generic deletionFinalizersForGarbageCollection. */
export function finalizersAfterDelete(
  { finalizers = [] }: ObjectMeta,
  propagation: Propagation | undefined,
): string[] {
  if (propagation === undefined) return finalizers;
  const { Foreground, Orphan } = COLLECTOR_FINALIZERS;
  const others = finalizers.filter((item) => item !== Foreground && item !== Orphan);
  return propagation === 'Background' ? others : [...others, COLLECTOR_FINALIZERS[propagation]];
}
