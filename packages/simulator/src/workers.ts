import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { errorText } from '@kube-dns/base';
import { type Programs, runScenario } from './run.js';
import type { Scenario } from './scenario.js';
import type { Outcome } from './simulation.js';

interface Task {
  readonly scenario: Scenario;
  readonly programs: Programs;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: Error) => void;
}

type Reply = { readonly outcome: Outcome } | { readonly error: string };

/** A process runs so many: a simulated cluster is not freed as a whole, and one of ten minutes has some 20 MiB. */
const MAX_RUNS = 25;

/** Processes that run scenarios, each one at a time. A run has only one thread. */
export class Workers {
  /** With how many runs each has had. */
  readonly #processes = new Map<ChildProcess, number>();
  readonly #idle: ChildProcess[] = [];
  readonly #waiting: Task[] = [];

  constructor(count: number) {
    for (let i = 0; i < count; i++) this.#fork();
  }

  /** Rejects with what the run throws, and when its process ends. */
  run(scenario: Scenario, programs: Programs): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ scenario, programs, resolve, reject });
      this.#assign();
    });
  }

  /** Ends all, also those that run a scenario. */
  close(): void {
    for (const process of this.#processes.keys()) process.disconnect();
  }

  #fork(): void {
    const process = fork(fileURLToPath(import.meta.url));
    this.#processes.set(process, 0);
    this.#idle.push(process);
  }

  /** It has ended a run. */
  #release(process: ChildProcess): void {
    const runs = this.#processes.get(process)! + 1;
    this.#processes.set(process, runs);
    if (runs < MAX_RUNS) this.#idle.push(process);
    else {
      this.#processes.delete(process);
      process.disconnect();
      this.#fork();
    }
    this.#assign();
  }

  #assign(): void {
    const process = this.#idle.at(-1);
    const task = process && this.#waiting.shift();
    if (process === undefined || task === undefined) return;
    this.#idle.pop();
    const { scenario, programs, resolve, reject } = task;
    const onExit = (code: number | null, signal: string | null) =>
      reject(new Error(`the process that ran seed ${scenario.seed} ended: ${signal ?? code}`));
    process.once('exit', onExit);
    process.once('message', (reply: Reply) => {
      process.off('exit', onExit);
      if ('outcome' in reply) resolve(reply.outcome);
      else reject(new Error(reply.error));
      this.#release(process);
    });
    process.send({ scenario, programs });
  }
}

/** The results of runs in the order of the scenarios, while some more run. */
export async function* inOrder<T, R>(
  tasks: Iterable<T>,
  atOnce: number,
  run: (task: T) => Promise<R>,
): AsyncGenerator<R> {
  const running: Promise<R>[] = [];
  for (const task of tasks) {
    const result = run(task);
    // It is awaited when its turn comes.
    result.catch(() => undefined);
    running.push(result);
    if (running.length >= atOnce) yield running.shift()!;
  }
  yield* running;
}

/** In such a process. */
if (process.send !== undefined && process.argv[1] === fileURLToPath(import.meta.url)) {
  process.on('message', ({ scenario, programs }: Pick<Task, 'scenario' | 'programs'>) => {
    runScenario(scenario, programs).then(
      (outcome) => process.send!({ outcome } satisfies Reply),
      (error: unknown) => process.send!({ error: errorText(error) } satisfies Reply),
    );
  });
  process.once('disconnect', () => process.exit());
}
