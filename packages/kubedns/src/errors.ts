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

/** A stream of the API server that cannot be read on: a line that is no JSON, or has no end. */
export class GarbledStreamError extends Error {
  readonly code = 'garbled-stream';

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'GarbledStreamError';
  }
}
