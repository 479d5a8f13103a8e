// How jest is started, for a run and for the watch.
import { fileURLToPath } from 'node:url';
import process from 'node:process';
import './tools-path.mjs';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** The end of the name of a file that `npm test` runs, as a regular expression. */
export const QUICK = String.raw`(?<!\.(peer|image))\.test\.ts$`;

/** The command that runs jest with our configuration and reporter, and how to spawn it. */
export function jestCommand(args, env = {}) {
  return {
    command: process.execPath,
    args: [
      '--experimental-vm-modules',
      '--disable-warning=ExperimentalWarning',
      `${ROOT}node_modules/jest/bin/jest.js`,
      `--config=${ROOT}jest.config.js`,
      `--reporters=${fileURLToPath(new URL('test-reporter.mjs', import.meta.url))}`,
      ...args,
    ],
    options: { cwd: ROOT, stdio: 'inherit', env: { ...process.env, ...env } },
  };
}
