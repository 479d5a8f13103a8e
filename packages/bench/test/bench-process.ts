import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const DEADLINE_MS = 15_000;
const STEP_MS = 10;

const running = new Set<BenchProcess>();

/** Ends every bench that is still running, as Ctrl-C does, so that its children end too. */
export async function endAll(): Promise<void> {
  for (const { child } of running) child.kill('SIGINT');
  await Promise.all([...running].map(({ exit }) => exit));
}

/** The built program, started as a user would. */
export class BenchProcess {
  readonly child: ChildProcess;
  readonly exit: Promise<number | string | null>;
  stdout = '';
  stderr = '';

  constructor(args: readonly string[], path = process.env.PATH) {
    this.child = spawn(process.execPath, [PROGRAM, ...args], {
      env: { ...process.env, PATH: path },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    running.add(this);
    this.exit = once(this.child, 'close').then(([code, signal]: (number | string | null)[]) => {
      running.delete(this);
      return code ?? signal ?? null;
    });
  }

  /** The processes that it has started and that are still there. */
  get children(): number[] {
    const { pid = 0 } = this.child;
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return text.trim().split(' ').filter(Boolean).map(Number);
  }

  async says(pattern: RegExp): Promise<void> {
    await until(`${pattern.source} in: ${this.stderr}`, () => pattern.test(this.stderr));
  }
}

/** Waits for a condition. */
export async function until(what: string, isSo: () => boolean): Promise<void> {
  const endMs = performance.now() + DEADLINE_MS;
  while (!isSo()) {
    if (performance.now() > endMs) throw new Error(`too late: ${what}`);
    await delay(STEP_MS);
  }
}

export function isRunning(pid: number): boolean {
  return existsSync(`/proc/${pid}`);
}
