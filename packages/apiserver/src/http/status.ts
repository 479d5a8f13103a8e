import { ApiError, httpStatusOf, messageOf, STATUS_CODES, type StatusDetails } from '../errors.js';

/** `metav1.Status`. */
export interface Status {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: { readonly continue?: string };
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: StatusDetails;
  readonly code?: number;
}

const TYPE = { kind: 'Status', apiVersion: 'v1', metadata: {} } as const;

/** The answer to a delete that does not return the object. */
export function successStatus(details: StatusDetails): Status {
  return { ...TYPE, status: 'Success', details };
}

/** The `Status` for a refusal. */
export function failureStatus(error: ApiError): Status {
  const { message, reason, details, status: code } = error;
  const metadata = error.continue === undefined ? {} : { continue: error.continue };
  return {
    ...TYPE,
    metadata,
    status: 'Failure',
    message,
    reason,
    ...(details && { details }),
    code,
  };
}

/** Any thrown value as a refusal: other errors become a 500, or the 4xx that express set. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const status = httpStatusOf(error) ?? STATUS_CODES.InternalError;
  const message = messageOf(error);
  if (status === STATUS_CODES.RequestEntityTooLarge) {
    return new ApiError('RequestEntityTooLarge', `Request entity too large: ${message}`);
  }
  if (status === STATUS_CODES.UnsupportedMediaType) {
    return new ApiError('UnsupportedMediaType', message);
  }
  if (status >= 400 && status < 500) return new ApiError('BadRequest', message);
  return new ApiError('InternalError', `Internal error occurred: ${message}`);
}
