import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ApiServer, createApiServer, type Manifest } from '@kube-dns/apiserver';
import { parseAllDocuments } from 'yaml';
import { findRealDnsmasq } from '@kube-dns/testkit';
import { freePort } from '../../support/free-port.js';
import { waitFor } from '../../support/wait-for.js';

const ROOT = fileURLToPath(new URL('../../../../../', import.meta.url));
const OBJECTS = join(ROOT, 'manifests/local/objects');
const KUBEDNS = join(ROOT, 'packages/kubedns/bin/kubedns.cjs');
const START_LIMIT_MS = 30_000;

/** A program that serves DNS, started as a user would. */
export interface RunningServer {
  readonly address: string;
  close(): Promise<void>;
}

/** The API with the objects of manifests/local. */
export async function startSampleApi(): Promise<ApiServer> {
  const objects = readdirSync(OBJECTS).flatMap((file) =>
    parseAllDocuments(readFileSync(join(OBJECTS, file), 'utf8')).map(
      (each) => each.toJS() as Manifest,
    ),
  );
  // What is in a namespace needs it to be there.
  const isNamespace = ({ kind }: Manifest) => kind === 'Namespace';
  const api = await createApiServer();
  await api.apply(objects.filter(isNamespace));
  await api.apply(objects.filter((each) => !isNamespace(each)));
  return api;
}

/** The real program; names outside the cluster have nobody to answer them but `upstream`. */
export async function startKubedns(
  api: ApiServer,
  upstream: string,
  args: readonly string[] = [],
): Promise<RunningServer> {
  const own = [
    `--kube-master-url=${api.url}`,
    '--dns-bind-address=127.0.0.1',
    '--dns-port=0',
    '--healthz-port=0',
    `--nameservers=${upstream}`,
  ];
  const server = new ServerProcess(process.execPath, [KUBEDNS, ...own, ...args]);
  const [, port = ''] = await server.says(/serving \S+ on port (\d+)/);
  await server.says(/ready: the whole cluster was seen/);
  return server.at(Number(port));
}

/** `dnsmasq` on the PATH of an npm script is ours. */
export const REAL_DNSMASQ = findRealDnsmasq();

/** The real dnsmasq with records of its own and no server to pass anything on to. */
export async function startDnsmasq(options: readonly string[]): Promise<RunningServer> {
  const port = await freePort();
  const server = new ServerProcess(REAL_DNSMASQ!, [
    '--keep-in-foreground',
    `--port=${port}`,
    '--listen-address=127.0.0.1',
    '--bind-interfaces',
    '--no-resolv',
    '--no-hosts',
    '--conf-file=/dev/null',
    '--user=root',
    '--pid-file=',
    '--log-facility=-',
    ...options,
  ]);
  await server.says(/started, version/);
  return server.at(port);
}

/** CoreDNS with a Corefile, of which PORT is replaced. */
export async function startCoreDns(program: string, corefile: string): Promise<RunningServer> {
  const server = new ServerProcess(program, ['-conf', corefile]);
  const [, port = ''] = await server.says(/^\S*:(\d+)(?: on \S+)?$/m);
  return server.at(Number(port));
}

class ServerProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #text = '';
  #hasEnded = false;

  constructor(command: string, args: readonly string[]) {
    // Nothing of the machine's own cluster, metrics or proxies may reach the program.
    const env = { PATH: process.env.PATH ?? '', NO_COLOR: '1' };
    this.#child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.#child.stdout!, this.#child.stderr!]) {
      stream.setEncoding('utf8').on('data', (text: string) => (this.#text += text));
    }
    this.#ended = once(this.#child, 'close').then(() => (this.#hasEnded = true));
  }

  /** Waits for what it says; ends it when that does not come. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    try {
      return await this.#said(pattern);
    } catch (error) {
      await this.#end();
      throw error;
    }
  }

  at(port: number): RunningServer {
    return { address: `127.0.0.1:${port}`, close: () => this.#end() };
  }

  #said(pattern: RegExp): Promise<RegExpExecArray> {
    return waitFor(
      () => `${pattern.source} in:\n${this.#text}`,
      () => {
        if (this.#hasEnded) throw new Error(`ended without ${pattern.source}:\n${this.#text}`);
        return pattern.exec(this.#text) ?? undefined;
      },
      START_LIMIT_MS,
    );
  }

  async #end(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}
