import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { MeasureError } from '../errors.js';
import { monotonicMs, until, type WaitLimits } from '../until.js';
import type { Closable } from '../owned.js';
import { imageStart } from './dockerfile.js';

const MAX_CHARACTERS = 2 ** 20;

/** The output of a program on a stream: all of it, or the end when it is long. */
class OutputText {
  #text = '';

  /** At least the last MiB. */
  get text(): string {
    return this.#text;
  }

  push(part: string): void {
    this.#text += part;
    // Not for each part: cutting copies the rest.
    if (this.#text.length > 2 * MAX_CHARACTERS) this.#text = this.#text.slice(-MAX_CHARACTERS);
  }
}

const LAST_LINES = 8;
const STACK_LINE = /^ +at /;
/** The status of a shell for a program that cannot be started. */
const NOT_STARTED = 127;

/** The environment of a program: without the machine's cluster, proxies, metrics and Node options. */
const FOREIGN_ENVIRONMENT = { PATH: process.env.PATH ?? '', NO_COLOR: '1' };
/** What Node has compiled of a program is there for its next start, where `npm test` says so. */
const { NODE_COMPILE_CACHE } = process.env;
/** Our own programs also have the settings of malloc of the images. */
const ENVIRONMENT = {
  ...FOREIGN_ENVIRONMENT,
  ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }),
  ...imageStart('kubedns').malloc,
};

/** How a program is started. */
export interface ProgramOptions {
  /** Variables in addition to those of every program. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Passes all variables of this process except `NODE_OPTIONS`, as a user's shell does. */
  readonly inheritsEnv?: boolean;
  /** Whether it is none of ours: it gets no settings of our images. */
  readonly isForeign?: boolean;
  /** Gives it the variables of `env` and no others, as a container runtime does. */
  readonly hasOnlyEnv?: boolean;
  /** The user that it runs as; that of this process unless given. */
  readonly user?: { readonly uid: number; readonly gid: number };
  readonly cwd?: string;
  /** Its stdin; default: nothing. */
  readonly input?: string | Uint8Array;
}

/** How a program ended: its exit code, or the signal that ended it. */
export type ProgramEnd = number | NodeJS.Signals;

const running = new Set<RunningProgram>();

/** A started program, and its output. */
export class RunningProgram implements Closable {
  /** When it was started, on the monotonic clock. */
  readonly startedMs = monotonicMs();
  /** Resolves when it has ended and all its output is read. */
  readonly ended: Promise<ProgramEnd>;
  readonly name: string;
  readonly #child: ChildProcess;
  readonly #stdout = new OutputText();
  readonly #stderr = new OutputText();
  readonly #output = new OutputText();
  #failure: string | undefined;
  #hasEnded = false;

