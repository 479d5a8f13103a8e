/**
 * Base of every error that a package throws on purpose. `code` is stable, lower-case words joined
 * by hyphens, for callers that count or act by it; the message is for people.
 */
export class CodedError<Code extends string = string> extends Error {
  readonly code: Code;

  constructor(code: Code, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** What can be wrong with a name, a message or a key; stable, so that callers may count by it. */
export type WireErrorCode = 'bad-name' | 'bad-message' | 'bad-rdata' | 'bad-key';

/** Thrown for names, messages and keys that cannot be read or written; never on the query path. */
export class WireError extends CodedError<WireErrorCode> {}
