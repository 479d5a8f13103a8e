/** Base of the sidecar's own errors; `code` is stable. */
export class SidecarError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** A probe or a statistics query that brought no usable answer. */
export class QueryError extends SidecarError {
  constructor(message: string, options?: ErrorOptions) {
    super('query', message, options);
  }
}
