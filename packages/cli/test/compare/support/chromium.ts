import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram, missing } from '@kube-dns/testkit';

const execute = promisify(execFile);
const CHROMIUM = findProgram('chromium') ?? findProgram('chromium-headless-shell');

/** Why no test uses the browser here; undefined where it is installed. */
export const withoutChromium = CHROMIUM === undefined ? missing('chromium') : undefined;

/** Runs Chromium without a window and without a network, and returns what it prints. */
export async function runChromium(folder: string, args: readonly string[]): Promise<string> {
  const { stdout } = await execute(
    CHROMIUM!,
    [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
      '--proxy-server=127.0.0.1:9',
      `--user-data-dir=${join(folder, 'chromium')}`,
      ...args,
    ],
    { maxBuffer: 64 * 1024 * 1024 },
  );
  return stdout;
}
