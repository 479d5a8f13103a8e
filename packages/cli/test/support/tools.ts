import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** Whether a command is on the PATH; a test that needs it is skipped where it is not. */
export function hasCommand(name: string): boolean {
  const found = (process.env.PATH ?? '')
    .split(delimiter)
    .some((folder) => existsSync(join(folder, name)));
  if (!found) process.stderr.write(`skipped: ${name} is not installed\n`);
  return found;
}

/** Runs a command and gives what it printed on stdout, trimmed. */
export async function output(command: string, args: readonly string[], env = {}): Promise<string> {
  const { stdout } = await execute(command, args, { env: { ...process.env, ...env } });
  return stdout.trim();
}
