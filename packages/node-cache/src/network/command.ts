import { execFile } from 'node:child_process';

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
