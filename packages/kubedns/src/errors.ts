/** An answer of the API server with another status than 200, or none at all (`status` 0). */
export class ApiError extends Error {
  readonly code = 'api';
  readonly status: number;
  /** What the server asked to wait before the next try; 0 when it said nothing. */
  readonly retryAfterMs: number;

  constructor(status: number, message: string, retryAfterMs = 0, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ApiError';
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * What ends the body of an answer before its time: the connection broke (`closed`), the server is not
 * heard any more (`idle`), or what it says makes no sense (`garbled`).
 */
export class StreamError extends Error {
  readonly code = 'stream';
  readonly reason: 'closed' | 'idle' | 'garbled';

  constructor(reason: StreamError['reason'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StreamError';
    this.reason = reason;
  }
}
