import type { DeleteOptions, FieldValidation, Propagation } from '../cluster/registry.js';
import {
  ApiError,
  forbiddenField,
  invalid,
  invalidValue,
  unsupported,
  type FieldError,
} from '../errors.js';
import { isJsonObject, type JsonObject } from '../object.js';
import { hasStatus, type ResourceKind } from '../resources/resource-kind.js';
import { findResource, RESOURCE_KINDS } from '../resources/resource-table.js';
import { checkShape, type Fields } from '../resources/shape.js';

/** A part of an object with a path of its own. */
export type Subresource = 'scale' | 'status';

/** The resource of a URL below `/api` or `/apis`. */
export interface Target {
  readonly kind: ResourceKind;
  /** Undefined for cluster-scoped kinds and for all namespaces. */
  readonly namespace: string | undefined;
  /** Undefined for a collection. */
  readonly name: string | undefined;
  /** Undefined for the object itself. */
  readonly subresource: Subresource | undefined;
  /** Whether it is below `/watch/`, where everything is watched. */
  readonly isWatch: boolean;
}

/** The 404 for a path of the API that does not exist. */
function noSuchPath(): ApiError {
  return new ApiError('NotFound', 'the server could not find the requested resource', {});
}

/** The 405 for a path that exists. */
export function methodNotAllowed(): ApiError {
  const message = 'the server does not allow this method on the requested resource';
  return new ApiError('MethodNotAllowed', message, {});
}

/** Whether a path is that of a served group, or below it: there each refusal is a `Status`. */
export function isOfApi(path: string): boolean {
  const [, root, group = ''] = path.split('/');
  if (root !== 'apis' || group === '') return root === 'api';
  return RESOURCE_KINDS.some((kind) => kind.group === group);
}

/** The subresources that a kind has. */
export function subresourcesOf(kind: ResourceKind): readonly Subresource[] {
  return [
    ...(kind.isScalable ? (['scale'] as const) : []),
    ...(hasStatus(kind) ? (['status'] as const) : []),
  ];
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw noSuchPath();
  }
}

/** Finds the resource of a path. Throws a 404 when there is none. */
export function parseTarget(path: string): Target {
  const [root, ...segments] = path
    .replace(/^\/|\/$/g, '')
    .split('/')
    .map(decodeSegment);
  const group = root === 'apis' ? segments.shift() : '';
  const version = segments.shift();
  if ((root !== 'api' && root !== 'apis') || group === undefined || version === undefined) {
    throw noSuchPath();
  }
  const isWatch = segments[0] === 'watch';
  if (isWatch) segments.shift();
  // `namespaces/NAME` is the namespace itself, as is its status, `namespaces/NAME/PLURAL` a collection in it.
  const [first, , third] = segments;
  const isInNamespace = first === 'namespaces' && third !== undefined && third !== 'status';
  const namespace = isInNamespace ? segments[1] : undefined;
  const [plural = '', name, part, ...rest] = isInNamespace ? segments.slice(2) : segments;
  const kind = findResource(group, version, plural);
  const subresource = kind && subresourcesOf(kind).find((item) => item === part);
  const isMisplaced = kind?.isNamespaced
    ? name !== undefined && namespace === undefined
    : namespace !== undefined;
  if (!kind || isMisplaced || part !== subresource || rest.length > 0) throw noSuchPath();
  if (name === '' || namespace === '' || (isWatch && part !== undefined)) throw noSuchPath();
  return { kind, namespace, name, subresource, isWatch };
}

/** Parameters of lists and watches. Source: metav1.ListOptions. */
export interface ListOptions {
  readonly labelSelector: string;
  readonly fieldSelector: string;
  /** 0 and less: no limit. */
  readonly limit: number;
  readonly continue: string;
  /** Undefined when the client sends none; 0 is "any". */
  readonly resourceVersion: number | undefined;
  /** Empty, `Exact` or `NotOlderThan`. */
  readonly resourceVersionMatch: string;
  readonly isWatch: boolean;
  /** 0: the default of the server; negative: over at once. */
  readonly timeoutSeconds: number;
  readonly allowsBookmarks: boolean;
  readonly sendsInitialEvents: boolean | undefined;
}

const LIST_OPTIONS = { group: 'meta.k8s.io', kind: 'ListOptions', plural: 'listoptions' };

/** What Go says of a number that it cannot parse. */
function goNumberError(func: string, text: string, isNumber: boolean): string {
  const why = isNumber ? 'value out of range' : 'invalid syntax';
  return `strconv.${func}: parsing ${JSON.stringify(text)}: ${why}`;
}

function readInteger(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const isNumber = /^[+-]?\d+$/.test(text);
  if (isNumber && BigInt.asIntN(64, BigInt(text)) === BigInt(text)) return Number(text);
  throw new ApiError('BadRequest', goNumberError('ParseInt', text, isNumber));
}

/** As apimachinery reads booleans: present and not `0` or `false` is true. */
function readBoolean(query: URLSearchParams, name: string): boolean | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  return text !== '0' && text.toLowerCase() !== 'false';
}

