import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { waitFor } from './wait-for.js';

/** The built program. */
export const PROGRAM = fileURLToPath(new URL('../../dist/kube-dns.cjs', import.meta.url));

/** One run of `kube-dns` as a user would start it. */
export class CommandRun {
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  stdout = '';
  stderr = '';

  constructor(args: readonly string[], options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}) {
    const env = { ...process.env, NODE_OPTIONS: '', ...options.env };
    const child = spawn(process.execPath, [PROGRAM, ...args], { ...options, env });
    child.stdout.on('data', (chunk: Buffer) => (this.stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
    this.child = child;
    this.ended = new Promise((resolve) => child.once('close', (code) => resolve(code)));
  }

  /** Waits until the pattern is on stdout; gives its first group, or the whole match. */
  saw(pattern: RegExp): Promise<string> {
    const what = () => `${pattern} in:\n${this.stdout}${this.stderr}`;
    return waitFor(what, () => {
      const match = pattern.exec(this.stdout);
      return match === null ? undefined : (match[1] ?? match[0]);
    });
  }

  /** The process id that a fixture printed, of its latest run. */
  async pidOf(container: string): Promise<number> {
    const pattern = new RegExp(`^${container} +\\| pid (\\d+)$`, 'gm');
    await this.saw(new RegExp(pattern.source, 'm'));
    return Number([...this.stdout.matchAll(pattern)].at(-1)?.[1]);
  }
}
