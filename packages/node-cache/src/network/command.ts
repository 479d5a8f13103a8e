import { execFile } from 'node:child_process';
import { CodedError } from '@kube-dns/base';

/** How a command ended. */
export interface CommandResult {
  /** Its exit code; `NOT_INSTALLED` where there is no such program. */
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end with this text as its stdin. Never rejects. */
export type Run = (words: readonly string[], input?: string) => Promise<CommandResult>;

/** The exit code of a shell for a program that is not there. */
export const NOT_INSTALLED = 127;
const FAILED = 1;
/** The lock of iptables is waited for 5 s; longer than that hangs. */
const LIMIT_MS = 15_000;
/** All rules of a table on a node with thousands of services. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** The PATH of an image may leave out the folders of tools for root. */
const ENVIRONMENT = { ...process.env, PATH: `${process.env.PATH ?? ''}:/usr/sbin:/sbin` };

/** Runs it on this machine; after 15 s it is ended and has failed. */
export const runCommand: Run = ([program = '', ...args], input = '') =>
  new Promise((resolve) => {
    const options = { env: ENVIRONMENT, timeout: LIMIT_MS, maxBuffer: MAX_OUTPUT_BYTES };
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      if (error === null) resolve({ status: 0, stdout, stderr });
      else if (error.code === 'ENOENT') resolve({ status: NOT_INSTALLED, stdout, stderr });
      else if (typeof error.code === 'number') resolve({ status: error.code, stdout, stderr });
      else resolve({ status: FAILED, stdout, stderr: stderr || error.message });
    });
    // It may end without having read its input; its exit code says so.
    child.stdin?.on('error', () => undefined).end(input);
  });

const NOT_PERMITTED = /not permitted|permission denied|must be root/i;
const LOCKED = 'holding the xtables lock';

/** What cannot be set up; `rules-locked` is another program with the lock of iptables. */
type NetworkErrorCode = 'interface' | 'rules' | 'rules-locked';

/** Interface or rules that cannot be read, added or removed. */
export class NetworkError extends CodedError<NetworkErrorCode> {}

/** The error of a command that failed, with its first line and what is missing. */
export function commandError(
  code: NetworkErrorCode,
  program: string,
  result: CommandResult,
): NetworkError {
  if (result.status === NOT_INSTALLED) return new NetworkError(code, `${program} is not installed`);
  const isLocked = code === 'rules' && result.stderr.includes(LOCKED);
  const lines = result.stderr.split('\n').filter((line) => line.trim() !== '');
  const reason = lines[0]?.trim() ?? `exit code ${result.status}`;
  const advice = NOT_PERMITTED.test(result.stderr) ? '; it needs the capability NET_ADMIN' : '';
  return new NetworkError(isLocked ? 'rules-locked' : code, `${program}: ${reason}${advice}`);
}

/** Runs a command that is to end with 0; rejects with a NetworkError otherwise. */
export async function runOrThrow(
  run: Run,
  code: NetworkErrorCode,
  words: readonly string[],
  input?: string,
): Promise<CommandResult> {
  const result = await run(words, input);
  if (result.status !== 0) throw commandError(code, words[0]!, result);
  return result;
}
