import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** Runs a command and gives what it printed on stdout, trimmed. */
export async function output(command: string, args: readonly string[], env = {}): Promise<string> {
  const { stdout } = await execute(command, args, { env: { ...process.env, ...env } });
  return stdout.trim();
}
