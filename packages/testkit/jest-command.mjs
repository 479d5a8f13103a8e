// How jest is started and ended, for a run and for the watch.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import process from 'node:process';
import { setTimeout } from 'node:timers';
import './tools-path.mjs';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** The end of the name of a file that `npm test` runs, as a regular expression. */
export const QUICK = String.raw`(?<!\.(peer|long|image))\.test\.ts$`;
/** How long programs under test have to end by themselves. */
const GRACE_MS = 2_000;
const STEP_MS = 50;
/** Programs under test, and the workers, are started a thousand times: what Node has compiled of them is kept. */
const NODE_COMPILE_CACHE = `${ROOT}node_modules/.cache/node`;
const ENDING = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };

/** The Node of the project where it is installed: this process may run on an older one. */
export function projectNode() {
  const installed = `${ROOT}node_modules/.bin/node`;
  return existsSync(installed) ? installed : process.execPath;
}

/**
 * Runs jest with our configuration and reporter. `ended` resolves with its status; `stop()` ends it with its workers
 * and the programs that they test, which are in its process group.
 */
export function startJest(args, env = {}) {
  const words = [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    `--import=${new URL('worker-exit.mjs', import.meta.url)}`,
    `${ROOT}node_modules/jest/bin/jest.js`,
    `--config=${ROOT}jest.config.js`,
    `--reporters=${fileURLToPath(new URL('test-reporter.mjs', import.meta.url))}`,
    ...args,
  ];
  const child = spawn(projectNode(), words, {
    cwd: ROOT,
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, NODE_COMPILE_CACHE, ...env },
  });
  /** Whether there is still a process of the group. */
  const signalAll = (signal) => {
    try {
      process.kill(-child.pid, signal);
      return true;
    } catch {
      return false;
    }
  };
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
  const stop = async () => {
    signalAll('SIGTERM');
    for (let waitedMs = 0; waitedMs < GRACE_MS && signalAll(0); waitedMs += STEP_MS) {
      await new Promise((resolve) => setTimeout(resolve, STEP_MS));
    }
    signalAll('SIGKILL');
  };
  return { ended, stop };
}

/** Calls `stop` when this process shall end, and then ends with the status of the signal. */
export function onEnd(stop) {
  for (const [signal, status] of Object.entries(ENDING)) {
    process.once(signal, () => void stop().finally(() => process.exit(status)));
  }
}
