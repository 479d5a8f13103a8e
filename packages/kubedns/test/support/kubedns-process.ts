import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { ApiServer } from '@kube-dns/apiserver';
import { exchange } from '@kube-dns/transport';
import { type Answer, type Asked, queryBytes, readAnswer } from './messages.js';
import type { NameServer } from './name-server.js';
import { until } from './until.js';

const PROGRAM = fileURLToPath(new URL('../../bin/kubedns.cjs', import.meta.url));
const ASK_LIMIT_MS = 10_000;
/** The UDP engine that every server of the tests gets; the best there is unless told otherwise. */
const ENGINE = process.env.UDP_ENGINE ?? 'auto';

/** Nothing of the machine's own cluster, metrics or proxies may reach the program. */
const ENVIRONMENT = { PATH: process.env.PATH ?? '', NO_COLOR: '1' };

const running = new Set<KubednsProcess>();

/** Ends every program that is still running. */
export async function endAll(): Promise<void> {
  for (const { child } of running) child.kill('SIGKILL');
  await Promise.all([...running].map(({ exit }) => exit));
}

/** The built program, started as a user would. */
export class KubednsProcess {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  readonly startedMs = performance.now();
  /** The exit code, or the signal that ended it. */
  readonly exit: Promise<number | string | null>;
  stdout = '';
  stderr = '';

  constructor(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    this.child = spawn(process.execPath, [PROGRAM, ...args], {
      env: { ...ENVIRONMENT, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    running.add(this);
    this.exit = once(this.child, 'close').then(([code, signal]: (number | string | null)[]) => {
      running.delete(this);
      return code ?? signal ?? null;
    });
  }

  /** What the program says in place of a log line: the reason why it ended. */
  get lastWords(): string[] {
    return this.stderr.split('\n').filter((line) => line.startsWith('kubedns: '));
  }

  says(pattern: RegExp): Promise<RegExpExecArray> {
    return until(`${pattern.source} in:\n${this.stderr}`, () => pattern.exec(this.stderr) ?? false);
  }

  /** The port that DNS is served on, once it is. */
  async port(): Promise<number> {
    return Number((await this.says(/serving \S+ on port (\d+)/))[1]);
  }

  /** Asks over UDP, or over TCP. */
  async ask(name: string, type: string, asked: Asked = {}): Promise<Answer> {
    const port = await this.port();
    return new Promise((resolve, reject) => {
      exchange(
        {
          query: queryBytes(name, type, asked),
          server: { address: '127.0.0.1', port },
          protocol: asked.isOverTcp === true ? 'tcp' : 'udp',
          timeoutMs: ASK_LIMIT_MS,
        },
        (error, reply) => {
          if (reply === null) reject(error ?? new Error('no reply'));
          else resolve(readAnswer(reply));
        },
      );
    });
  }

  /** The status and the body of a path below the readiness port. */
  async get(path: string): Promise<[status: number, body: string]> {
    const port = (await this.says(/serving \/readiness on port (\d+)/))[1]!;
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return [response.status, await response.text()];
  }

  /** Waits until the whole cluster was seen. */
  async ready(): Promise<this> {
    await this.says(/ready: the whole cluster was seen/);
    return this;
  }
}

/** Starts the program on free ports, with nobody to ask but servers on loopback. */
export function startKubedns(
  api: ApiServer,
  upstream: NameServer,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): KubednsProcess {
  const own = [
    `--kube-master-url=${api.url}`,
    '--dns-bind-address=127.0.0.1',
    '--dns-port=0',
    '--healthz-port=0',
    `--nameservers=${upstream.address}`,
    `--udp-engine=${ENGINE}`,
  ];
  return new KubednsProcess([...own, ...args], env);
}
