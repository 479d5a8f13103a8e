import { constants } from 'node:os';
import { getSystemErrorMessage } from 'node:util';

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

/** A command line that is not valid: the program prints the message, one line, and exits with 2. */
export class UsageError extends CodedError {
  constructor(message: string, options?: ErrorOptions) {
    super('usage', message, options);
  }
}

/** The message of a thrown value of any type. */
export function errorText(error: unknown): string {
  // By its field, not instanceof: an error may be of another realm, as in some test runners.
  if (typeof error === 'object' && error !== null && 'message' in error) {
    return String(error.message);
  }
  return String(error);
}

/** Errors whose text in Node differs from the C library and Go, or is missing. */
const BETTER_REASONS: Readonly<Record<string, string>> = {
  EISDIR: 'is a directory',
  ELOOP: 'too many levels of symbolic links',
  ENOTFOUND: 'no such host',
};
const ERRNO: Readonly<Record<string, number>> = constants.errno;

/**
 * The reason of a failed system call in words (`no such file or directory`), without its code and its
 * arguments, which the caller names; the message of any other error.
 */
export function systemReason(error: unknown): string {
  // By its fields, not instanceof: an error may be of another realm, as in some test runners.
  const { code = '', message } = Object(error) as Partial<NodeJS.ErrnoException>;
  const better = BETTER_REASONS[code];
  if (better !== undefined) return better;
  const errno = ERRNO[code];
  if (errno !== undefined) return getSystemErrorMessage(-errno);
  return message ?? String(error);
}
