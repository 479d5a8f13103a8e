import { ApiError } from '../errors.js';
import { isJsonObject, type KubeObject } from '../object.js';
import { jsonPatch } from '../patch/json-patch.js';
import { mergePatch } from '../patch/merge-patch.js';
import { strategicMergePatch, type MergeKeys } from '../patch/strategic-merge-patch.js';

/** The new state of an object, not checked yet. */
export type Change = (current: KubeObject) => unknown;

const TYPES = ['json-patch', 'merge-patch', 'strategic-merge-patch'].map(
  (type) => `application/${type}+json`,
);
const APPLY = 'application/apply-patch+';

/** Throws a 415 for a patch of an unknown type; server-side apply is one. */
export function checkPatchType(mediaType: string): void {
  if (TYPES.includes(mediaType)) return;
  const why = mediaType.startsWith(APPLY)
    ? 'server-side apply is not supported here: use `kubectl apply` without `--server-side`, or one of the patches'
    : `the body of the request was in an unknown format (${mediaType}) - accepted media types include:`;
  throw new ApiError('UnsupportedMediaType', `${why} ${TYPES.join(', ')}`);
}

/** The change that a patch makes. Throws a 400 where its form is not valid. */
export function changeOf(mediaType: string, patch: unknown, mergeKeys: MergeKeys): Change {
  switch (mediaType) {
    case 'application/json-patch+json':
      return (current) => jsonPatch(current, patch);
    case 'application/strategic-merge-patch+json':
      return (current) => strategicMergePatch(current, patch, mergeKeys);
    default:
      if (!isJsonObject(patch)) throw new ApiError('BadRequest', 'the patch is not an object');
      return (current) => mergePatch(current, patch);
  }
}