  /** Starts it. `name` names it in errors. */
  constructor(
    name: string,
    command: string,
    args: readonly string[] = [],
    options: ProgramOptions = {},
  ) {
    this.name = name;
    const { env = {}, cwd, input, user } = options;
    const child = spawn(command, args, {
      env: { ...baseEnvironment(options), ...env },
      ...(cwd !== undefined && { cwd }),
      ...user,
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    this.#child = child;
    this.#read(child.stdout, this.#stdout);
    this.#read(child.stderr, this.#stderr);
    // A program may end without reading its input; its end reports a failure.
    child.stdin?.on('error', () => undefined).end(input);
    child.once('error', (error) => (this.#failure = error.message));
    child.once('exit', (code, signal) => (this.#failure ??= `ended with ${code ?? signal}`));
    running.add(this);
    this.ended = new Promise((resolve) => {
      child.once('close', (code, signal) => {
        running.delete(this);
        this.#hasEnded = true;
        resolve(code ?? signal ?? NOT_STARTED);
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** At least the last MiB of stdout. */
  get stdout(): string {
    return this.#stdout.text;
  }

  /** At least the last MiB of stderr. */
  get stderr(): string {
    return this.#stderr.text;
  }

  /** At least the last MiB of both streams, in order of arrival. */
  get output(): string {
    return this.#output.text;
  }

  /** Its last lines, without stack traces. */
  get lastLines(): string {
    const lines = this.output
      .split('\n')
      .filter((line) => line.trim() !== '' && !STACK_LINE.test(line));
    return lines.slice(-LAST_LINES).join(' | ');
  }

  /** Whether it was started and has not ended. */
  get isRunning(): boolean {
    return this.#failure === undefined;
  }

  /** Throws a MeasureError with its last lines when the program has ended. */
  check(): void {
    if (this.isRunning) return;
    throw new MeasureError(`${this.name} ${this.#failure ?? ''}: ${this.lastLines}`);
  }

  /**
   * Waits until the output on either stream matches, and returns the match. Rejects with a MeasureError when
   * the wait is over, and as soon as the program has ended without a match.
   */
  waitForLine(pattern: RegExp | string, limits: WaitLimits = {}): Promise<RegExpExecArray> {
    const wanted = typeof pattern === 'string' ? literally(pattern) : pattern;
    const find = () => {
      const isLast = this.#hasEnded;
      const match = wanted.exec(this.output);
      if (match === null && isLast) this.check();
      return match;
    };
    return until(() => `${wanted.source} printed by ${this.name}: ${this.output}`, find, limits);
  }

  /** Closes this end of a stream: the program writes to a pipe that no process reads. */
  async hangUp(stream: 'stdout' | 'stderr'): Promise<void> {
    const pipe = this.#child[stream];
    if (pipe === null) return;
    const closed = once(pipe, 'close');
    pipe.destroy();
    await closed;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Sends SIGKILL, or the given signal, and waits for the end; may be called twice. */
  async close(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const { exitCode, signalCode, pid } = this.#child;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    const exit = once(this.#child, 'exit');
    this.#child.kill(signal);
    await exit;
  }

  #read(stream: ChildProcess['stdout'], text: OutputText): void {
    stream?.setEncoding('utf8').on('data', (part: string) => {
      text.push(part);
      this.#output.push(part);
    });
  }
}

function baseEnvironment(options: ProgramOptions): NodeJS.ProcessEnv {
  const { inheritsEnv, hasOnlyEnv, isForeign } = options;
  if (hasOnlyEnv === true) return {};
  if (isForeign === true) return FOREIGN_ENVIRONMENT;
  return inheritsEnv === true ? { ...process.env, NODE_OPTIONS: '' } : ENVIRONMENT;
}

/** A pattern that matches exactly this text. */
function literally(text: string): RegExp {
  return new RegExp(text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
}

/** Ends every running program, for example after a test, and waits for the end of each. */
export async function endPrograms(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  await Promise.all(
    [...running].map(async (program) => {
      program.signal(signal);
      await program.ended;
    }),
  );
}

/** The end of a program, and its output. */
export interface ProgramResult {
  readonly end: ProgramEnd;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end; after `limitMs` (default: 60 s) it gets SIGINT. */
export async function runProgram(
  command: string,
  args: readonly string[] = [],
  { limitMs = 60_000, ...options }: ProgramOptions & { readonly limitMs?: number } = {},
): Promise<ProgramResult> {
  const program = new RunningProgram(command, command, args, options);
  const timer = setTimeout(() => program.signal('SIGINT'), limitMs);
  const end = await program.ended;
  clearTimeout(timer);
  return { end, stdout: program.stdout, stderr: program.stderr };
}

/** Runs a program to its end and returns its stdout, trimmed; throws a MeasureError when it fails. */
export async function outputOf(
  command: string,
  args: readonly string[] = [],
  env: ProgramOptions['env'] = {},
): Promise<string> {
  const { end, stdout, stderr } = await runProgram(command, args, { env, inheritsEnv: true });
  if (end !== 0) throw new MeasureError(`${command} ended with ${end}: ${stdout}${stderr}`);
  return stdout.trim();
}

/** Whether a process with this id exists. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false; // ESRCH
  }
}

/** The output of an example of a README, and the expected output from the comments after its `console.log`. */
export interface ExampleLines {
  readonly printed: readonly string[];
  readonly expected: readonly string[];
}

/** Runs the first `js` block of a README, in the folder of this process; throws when it fails. */
export async function runExample(readme: string): Promise<ExampleLines> {
  const example = /^```js\n(.*?)^```/ms.exec(readme)?.[1] ?? '';
  const expected = [...example.matchAll(/^ *console\.log\(.*\); \/\/ (.*)$/gm)].map(
    ([, text = '']) => text,
  );
  const args = ['--input-type=module', '--eval', example];
  const { end, stdout, stderr } = await runProgram(process.execPath, args);
  if (end !== 0) throw new MeasureError(`the example ended with ${end}: ${stderr}`);
  return { printed: stdout.trimEnd().split('\n'), expected };
}
