import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const bundle = fileURLToPath(new URL('../dist/sidecar.cjs', import.meta.url));
const DEADLINE_MS = 10_000;

/** The sidecar as a user would start it. */
export class SidecarProcess {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  stderr = '';
  readonly exit: Promise<number | null>;

  constructor(...args: string[]) {
    this.child = spawn(process.execPath, [bundle, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    this.child.stdout.resume();
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.exit = once(this.child, 'close').then(([code]: (number | null)[]) => code ?? null);
    started.add(this);
  }

  /** Where it serves HTTP, once it does. */
  async url(): Promise<string> {
    const port = await eventually(() => /serving HTTP on \S+ port (\d+)/.exec(this.stderr)?.[1]);
    return `http://127.0.0.1:${port}`;
  }
}

const started = new Set<SidecarProcess>();

/** Ends every sidecar that a test started. */
export async function endSidecars(): Promise<void> {
  for (const { child } of started) child.kill('SIGKILL');
  await Promise.all([...started].map(({ exit }) => exit));
  started.clear();
}

/** Asks again and again until there is something; rejects after ten seconds. */
export async function eventually<T>(
  find: () => T | undefined | Promise<T | undefined>,
): Promise<T> {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    const found = await find();
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error(`not within ${DEADLINE_MS} ms: ${String(find)}`);
    await delay(20);
  }
}
