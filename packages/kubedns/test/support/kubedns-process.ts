import type { ApiServer } from '@kube-dns/apiserver';
import {
  exchange,
  type RunningProgram,
  type ScriptedNameServer,
  startBundle,
} from '@kube-dns/testkit';
import { type Answer, type Asked, queryBytes, readAnswer } from './messages.js';

/** As that of any wait: only a hang reaches it. */
const ASK_LIMIT_MS = 60_000;
/** The UDP engine of every server in the tests; `test:dgram` sets another. */
const ENGINE = process.env.UDP_ENGINE ?? 'auto';

/** The built program, started as a user would; `endPrograms` ends it. */
export class KubednsProcess {
  readonly program: RunningProgram;

  constructor(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    this.program = startBundle('kubedns', args, { env });
  }

  /** The lines on stderr that are no log lines: the reason why the program ended. */
  get fatalErrors(): string[] {
    return this.program.stderr.split('\n').filter((line) => line.startsWith('kubedns: '));
  }

  waitForLine(pattern: RegExp): Promise<RegExpExecArray> {
    return this.program.waitForLine(pattern);
  }

  /** The port that DNS is served on, once it is. */
  async port(): Promise<number> {
    return Number((await this.waitForLine(/serving [^/\s]+ on port (\d+)/))[1]);
  }

  /** Asks over UDP, or over TCP, at 127.0.0.1 unless another address is given. */
  async ask(name: string, type: string, asked: Asked = {}, address?: string): Promise<Answer> {
    const { isOverTcp = false } = asked;
    const options = { isOverTcp, limitMs: ASK_LIMIT_MS, ...(address !== undefined && { address }) };
    return readAnswer(await exchange(await this.port(), queryBytes(name, type, asked), options));
  }

  /** The status and the body of a path on the readiness port. */
  async get(path: string): Promise<[status: number, body: string]> {
    const port = (await this.waitForLine(/serving \/readiness on port (\d+)/))[1]!;
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return [response.status, await response.text()];
  }

  /** Waits until the program has listed the whole cluster. */
  async ready(): Promise<this> {
    await this.waitForLine(/ready: the whole cluster was seen/);
    return this;
  }
}

/** Starts the program on free ports; its only servers are on loopback. */
export function startKubedns(
  api: ApiServer,
  upstream: ScriptedNameServer,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): KubednsProcess {
  const own = [
    `--kube-master-url=${api.url}`,
    '--dns-bind-address=127.0.0.1',
    '--dns-port=0',
    '--healthz-port=0',
    `--nameservers=${upstream.hostPort}`,
    `--udp-engine=${ENGINE}`,
  ];
  return new KubednsProcess([...own, ...args], env);
}
