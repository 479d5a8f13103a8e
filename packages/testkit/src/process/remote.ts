import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { errorText } from '@kube-dns/base';
import { MeasureError } from '../errors.js';

/** An interface whose methods can be called from another process. */
export type Methods<T> = { [K in keyof T]: (...args: never[]) => unknown };

interface Call {
  readonly id: number;
  readonly method: string;
  readonly args: readonly unknown[];
}

type Reply = { readonly id: number } & ({ readonly result: unknown } | { readonly error: string });

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

const RUNNER = new URL('./remote-main.js', import.meta.url);

/** How the process of a Remote is started. */
export interface RemoteOptions {
  readonly nodeFlags?: readonly string[];
  /** A command with arguments that replaces itself with the words after it. */
  readonly through?: readonly string[];
}

/**
 * An object of a class in a separate process; its methods `T` are called from this process. Measurements
 * and loads must not share an event loop with other work.
 */
export class Remote<T extends Methods<T>> {
  readonly #child: ChildProcess;
  readonly #what: string;
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 0;
  #isClosed = false;

  /**
   * Starts a process that creates one object of the class that `entry` names: the URL of its module, and
   * the export after `#`. It ends with this process at the latest. `what` names it in errors.
   */
  constructor(what: string, entry: URL, { nodeFlags = [], through = [] }: RemoteOptions = {}) {
    this.#what = what;
    const [execPath = process.execPath, ...execArgv] = [...through, process.execPath, ...nodeFlags];
    this.#child = fork(RUNNER, [entry.href], {
      execPath,
      execArgv,
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#child.on('message', (reply: Reply) => this.#settle(reply));
    this.#child.on('error', (error) => this.#fail(`cannot be started: ${error.message}`));
    this.#child.once('exit', (code, signal) => this.#fail(`ended with ${code ?? signal ?? '?'}`));
  }

  /** The process id, to read the usage of the process. */
  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Calls a method; rejects when the method throws or the process ends. */
  call<K extends keyof T & string>(
    method: K,
    ...args: Parameters<T[K]>
  ): Promise<Awaited<ReturnType<T[K]>>> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      // The result is that of the method with this name.
      this.#waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
      if (this.#isClosed || !this.#child.connected) this.#fail('has ended');
      else this.#child.send({ id, method, args } satisfies Call);
    });
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exit = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exit;
  }

  #settle(reply: Reply): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if ('error' in reply) waiting?.reject(new MeasureError(`${this.#what}: ${reply.error}`));
    else waiting?.resolve(reply.result);
  }

  #fail(why: string): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(new MeasureError(`${this.#what} ${why}`));
  }
}

/** Serves methods to the parent process once they are ready, and ends with it. */
export function serveRemote<T extends Methods<T>>(offered: Promise<T>): void {
  const answer = async ({ id, method, args }: Call): Promise<Reply> => {
    try {
      const methods = await offered;
      // Remote.call accepts only names and arguments of the same interface.
      const call = methods[method as keyof T] as unknown as (...all: unknown[]) => unknown;
      return { id, result: await call.apply(methods, [...args]) };
    } catch (error) {
      return { id, error: errorText(error) };
    }
  };
  process.on('message', (call: Call) => {
    void answer(call).then((reply) => {
      if (process.connected) process.send?.(reply);
    });
  });
  process.once('disconnect', () => process.exit(0));
  // Ctrl-C and a closed terminal signal every process of the group; the parent ends this one.
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM']) process.on(signal, () => undefined);
}
