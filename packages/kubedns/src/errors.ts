import { CodedError } from '@kube-dns/base';

/** The API server answered with a status other than 200, or not at all (`status` 0). */
export class ApiError extends CodedError {
  readonly status: number;
  /** The pause that the server requests before the next try; 0 when it requests none. */
  readonly retryAfterMs: number;

  constructor(status: number, message: string, retryAfterMs = 0, options?: ErrorOptions) {
    super('api', message, options);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * The body of an answer ended early: the connection broke (`closed`), the server sent too little for too
 * long (`idle`), the content is not valid (`garbled`), it exceeds a limit (`full`), or is that of a cluster
 * with another history (`restored`).
 */
export class StreamError extends CodedError {
  readonly reason: 'closed' | 'idle' | 'garbled' | 'full' | 'restored';

  constructor(reason: StreamError['reason'], message: string, options?: ErrorOptions) {
    super('stream', message, options);
    this.reason = reason;
  }
}
