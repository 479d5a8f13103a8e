import { CodedError } from '@kube-dns/base';

/** Base of every error that this package throws on purpose. */
export class ApiserverError extends CodedError {}

/** Machine-readable reasons of `metav1.Status`, with the HTTP status of each. */
export const STATUS_CODES = {
  BadRequest: 400,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  AlreadyExists: 409,
  Conflict: 409,
  Expired: 410,
  Gone: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  Timeout: 504,
} as const;

/** One of the reasons in {@link STATUS_CODES}. */
export type StatusReason = keyof typeof STATUS_CODES;

/** The object and the causes of an error, as in `metav1.StatusDetails`. */
export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly {
    readonly reason: string;
    readonly message: string;
    readonly field?: string;
  }[];
  readonly retryAfterSeconds?: number;
}

/** The parts of a resource kind that error messages name. */
interface ResourceName {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
}

/** A refusal with a reason of the API; the client receives it as a `Status` object. */
export class ApiError extends ApiserverError {
  readonly reason: StatusReason;
  readonly status: number;
  readonly details: StatusDetails | undefined;
  /** Where a list may continue nevertheless. */
  readonly continue: string | undefined;

  constructor(reason: StatusReason, message: string, details?: StatusDetails, next?: string) {
    super('api', message);
    this.reason = reason;
    this.status = STATUS_CODES[reason];
    this.details = details;
    this.continue = next;
  }
}

/** A manifest file that cannot be read or parsed; the message names file, document and line. */
export class ManifestError extends ApiserverError {
  constructor(message: string, options?: ErrorOptions) {
    super('manifest', message, options);
  }
}

/** The address cannot be listened on; the message names it and the reason. */
export class ListenError extends ApiserverError {
  constructor(message: string, options?: ErrorOptions) {
    super('listen-failed', message, options);
  }
}

/** A refusal that names an object, with its details. */
function aboutObject(
  reason: StatusReason,
  { group, plural }: ResourceName,
  name: string,
  message: (object: string) => string,
): ApiError {
  const object = `${group ? `${plural}.${group}` : plural} "${name}"`;
  return new ApiError(reason, message(object), { name, ...(group && { group }), kind: plural });
}

/** 404 for a named object. */
export function notFound(resource: ResourceName, name: string): ApiError {
  return aboutObject('NotFound', resource, name, (object) => `${object} not found`);
}

/** 409 for the creation of an object that exists. */
export function alreadyExists(resource: ResourceName, name: string): ApiError {
  return aboutObject('AlreadyExists', resource, name, (object) => `${object} already exists`);
}

/** 409 for a write whose precondition no longer holds. */
export function conflict(resource: ResourceName, name: string, why: string): ApiError {
  const text = (object: string) => `Operation cannot be fulfilled on ${object}: ${why}`;
  return aboutObject('Conflict', resource, name, text);
}

/** 403 for a request that this server never allows. */
export function forbidden(resource: ResourceName, name: string, why: string): ApiError {
  return aboutObject('Forbidden', resource, name, (object) => `${object} is forbidden: ${why}`);
}

/** 422 with one cause per field error. `errors` must not be empty. */
export function invalid(
  resource: ResourceName,
  name: string,
  errors: readonly FieldError[],
): ApiError {
  const lines = errors.map((error) => `${error.field}: ${error.message}`);
  const text = lines.length === 1 ? lines[0]! : `[${lines.join(', ')}]`;
  const { group, kind } = resource;
  const subject = `${group ? `${kind}.${group}` : kind} "${name}"`;
  return new ApiError('Invalid', `${subject} is invalid: ${text}`, {
    ...(name && { name }),
    ...(group && { group }),
    ...(kind && { kind }),
    causes: errors.map(({ reason, message, field }) => ({ reason, message, field })),
  });
}

/** 410 for a version whose history is discarded; `next` is a token to continue a list with. */
export function expired(message: string, next?: string): ApiError {
  return new ApiError('Expired', message, undefined, next);
}

/** A property of a thrown value. Unlike `instanceof`, this also works for errors of another realm. */
function propertyOf(error: unknown, name: string): unknown {
  return typeof error === 'object' && error !== null ? Reflect.get(error, name) : undefined;
}

/** The `code` of a system error, such as `ENOENT`; undefined for an error without one. */
export function codeOf(error: unknown): unknown {
  return propertyOf(error, 'code');
}

/** The HTTP status that express and its parsers attach to errors, if there is one. */
export function httpStatusOf(error: unknown): number | undefined {
  const status = propertyOf(error, 'status');
  return typeof status === 'number' ? status : undefined;
}

/** One reason why an object is refused, in the words of `field.Error` of apimachinery. */
export interface FieldError {
  readonly reason: string;
  /** Path of the field, such as `spec.ports[0].name`. */
  readonly field: string;
  readonly message: string;
}

function quoted(value: unknown): string {
  return JSON.stringify(value ?? null);
}

/** The field is missing. */
export function required(field: string, detail = ''): FieldError {
  const message = detail ? `Required value: ${detail}` : 'Required value';
  return { reason: 'FieldValueRequired', field, message };
}

/** The value is not acceptable because of `detail`. */
export function invalidValue(field: string, value: unknown, detail: string): FieldError {
  return {
    reason: 'FieldValueInvalid',
    field,
    message: `Invalid value: ${quoted(value)}: ${detail}`,
  };
}

/** The value is not one of the `supported` ones. */
export function unsupported(
  field: string,
  value: unknown,
  supported: readonly string[],
): FieldError {
  const list = supported.map((item) => `"${item}"`).join(', ');
  const message = `Unsupported value: ${quoted(value)}: supported values: ${list}`;
  return { reason: 'FieldValueNotSupported', field, message };
}

/** The value occurs twice where it must be unique. */
export function duplicate(field: string, value: unknown): FieldError {
  return { reason: 'FieldValueDuplicate', field, message: `Duplicate value: ${quoted(value)}` };
}

/** The field may not be set here. */
export function forbiddenField(field: string, detail: string): FieldError {
  return { reason: 'FieldValueForbidden', field, message: `Forbidden: ${detail}` };
}

/** The list has more than `limit` items. */
export function tooMany(field: string, count: number, limit: number): FieldError {
  const message = `Too many: ${count}: must have at most ${limit} items`;
  return { reason: 'FieldValueTooMany', field, message };
}

/** The text or map has more than `limit` bytes. */
export function tooLong(field: string, limit: number): FieldError {
  const message = `Too long: may not be more than ${limit} bytes`;
  return { reason: 'FieldValueTooLong', field, message };
}
