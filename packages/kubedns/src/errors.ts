import { CodedError } from '@kube-dns/wire';

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
 * long (`idle`), the content is not valid (`garbled`), or it exceeds a limit (`full`).
 */
export class StreamError extends CodedError {
  readonly reason: 'closed' | 'idle' | 'garbled' | 'full';

  constructor(reason: StreamError['reason'], message: string, options?: ErrorOptions) {
    super('stream', message, options);
    this.reason = reason;
  }
}
