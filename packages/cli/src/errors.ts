import { CodedError } from '@kube-dns/wire';

/** An error that ends the command with one line on stderr and `exitCode` as the process's status. */
export class CliError extends CodedError {
  readonly exitCode: number;

  constructor(code: string, message: string, exitCode: number, options?: ErrorOptions) {
    super(code, message, options);
    this.exitCode = exitCode;
  }
}

/** The command line itself is wrong: the message is followed by a pointer to `--help`, status 2. */
export class UsageError extends CliError {
  readonly command: string | undefined;

  constructor(message: string, command?: string) {
    super('usage', message, 2);
    this.command = command;
  }
}

/** The command line is fine and what it names cannot be run, status 1. */
export class StartError extends CliError {
  constructor(message: string, options?: ErrorOptions) {
    super('start', message, 1, options);
  }
}

const SYSTEM_REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EADDRINUSE: 'address already in use',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EHOSTUNREACH: 'host unreachable',
  EISDIR: 'is a folder',
  ENOENT: 'no such file or folder',
  ENOTDIR: 'a part of the path is not a folder',
  ENOTFOUND: 'unknown host',
};

/** The code that Node gives its own errors; empty when there is none. */
export function codeOf(error: unknown): string {
  return textOf(error, 'code');
}

/** The reason of a failed system call in words, or the first line of the error's own message. */
export function reasonOf(error: unknown): string {
  const code = codeOf(error);
  const line = textOf(error, 'message').split('\n', 1)[0] ?? '';
  return SYSTEM_REASONS[code] ?? (line === '' ? code || String(error) : line);
}

function textOf(error: unknown, key: 'code' | 'message'): string {
  if (typeof error !== 'object' || error === null) return '';
  const value: unknown = Reflect.get(error, key);
  return typeof value === 'string' ? value : '';
}
