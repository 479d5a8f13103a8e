import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { until } from './until.js';

/** The bundle. */
export const PROGRAM = fileURLToPath(new URL('../dist/dnsmasq.cjs', import.meta.url));

/** A child process and what it said. */
export class RunningProcess {
  readonly child: ChildProcess;
  stderr = '';
  stdout = '';
  /** The exit code, or the signal that ended it. */
  readonly exit: Promise<number | string>;
  #hasExited = false;

  constructor(command: string, args: readonly string[]) {
    this.child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.child.stderr!.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.child.stdout!.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.exit = once(this.child, 'close').then(([code, signal]: (number | string | null)[]) => {
      this.#hasExited = true;
      return code ?? signal ?? 'unknown';
    });
    running.add(this);
    void this.exit.then(() => running.delete(this));
  }

  /** The messages of its log so far, without klog's head. */
  get messages(): string[] {
    return [...this.stderr.matchAll(/^[IWE]\d{4} .* dnsmasq\] (.*)$/gm)].map((match) => match[1]!);
  }

  /** Waits for a text on stderr; rejects at once when the process ends without it. */
  async says(text: string): Promise<void> {
    await until(
      () => {
        if (this.#hasExited && !this.stderr.includes(text)) {
          throw new Error(`ended without saying ${JSON.stringify(text)}: ${this.stderr}`);
        }
        return this.stderr.includes(text);
      },
      `${JSON.stringify(text)} in: ${this.stderr}`,
    );
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }
}

const running = new Set<RunningProcess>();

/** Ends every process that a test left running. */
export async function endProcesses(): Promise<void> {
  const left = [...running];
  for (const process of left) process.kill('SIGKILL');
  await Promise.all(left.map((process) => process.exit));
}

/** Runs our dnsmasq with this command line. */
export function runDnsmasq(...argv: string[]): RunningProcess {
  return new RunningProcess(process.execPath, [PROGRAM, ...argv]);
}

/** A process that serves DNS on a port of 127.0.0.1. */
export interface Serving {
  readonly process: RunningProcess;
  readonly port: number;
}

/** The UDP engine that every server of the tests gets; the best there is unless told otherwise. */
const ENGINE = process.env.UDP_ENGINE ?? 'auto';

/** Runs our dnsmasq on a free port and waits until it serves. */
export async function serve(options: readonly string[], nanny: readonly string[] = []) {
  const own = ['--port=0', '--listen-address=127.0.0.1', `--udp-engine=${ENGINE}`];
  const started = runDnsmasq(...nanny, '--', ...own, ...options);
  await started.says('serving on port');
  const port = Number(/serving on port (\d+)/.exec(started.stderr)![1]);
  return { process: started, port } satisfies Serving;
}
