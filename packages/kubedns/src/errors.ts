import { CodedError } from '@kube-dns/wire';

/** An answer of the API server with another status than 200, or none at all (`status` 0). */
export class ApiError extends CodedError {
  readonly status: number;
  /** What the server asked to wait before the next try; 0 when it said nothing. */
  readonly retryAfterMs: number;

  constructor(status: number, message: string, retryAfterMs = 0, options?: ErrorOptions) {
    super('api', message, options);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * What ends the body of an answer before its time: the connection broke (`closed`), the server is not
 * heard any more (`idle`), or what it says makes no sense (`garbled`).
 */
export class StreamError extends CodedError {
  readonly reason: 'closed' | 'idle' | 'garbled';

  constructor(reason: StreamError['reason'], message: string, options?: ErrorOptions) {
    super('stream', message, options);
    this.reason = reason;
  }
}
