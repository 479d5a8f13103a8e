import { CodedError } from '@kube-dns/base';
import type { FieldError } from './resources/field-error.js';

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
export interface ResourceName {
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

/** A command line that is not valid. */
export class UsageError extends ApiserverError {
  constructor(message: string, options?: ErrorOptions) {
    super('usage', message, options);
  }
}

/** The address cannot be listened on; the message names it and the reason. */
export class ListenError extends ApiserverError {
  constructor(message: string, options?: ErrorOptions) {
    super('listen-failed', message, options);
  }
}

/** `Deployment.apps`, or the kind alone where its group has no name. */
function qualifiedKind({ group, kind }: ResourceName): string {
  return group ? `${kind}.${group}` : kind;
}

function detailsOf(resource: ResourceName, name: string): StatusDetails {
  return { name, ...(resource.group && { group: resource.group }), kind: resource.plural };
}

function qualified(resource: ResourceName): string {
  return resource.group ? `${resource.plural}.${resource.group}` : resource.plural;
}

/** 404 for a named object. */
export function notFound(resource: ResourceName, name: string): ApiError {
  return new ApiError(
    'NotFound',
    `${qualified(resource)} "${name}" not found`,
    detailsOf(resource, name),
  );
}

/** 409 for the creation of an object that exists. */
export function alreadyExists(resource: ResourceName, name: string): ApiError {
  return new ApiError(
    'AlreadyExists',
    `${qualified(resource)} "${name}" already exists`,
    detailsOf(resource, name),
  );
}

/** 409 for a write whose precondition no longer holds. */
export function conflict(resource: ResourceName, name: string, why: string): ApiError {
  return new ApiError(
    'Conflict',
    `Operation cannot be fulfilled on ${qualified(resource)} "${name}": ${why}`,
    detailsOf(resource, name),
  );
}

/** 403 for a request that this server never allows. */
export function forbidden(resource: ResourceName, name: string, why: string): ApiError {
  return new ApiError(
    'Forbidden',
    `${qualified(resource)} "${name}" is forbidden: ${why}`,
    detailsOf(resource, name),
  );
}

/** 422 with one cause per field error. `errors` must not be empty. */
export function invalid(
  resource: ResourceName,
  name: string,
  errors: readonly FieldError[],
): ApiError {
  const lines = errors.map((error) => `${error.field}: ${error.message}`);
  const text = lines.length === 1 ? lines[0]! : `[${lines.join(', ')}]`;
  return new ApiError('Invalid', `${qualifiedKind(resource)} "${name}" is invalid: ${text}`, {
    ...(name && { name }),
    ...(resource.group && { group: resource.group }),
    ...(resource.kind && { kind: resource.kind }),
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

/** The message of a thrown value of any type. */
export function messageOf(error: unknown): string {
  const message = propertyOf(error, 'message');
  return typeof message === 'string' ? message : String(error);
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
