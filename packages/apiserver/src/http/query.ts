import { ApiError, invalid } from '../errors.js';
import {
  invalidValue,
  forbiddenField,
  unsupported,
  type FieldError,
} from '../resources/field-error.js';
import type { FieldValidation } from '../cluster/decode.js';

/** Parameters of lists and watches. Source: metav1.ListOptions. */
export interface ListOptions {
  readonly labelSelector: string;
  readonly fieldSelector: string;
  /** 0: no limit. */
  readonly limit: number;
  readonly continue: string;
  /** Undefined when the client sends none; 0 is "any". */
  readonly resourceVersion: number | undefined;
  readonly resourceVersionMatch: 'Exact' | 'NotOlderThan' | undefined;
  readonly isWatch: boolean;
  readonly timeoutSeconds: number | undefined;
  readonly allowsBookmarks: boolean;
  readonly sendsInitialEvents: boolean | undefined;
}

const LIST_OPTIONS = { group: 'meta.k8s.io', kind: 'ListOptions', plural: 'listoptions' };

function refuse(name: string, value: string, why: string): ApiError {
  return new ApiError('BadRequest', `invalid value "${value}" for query parameter ${name}: ${why}`);
}

function readInteger(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  if (!/^-?\d{1,15}$/.test(text)) throw refuse(name, text, 'must be an integer');
  return Number(text);
}

/** As apimachinery reads booleans: present and not `0` or `false` is true. */
function readBoolean(query: URLSearchParams, name: string): boolean | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  return text !== '0' && text.toLowerCase() !== 'false';
}

function readVersion(query: URLSearchParams): number | undefined {
  const text = query.get('resourceVersion') ?? '';
  if (text === '') return undefined;
  if (!/^\d{1,16}$/.test(text)) throw refuse('resourceVersion', text, 'must be a version');
  return Number(text);
}

function readMatch(query: URLSearchParams): ListOptions['resourceVersionMatch'] {
  const text = query.get('resourceVersionMatch') ?? '';
  if (text === '') return undefined;
  if (text === 'Exact' || text === 'NotOlderThan') return text;
  throw invalid(LIST_OPTIONS, '', [
    unsupported('resourceVersionMatch', text, ['Exact', 'NotOlderThan']),
  ]);
}

/** Source: apimachinery meta/internalversion/validation ValidateListOptions. */
function checkList(options: ListOptions): FieldError[] {
  const field = 'resourceVersionMatch';
  const { resourceVersionMatch: match, resourceVersion: version } = options;
  if (options.sendsInitialEvents !== undefined) {
    return [forbiddenField('sendInitialEvents', 'sendInitialEvents is forbidden for list')];
  }
  if (match === undefined) return [];
  if (options.continue) {
    return [forbiddenField(field, 'resourceVersionMatch is forbidden when continue is provided')];
  }
  if (version === undefined) {
    const why = 'resourceVersionMatch is forbidden unless resourceVersion is provided';
    return [forbiddenField(field, why)];
  }
  if (match === 'Exact' && version === 0) {
    return [
      forbiddenField(field, 'resourceVersionMatch "Exact" is forbidden for resourceVersion "0"'),
    ];
  }
  return [];
}

function checkWatch(options: ListOptions): FieldError[] {
  const field = 'resourceVersionMatch';
  const { resourceVersionMatch: match } = options;
  if (options.sendsInitialEvents === undefined) {
    if (match === undefined) return [];
    const why = 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided';
    return [forbiddenField(field, why)];
  }
  if (match === 'NotOlderThan') return [];
  const why = 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan';
  return match === undefined
    ? [forbiddenField(field, why)]
    : [unsupported(field, match, ['NotOlderThan'])];
}

/** Parses the parameters of a list or watch. Throws a 400 or 422 when they are not valid. */
export function parseListOptions(query: URLSearchParams): ListOptions {
  const options: ListOptions = {
    labelSelector: query.get('labelSelector') ?? '',
    fieldSelector: query.get('fieldSelector') ?? '',
    limit: readInteger(query, 'limit') ?? 0,
    continue: query.get('continue') ?? '',
    resourceVersion: readVersion(query),
    resourceVersionMatch: readMatch(query),
    isWatch: readBoolean(query, 'watch') ?? false,
    timeoutSeconds: readInteger(query, 'timeoutSeconds'),
    allowsBookmarks: readBoolean(query, 'allowWatchBookmarks') ?? false,
    sendsInitialEvents: readBoolean(query, 'sendInitialEvents'),
  };
  const errors = options.isWatch ? checkWatch(options) : checkList(options);
  if (errors.length > 0) throw invalid(LIST_OPTIONS, '', errors);
  return options;
}

/** Parses `fieldValidation` and `dryRun` of a write. Throws a 422 for an unsupported value. */
export function parseWriteOptions(query: URLSearchParams): {
  readonly fieldValidation: FieldValidation;
  readonly isDryRun: boolean;
} {
  const resource = { group: 'meta.k8s.io', kind: 'CreateOptions', plural: 'createoptions' };
  const validation = query.get('fieldValidation') ?? '';
  const choices: readonly FieldValidation[] = ['Ignore', 'Warn', 'Strict'];
  const fieldValidation = validation === '' ? 'Warn' : choices.find((item) => item === validation);
  if (!fieldValidation) {
    throw invalid(resource, '', [unsupported('fieldValidation', validation, choices)]);
  }
  const dryRun = query.getAll('dryRun').filter((item) => item !== '');
  if (dryRun.some((item) => item !== 'All')) {
    throw invalid(resource, '', [unsupported('dryRun', dryRun.join(','), ['All'])]);
  }
  return { fieldValidation, isDryRun: dryRun.length > 0 };
}

/** The 422 of a server without support for `sendInitialEvents`. */
export function refuseInitialEvents(): ApiError {
  const why =
    'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled';
  return invalid(LIST_OPTIONS, '', [forbiddenField('sendInitialEvents', why)]);
}

/** The 422 for a negative limit. */
export function refuseLimit(limit: number): ApiError {
  return invalid(LIST_OPTIONS, '', [invalidValue('limit', limit, 'must not be negative')]);
}