/** Parses `resourceVersion`; undefined when there is none. Throws a 400 for a list, and a 500 otherwise. */
export function readVersion(query: URLSearchParams, isList: boolean): number | undefined {
  const text = query.get('resourceVersion') ?? '';
  if (text === '') return undefined;
  const isNumber = /^\d+$/.test(text);
  if (isNumber && BigInt.asUintN(64, BigInt(text)) === BigInt(text)) return Number(text);
  const why = goNumberError('ParseUint', text, isNumber);
  const message = `resourceVersion: Invalid value: ${JSON.stringify(text)}: ${why}`;
  if (isList) throw new ApiError('BadRequest', `invalid resource version: ${message}`);
  throw new ApiError('InternalError', message);
}

/** What is checked before the version is parsed. */
type CheckedOptions = Omit<ListOptions, 'resourceVersion'> & { readonly version: string };

/** Source: apimachinery meta/internalversion/validation ValidateListOptions, as `checkWatch`. */
function checkList(options: CheckedOptions): FieldError[] {
  const field = 'resourceVersionMatch';
  const { resourceVersionMatch: match, version } = options;
  const errors: FieldError[] = [];
  if (match !== '' && version === '') {
    errors.push(forbiddenField(field, `${field} is forbidden unless resourceVersion is provided`));
  }
  if (match !== '' && options.continue) {
    errors.push(forbiddenField(field, `${field} is forbidden when continue is provided`));
  }
  if (!['', 'Exact', 'NotOlderThan'].includes(match)) {
    errors.push(unsupported(field, match, ['Exact', 'NotOlderThan', '']));
  }
  if (match === 'Exact' && version === '0') {
    const why = `${field} "exact" is forbidden for resourceVersion "0"`;
    errors.push(forbiddenField(field, why));
  }
  if (options.sendsInitialEvents !== undefined) {
    const why = 'sendInitialEvents is forbidden for list';
    errors.push(forbiddenField('sendInitialEvents', why));
  }
  return errors;
}

function checkWatch(options: CheckedOptions): FieldError[] {
  const field = 'resourceVersionMatch';
  const { resourceVersionMatch: match, sendsInitialEvents } = options;
  const errors: FieldError[] = [];
  if (sendsInitialEvents !== undefined && match !== 'NotOlderThan') {
    const why = `sendInitialEvents requires setting ${field} to NotOlderThan`;
    errors.push(forbiddenField(field, why));
  }
  if (match !== '' && sendsInitialEvents === undefined) {
    const why = `${field} is forbidden for watch unless sendInitialEvents is provided`;
    errors.push(forbiddenField(field, why));
  }
  if (match !== '' && match !== 'NotOlderThan') {
    errors.push(unsupported(field, match, ['NotOlderThan']));
  }
  // Without a version a watch has initial events by default, and with them this match.
  if ((match !== '' || ['', '0'].includes(options.version)) && options.continue) {
    errors.push(forbiddenField(field, `${field} is forbidden when continue is provided`));
  }
  return errors;
}

/**
 * Parses the parameters of a list or watch; with `mustWatch` it is a watch in any case. Throws a 400 or 422
 * when they are not valid.
 */
export function parseListOptions(query: URLSearchParams, mustWatch = false): ListOptions {
  const isWatch = mustWatch || (readBoolean(query, 'watch') ?? false);
  const options = {
    labelSelector: query.get('labelSelector') ?? '',
    fieldSelector: query.get('fieldSelector') ?? '',
    limit: readInteger(query, 'limit') ?? 0,
    continue: query.get('continue') ?? '',
    resourceVersionMatch: query.get('resourceVersionMatch') ?? '',
    isWatch,
    timeoutSeconds: readInteger(query, 'timeoutSeconds') ?? 0,
    allowsBookmarks: readBoolean(query, 'allowWatchBookmarks') ?? false,
    sendsInitialEvents: readBoolean(query, 'sendInitialEvents'),
  };
  const checked = { ...options, version: query.get('resourceVersion') ?? '' };
  const errors = isWatch ? checkWatch(checked) : checkList(checked);
  if (errors.length > 0) throw invalid(LIST_OPTIONS, '', errors);
  return { ...options, resourceVersion: readVersion(query, !isWatch) };
}

/** The 422 of a server without support for `sendInitialEvents`. */
export function refuseInitialEvents(): ApiError {
  const why =
    'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled';
  return invalid(LIST_OPTIONS, '', [forbiddenField('sendInitialEvents', why)]);
}

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

function refuseOptions(kind: OptionsKind, errors: readonly FieldError[]): void {
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
  refuseOptions(kind, [
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
  const precondition = (name: string) => (query.get(name) === '' ? null : query.get(name));
  return {
    dryRun: query.getAll('dryRun'),
    preconditions: {
      uid: precondition('uid'),
      resourceVersion: precondition('resourceVersion'),
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
  const options = body ?? optionsOfQuery(query);
  if (!isJsonObject(options)) throw new ApiError('BadRequest', 'the delete options are no object');
  const { value, fault } = checkShape(options, DELETE_OPTIONS);
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
  refuseOptions('DeleteOptions', [...errors, ...refuseDryRun(dryRun)]);
  const { uid, resourceVersion } = (preconditions ?? {}) as DeleteOptions;
  return { uid, resourceVersion, propagation: propagationOf(value), isDryRun: dryRun.length > 0 };
}
