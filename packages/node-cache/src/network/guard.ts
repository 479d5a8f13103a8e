import { spawn } from 'node:child_process';
import { closeSync, constants, existsSync, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { env } from 'node:process';
import type { Writable } from 'node:stream';
import { errorText } from '@kube-dns/base';
import { type Log } from '@kube-dns/daemon';
import type { RuleGuard } from './network-setup.js';

export interface GuardOptions {
  /** The named pipe of a guard in another container; '' for none. */
  readonly pipe: string;
  /** The program's own file, beside which the guard's is. */
  readonly program: string;
  readonly log: Log;
}

/** The end of the pipe to the guard that started this program, see bin/guard.sh. */
const FD_VARIABLE = 'NODE_CACHE_GUARD_FD';
/** A guard that does not read its pipe is given up, rather than to keep lines for it. */
const MAX_WAITING_BYTES = 64 * 1024;

/**
 * Small processes that take the rules out when this one cannot (bin/guard.sh): the one that started this program or
 * else a child of it, and one in another container where there is a pipe to it. They see the end of this process as
 * the end of the pipe.
 */
export class Guard implements RuleGuard {
  readonly #options: GuardOptions;
  #lines: readonly string[] = [];
  #own: Writable | undefined;
  #other: Writable | undefined;

  constructor(options: GuardOptions) {
    this.#options = options;
  }

  arm(lines: readonly string[]): void {
    this.#lines = lines;
    this.#own ??= this.#openOwn();
    this.#send(`clear\n${lines.join('\n')}\n`);
    if (this.#options.pipe !== '' && this.#other === undefined) this.#openOther();
  }

  beat(): void {
    if (this.#lines.length === 0) return;
    this.#send('.\n');
    if (this.#options.pipe !== '' && this.#other === undefined) this.#openOther();
  }

  disarm(): void {
    if (this.#lines.length > 0) this.#send('clear\n');
    this.#lines = [];
  }

  /** Closes the pipes; guards that still have something to take out do so. */
  close(): void {
    this.#own?.destroy();
    this.#other?.destroy();
  }

  #send(text: string): void {
    for (const pipe of [this.#own, this.#other]) {
      if (pipe === undefined || pipe.destroyed) continue;
      if (pipe.writableLength > MAX_WAITING_BYTES) pipe.destroy();
      else pipe.write(text);
    }
  }

  #openOwn(): Writable | undefined {
    const { log, program } = this.#options;
    const fd = Number(env[FD_VARIABLE] ?? NaN);
    if (Number.isInteger(fd)) return this.#quiet(new Socket({ fd, readable: false }));
    const folder = dirname(program);
    const script = [join(folder, 'guard.sh'), join(folder, '../bin/guard.sh')].find((each) =>
      existsSync(each),
    );
    if (script === undefined) {
      log.warn('no guard: guard.sh is not beside the program; rules stay after SIGKILL');
      return undefined;
    }
    // Not of this process's group: what ends it is not to end its guard.
    const child = spawn('bash', [script, '--child'], {
      stdio: ['pipe', 'ignore', 'inherit'],
      detached: true,
    });
    child.on('error', (error) =>
      log.warn(`no guard: ${errorText(error)}; rules stay after SIGKILL`),
    );
    child.unref();
    return this.#quiet(child.stdin);
  }

  /** It may be started later than this program, and again. */
  #openOther(): void {
    let fd: number | undefined;
    try {
      // Fails while no process reads, and waits for none.
      fd = openSync(this.#options.pipe, constants.O_WRONLY | constants.O_NONBLOCK);
      const other = this.#quiet(new Socket({ fd, readable: false }));
      this.#other = other;
      other.once('close', () => (this.#other = undefined));
      other.write(`clear\n${this.#lines.join('\n')}\n`);
    } catch {
      // No guard there yet: the next beat tries again.
      if (fd !== undefined) closeSync(fd);
    }
  }

  /** A guard that has ended is no reason for this process to end, and none to stay. */
  #quiet<T extends Writable>(pipe: T): T {
    pipe.on('error', () => pipe.destroy());
    if (pipe instanceof Socket) pipe.unref();
    return pipe;
  }
}
