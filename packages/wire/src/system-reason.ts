import { constants } from 'node:os';
import { getSystemErrorMessage } from 'node:util';

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
