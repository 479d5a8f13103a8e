import type { FieldValidation } from '../cluster/decode.js';
import type { DeleteOptions, Propagation } from '../cluster/deletion.js';
import { ApiError, invalid } from '../errors.js';
import { isJsonObject, type JsonObject } from '../object.js';
import { invalidValue, unsupported, type FieldError } from '../resources/field-error.js';
import { checkShape, type Fields } from '../resources/shape.js';

/** The options of a write, which errors name. Source: metav1 CreateOptions and its neighbours. */
type OptionsKind = 'CreateOptions' | 'UpdateOptions' | 'PatchOptions' | 'DeleteOptions';

const PROPAGATIONS: readonly Propagation[] = ['Foreground', 'Background', 'Orphan'];

const DELETE_OPTIONS: Fields = {
  kind: 'string',
  apiVersion: 'string',
  gracePeriodSeconds: 'int',
  preconditions: { fields: { uid: 'string', resourceVersion: 'string' } },
  orphanDependents: 'bool',
  propagationPolicy: 'string',
  dryRun: { list: 'string' },
};

function refuse(kind: OptionsKind, errors: readonly FieldError[]): void {
  const resource = { group: 'meta.k8s.io', kind, plural: '' };
  if (errors.length > 0) throw invalid(resource, '', errors);
}

function refuseDryRun(values: readonly string[]): FieldError[] {
  return values.every((item) => item === 'All') ? [] : [unsupported('dryRun', values, ['All'])];
}

/** Parses `fieldValidation` and `dryRun` of a write. Throws a 422 for an unsupported value. */
export function parseWriteOptions(
  query: URLSearchParams,
  kind: OptionsKind,
): { readonly fieldValidation: FieldValidation; readonly isDryRun: boolean } {
  const dryRun = query.getAll('dryRun');
  const validation = query.get('fieldValidation') ?? '';
  const choices: readonly FieldValidation[] = ['Ignore', 'Strict', 'Warn'];
  const fieldValidation = validation === '' ? 'Warn' : choices.find((item) => item === validation);
  refuse(kind, [
    ...refuseDryRun(dryRun),
    ...(fieldValidation ? [] : [unsupported('fieldValidation', validation, ['', ...choices])]),
  ]);
  return { fieldValidation: fieldValidation ?? 'Warn', isDryRun: dryRun.length > 0 };
}

/** The delete options that the parameters of a request make. */
function optionsOfQuery(query: URLSearchParams): JsonObject {
  const grace = query.get('gracePeriodSeconds');
  const orphan = query.get('orphanDependents');
  // As in kube-apiserver, an empty precondition is none.
  const given = (name: string) => (query.get(name) === '' ? null : query.get(name));
  return {
    dryRun: query.getAll('dryRun'),
    preconditions: {
      uid: given('uid'),
      resourceVersion: given('resourceVersion'),
    },
    propagationPolicy: query.get('propagationPolicy'),
    ...(grace !== null && { gracePeriodSeconds: /^-?\d+$/.test(grace) ? Number(grace) : grace }),
    ...(orphan !== null && { orphanDependents: !['0', 'false'].includes(orphan.toLowerCase()) }),
  };
}

function propagationOf({
  propagationPolicy,
  orphanDependents,
}: JsonObject): Propagation | undefined {
  if (orphanDependents !== undefined) return orphanDependents === true ? 'Orphan' : 'Background';
  return PROPAGATIONS.find((item) => item === propagationPolicy);
}

/**
 * Parses the options of a delete: of the body, or of the parameters where there is none. Throws a
 * 400 for a field of the wrong type and a 422 for an unsupported value. A grace period has no
 * effect. Source: apimachinery ValidateDeleteOptions.
 */
export function parseDeleteOptions(body: unknown, query: URLSearchParams): DeleteOptions {
  const given = body ?? optionsOfQuery(query);
  if (!isJsonObject(given)) throw new ApiError('BadRequest', 'the delete options are no object');
  const { value, fault } = checkShape(given, DELETE_OPTIONS);
  if (fault) {
    const message = `cannot read ${fault.found} into field DeleteOptions.${fault.path} of type ${fault.expected}`;
    throw new ApiError('BadRequest', message);
  }
  const kind = value.kind ?? 'DeleteOptions';
  if (kind !== 'DeleteOptions') {
    throw new ApiError(
      'BadRequest',
      `the delete options are of another kind: ${JSON.stringify(kind)}`,
    );
  }
  const { propagationPolicy: policy, orphanDependents, preconditions } = value;
  const errors: FieldError[] = [];
  if (policy !== undefined && orphanDependents !== undefined) {
    const why = 'orphanDependents and deletionPropagation cannot be both set';
    errors.push(invalidValue('propagationPolicy', policy, why));
  } else if (policy !== undefined && !PROPAGATIONS.some((item) => item === policy)) {
    errors.push(unsupported('propagationPolicy', policy, [...PROPAGATIONS, 'nil']));
  }
  const dryRun = (value.dryRun ?? []) as readonly string[];
  refuse('DeleteOptions', [...errors, ...refuseDryRun(dryRun)]);
  const { uid, resourceVersion } = (preconditions ?? {}) as DeleteOptions;
  return { uid, resourceVersion, propagation: propagationOf(value), isDryRun: dryRun.length > 0 };
}
