import { execFileSync } from 'node:child_process';
import { outputOf, RunningProgram } from '@kube-dns/testkit';

/** How long an answer or a page may take, also where others use the cores. */
const ANSWER_SECONDS = '20';

/** The network of a pod, in which programs of this machine are run with `nsenter`. */
export class PodNetwork {
  readonly path: string;
  readonly #name: string | undefined;
  readonly #programs: RunningProgram[] = [];

  private constructor(path: string, name?: string) {
    this.path = path;
    this.#name = name;
  }

  /** Creates one with nothing but loopback. */
  static create(): PodNetwork {
    const name = `kube-dns-${process.pid}-${Date.now().toString(36)}`;
    execFileSync('ip', ['netns', 'add', name]);
    const network = new PodNetwork(`/run/netns/${name}`, name);
    execFileSync('ip', ['-n', name, 'link', 'set', 'lo', 'up']);
    return network;
  }

  /** The network of a process. */
  static of(pid: number): PodNetwork {
    return new PodNetwork(`/proc/${pid}/ns/net`);
  }

  /** The words before a command that runs in this network. Not `ip netns exec`, which hides the cgroups. */
  get entrance(): readonly string[] {
    return ['nsenter', `--net=${this.path}`];
  }

  /** Runs a program to its end and returns its stdout, trimmed; throws when it fails. */
  output(...words: string[]): Promise<string> {
    const [nsenter = '', ...args] = [...this.entrance, ...words];
    return outputOf(nsenter, args);
  }

  /** As {@link output}; for a failure the error as text. */
  outputOrError(...words: string[]): Promise<string> {
    return this.output(...words).catch(String);
  }

  /** The answer of a name server in this network, one record per line. */
  dig(...words: string[]): Promise<string> {
    return this.outputOrError(
      'dig',
      '@127.0.0.1',
      '+short',
      `+time=${ANSWER_SECONDS}`,
      '+tries=1',
      ...words,
    );
  }

  /** The HTTP status of a path on loopback, `000` without an answer. */
  status(port: number, path: string): Promise<string> {
    const quiet = ['--silent', '--max-time', '5', '--output', '/dev/null'];
    const url = `http://127.0.0.1:${port}${path}`;
    return this.output('curl', ...quiet, '--write-out', '%{http_code}', url).catch(() => '000');
  }

  /** The body of a path on loopback. */
  get(port: number, path: string): Promise<string> {
    const quiet = ['--silent', '--max-time', ANSWER_SECONDS];
    return this.output('curl', ...quiet, `http://127.0.0.1:${port}${path}`);
  }

  /** Starts a program in this network; close() ends it. */
  start(...words: string[]): RunningProgram {
    const [nsenter = '', ...args] = [...this.entrance, ...words];
    const program = new RunningProgram(words[0] ?? '', nsenter, args, { inheritsEnv: true });
    this.#programs.push(program);
    return program;
  }

  async close(): Promise<void> {
    await Promise.all(this.#programs.splice(0).map((program) => program.close('SIGTERM')));
    if (this.#name !== undefined) execFileSync('ip', ['netns', 'delete', this.#name]);
  }
}
