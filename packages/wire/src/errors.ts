/** What can be wrong with a name or a message; stable, so that callers may count by it. */
export type WireErrorCode = 'bad-name' | 'bad-message' | 'bad-rdata';

/** Thrown for names and messages that cannot be read or written; never on the query path. */
export class WireError extends Error {
  readonly code: WireErrorCode;

  constructor(code: WireErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'WireError';
    this.code = code;
  }
}
