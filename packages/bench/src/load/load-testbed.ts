import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type CorePlan,
  type DnsperfOptions,
  type DnsperfResult,
  type Methods,
  Owned,
  pinProcess,
  Remote,
  runDnsperf,
  TemporaryFolder,
} from '@kube-dns/testkit';
import { encodeQuestionFile, inRandomOrder, type LoadQuestion } from '../queries/question-file.js';
import type { Series, Subject } from './scores.js';
import { type Programs, ServerTestbed } from './server-testbed.js';

/** What the parts of the measurement share. */
export interface LoadContext {
  readonly programs: Programs;
  readonly cores: CorePlan | undefined;
  readonly owned: Owned;
  readonly progress: (text: string) => void;
  readonly series: Series;
  readonly runs: number;
  readonly seconds: number;
  /** Enough names to measure the memory of one beside that of the process. */
  readonly manyNames: number;
}

/** What one part starts; `close` ends it. */
export class LoadTestbed {
  readonly servers: ServerTestbed;
  readonly #owned: Owned;
  readonly #cores: CorePlan | undefined;
  readonly #folder: TemporaryFolder;
  #files = 0;

  constructor({ programs, cores, owned }: Pick<LoadContext, 'programs' | 'cores' | 'owned'>) {
    this.#owned = owned.add(new Owned());
    this.#cores = cores;
    this.#folder = this.#owned.add(new TemporaryFolder());
    this.servers = new ServerTestbed(programs, this.#owned, cores);
  }

  /** A client of `src/dns` in its own process; `module` is its file and, after `#`, its class. */
  async client<T extends Methods<T>>(what: string, module: string): Promise<Remote<T>> {
    const entry = new URL(`../dns/${module}`, import.meta.url);
    const client = this.#owned.add(new Remote<T>(what, entry));
    await pinProcess(client.pid, this.#cores?.load);
    return client;
  }

  /** A file of questions in random order. */
  questionFile(questions: readonly LoadQuestion[]): string {
    const path = join(this.#folder.path, String(this.#files++));
    writeFileSync(path, encodeQuestionFile(inRandomOrder(questions)));
    return path;
  }

  async dnsperf(
    { port }: Subject,
    options: Omit<DnsperfOptions, 'owned' | 'core' | 'isBinary'>,
  ): Promise<DnsperfResult> {
    const owned = this.#owned;
    const whole = { ...options, isBinary: true, core: this.#cores?.load, owned };
    return runDnsperf({ host: '127.0.0.1', port }, whole);
  }

  close(): Promise<void> {
    return this.#owned.close();
  }
}
