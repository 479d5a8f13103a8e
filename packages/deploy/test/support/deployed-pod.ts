import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parsePod, resolveContainerProgram, type ContainerSpec, type PodSpec } from '@kube-dns/cli';
import { freePort } from '../../../cli/test/support/free-port.js';
import { LoopbackUpstream } from '../../../cli/test/support/loopback-upstream.js';

const PACKAGES = fileURLToPath(new URL('../../..', import.meta.url));

/** The ports of the pod by what they are for. Each test gives them free ones of this machine. */
const PORTS = {
  kubedns: 10053,
  metrics: 10055,
  dnsmasqMetrics: 10056,
  readiness: 8081,
  http: 10054,
  dns: 53,
};
/** `timeoutSeconds` of the manifest's probes. */
const PROBE_TIMEOUT_MS = 5_000;
export type DeployedPorts = Readonly<Record<keyof typeof PORTS, number>>;

/** What a test changes about the containers that it starts. */
export interface StartOptions {
  /** Those to start; all unless given. */
  readonly only?: readonly string[];
  /** The last word on the arguments of a container. */
  readonly edit?: (container: string, args: string[]) => readonly string[];
  /** A command in front of each program, such as `setpriv`, that becomes it. */
  readonly wrapper?: readonly string[];
}

/**
 * The containers of a Deployment as processes of this machine, each started with the arguments and the
 * environment of the manifest. What is not as in the manifest, because nothing here is root or has the
 * pod's addresses for itself:
 *
 * - every port of {@link PORTS} behind `=`, `:` or `#` in an argument, and PROMETHEUS_PORT, is another one;
 * - ports that the programs have by default are given: `--healthz-port`, `--port`, `--dnsmasq-port`,
 *   `--prometheus-port`;
 * - `--kube-master-url` stands for the service account;
 * - the mount path of `kube-dns-config` is a folder, with a name server on loopback in it;
 * - `--drain-time=0s`, so that tests end soon.
 */
export class DeployedPod {
  readonly folder = mkdtempSync(join(tmpdir(), 'kube-dns-deployed-'));
  readonly config = join(this.folder, 'config');
  readonly spec: PodSpec;
  ports: DeployedPorts = PORTS;
  #log = '';
  #upstream: LoopbackUpstream | undefined;
  readonly #processes = new Map<string, { child: ChildProcess; ended: Promise<number | null> }>();

  constructor(deployment: object) {
    this.spec = parsePod(JSON.stringify(deployment), 'deployment.yaml');
  }

  /** Starts the containers and returns at once. */
  async start(apiUrl: string, options: StartOptions = {}): Promise<void> {
    const { only } = options;
    const chosen = Object.keys(PORTS).map(async (name) => [name, await freePort()] as const);
    this.ports = Object.fromEntries(await Promise.all(chosen)) as DeployedPorts;
    this.#upstream = await LoopbackUpstream.start();
    mkdirSync(this.config);
    this.configure('upstreamNameservers', JSON.stringify([`127.0.0.1:${this.#upstream.port}`]));
    for (const container of this.spec.containers) {
      if (only === undefined || only.includes(container.name)) {
        this.#start(container, apiUrl, options);
      }
    }
  }

  /** Gives a key of the ConfigMap this value, in one step, as kubelet does. */
  configure(key: string, value: string): void {
    const written = join(this.folder, key);
    writeFileSync(written, value);
    renameSync(written, join(this.config, key));
  }

  /** The port of this machine for one of the manifest. */
  portFor(manifestPort: number): number {
    const name = Object.entries(PORTS).find(([, port]) => port === manifestPort)?.[0];
    if (name === undefined) throw new Error(`nothing in the pod has the port ${manifestPort}`);
    return this.ports[name as keyof DeployedPorts];
  }

  /** As {@link probe}; throws with the log when a container has ended. */
  async status(manifestPort: number, path: string): Promise<number> {
    if (this.hasEnded) throw new Error(`a container has ended:\n${this.#log}`);
    return this.probe(manifestPort, path);
  }

  /** Status of a GET as kubelet sends it, and 0 while nobody answers. */
  async probe(manifestPort: number, path: string): Promise<number> {
    const url = `http://127.0.0.1:${this.portFor(manifestPort)}${path}`;
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
      await response.arrayBuffer();
      return response.status;
    } catch {
      return 0; // not listening, or silent
    }
  }

  async text(manifestPort: number, path: string): Promise<string> {
    const signal = AbortSignal.timeout(PROBE_TIMEOUT_MS);
    const url = `http://127.0.0.1:${this.portFor(manifestPort)}${path}`;
    return (await fetch(url, { signal })).text();
  }

  /** The name server for names outside the cluster answers no more. */
  muteUpstream(): void {
    this.#upstream?.mute();
  }

  signal(container: string, signal: NodeJS.Signals): void {
    this.#processes.get(container)?.child.kill(signal);
  }

  /** The exit code of a container, once it has ended. */
  async exitCode(container: string): Promise<number | null | undefined> {
    return this.#processes.get(container)?.ended;
  }

  /** What the programs wrote. */
  get log(): string {
    return this.#log;
  }

  /** Whether one of the programs is not there any more. */
  get hasEnded(): boolean {
    return [...this.#processes.values()].some(
      ({ child }) => child.exitCode !== null || child.signalCode !== null,
    );
  }

  async close(): Promise<void> {
    const processes = [...this.#processes.values()];
    for (const { child } of processes) if (child.exitCode === null) child.kill('SIGTERM');
    await Promise.all(processes.map(({ ended }) => ended));
    this.#upstream?.close();
    rmSync(this.folder, { recursive: true });
  }

  #start(container: ContainerSpec, apiUrl: string, { edit, wrapper = [] }: StartOptions): void {
    const search = { packagesFolder: PACKAGES, path: '', folder: this.folder };
    const { file, leadingArgs } = resolveContainerProgram(container, search);
    const args = [...container.args.map((arg) => this.#translate(arg, container))];
    args.push(...this.#replacedDefaults(container.name, apiUrl));
    const edited = edit?.(container.name, args) ?? args;
    const env = Object.fromEntries(container.env);
    if (env.PROMETHEUS_PORT !== undefined) env.PROMETHEUS_PORT = String(this.ports.metrics);
    const [command = file, ...words] = [...wrapper, file, ...leadingArgs, ...edited];
    const child = spawn(command, words, { env, cwd: this.folder });
    const collect = (chunk: Buffer): void => {
      this.#log += chunk.toString();
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    this.#processes.set(container.name, { child, ended });
  }

  #translate(arg: string, { mounts }: ContainerSpec): string {
    const path = mounts.find((mount) => mount.volume === 'kube-dns-config')?.mountPath;
    const withFolder = path === undefined ? arg : arg.replace(path, this.config);
    return withFolder.replace(/([=:#])(\d+)(?=,|$)/g, (match, before: string, port: string) =>
      Object.values(PORTS).includes(Number(port))
        ? before + String(this.portFor(Number(port)))
        : match,
    );
  }

  #replacedDefaults(container: string, apiUrl: string): string[] {
    switch (container) {
      case 'kubedns':
        return [
          `--healthz-port=${this.ports.readiness}`,
          `--kube-master-url=${apiUrl}`,
          '--drain-time=0s',
        ];
      case 'dnsmasq':
        return [`--port=${this.ports.dns}`];
      case 'sidecar':
        return [`--dnsmasq-port=${this.ports.dns}`, `--prometheus-port=${this.ports.http}`];
      default:
        throw new Error(`a container that the stock pod does not have: ${container}`);
    }
  }
}
