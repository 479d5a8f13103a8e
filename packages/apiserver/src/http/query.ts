import { ApiError, invalid } from '../errors.js';
import { forbiddenField, unsupported, type FieldError } from '../resources/field-error.js';

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
