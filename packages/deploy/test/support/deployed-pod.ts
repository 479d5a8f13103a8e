import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parsePod, planPlacedPod, type ContainerPlan, type PodSpec } from '@kube-dns/cli';
import {
  ask,
  freePort,
  httpStatus,
  LoopbackUpstream,
  type ProgramEnd,
  RunningProgram,
} from '@kube-dns/testkit';
import { quickArgs } from './quick-args.js';
import { ROOT } from './root.js';

/** The ports of the pod; each test maps them to free ports of this machine. */
const PORTS = [53, 8081, 10053, 10054, 10055, 10056];
/** The file in its volume. */
const SNAPSHOT = 'snapshot';
/** `timeoutSeconds` of the manifest's probes. */
const PROBE_TIMEOUT_MS = 2_000;
/** Of a page that is no probe, also where others use the cores. */
const PAGE_TIMEOUT_MS = 60_000;

/** How a test changes the containers that it starts. */
export interface StartOptions {
  /** Those to start; all unless given. */
  readonly only?: readonly string[];
  /** Changes the arguments of a container, after everything else. */
  readonly edit?: (container: string, args: readonly string[]) => readonly string[];
  /** A command before each program, such as `setpriv`, which executes it. */
  readonly wrapper?: readonly string[];
  /** What kubedns has written before. */
  readonly snapshot?: Uint8Array;
}

/** How long a client waits for an answer. */
const ANSWER_MS = 60_000;

/**
 * The containers of a Deployment as processes of this machine, with the arguments and the environment of the
 * manifest. Only these differ: what `planPlacedPod` changes; what {@link quickArgs} does; and `kube-dns-config`, a
 * folder that names an upstream server on loopback.
 */
export class DeployedPod {
  readonly folder = mkdtempSync(join(tmpdir(), 'kube-dns-deployed-'));
  readonly config = join(this.folder, 'config');
  readonly #snapshot = join(this.folder, 'snapshot');
  readonly #spec: PodSpec;
  readonly #ports = new Map<number, number>();
  #upstream: LoopbackUpstream | undefined;
  readonly #programs = new Map<string, RunningProgram>();

  constructor(deployment: object) {
    this.#spec = parsePod(JSON.stringify(deployment), join(this.folder, 'deployment.yaml'));
  }

  /** Starts the containers without waiting for them. */
  async start(apiUrl: string, options: StartOptions = {}): Promise<void> {
    const { only, edit, wrapper = [], snapshot } = options;
    await Promise.all(PORTS.map(async (port) => this.#ports.set(port, await freePort())));
    this.#upstream = await LoopbackUpstream.start();
    mkdirSync(this.config);
    mkdirSync(this.#snapshot);
    if (snapshot !== undefined) writeFileSync(join(this.#snapshot, SNAPSHOT), snapshot);
    const noToken = join(this.folder, 'no-token');
    mkdirSync(noToken);
    this.configure('upstreamNameservers', JSON.stringify([`127.0.0.1:${this.#upstream.port}`]));
    const placement = {
      ports: this.#ports,
      volumes: {
        'kube-dns-config': this.config,
        snapshot: this.#snapshot,
        'snapshot-token': noToken,
      },
      apiUrl,
      edit: (name: string, args: readonly string[]) => {
        const own = quickArgs(name, args);
        return edit?.(name, own) ?? own;
      },
    };
    for (const plan of planPlacedPod(this.#spec, placement, `${ROOT}packages`)) {
      if (only === undefined || only.includes(plan.name)) this.#start(plan, wrapper);
    }
  }

  /** Sets a key of the ConfigMap in one step, as kubelet does. */
  configure(key: string, value: string): void {
    const written = join(this.folder, key);
    writeFileSync(written, value);
    renameSync(written, join(this.config, key));
  }

  /** The port of this machine for one of the manifest. */
  portFor(manifestPort: number): number {
    const port = this.#ports.get(manifestPort);
    if (port === undefined) throw new Error(`nothing in the pod has the port ${manifestPort}`);
    return port;
  }

  /** As {@link probe}; throws with the log when a container has ended. */
  async status(manifestPort: number, path: string): Promise<number> {
    if (this.hasEnded) throw new Error(`a container has ended:\n${this.log}`);
    return this.probe(manifestPort, path);
  }

  /** Status of a GET as kubelet sends it, and 0 without an answer. */
  probe(manifestPort: number, path: string): Promise<number> {
    return httpStatus(this.portFor(manifestPort), path, PROBE_TIMEOUT_MS);
  }

  /** The addresses that a name has on a port, or else the rcode. */
  async resolve(manifestPort: number, name: string, isOverTcp = false): Promise<string> {
    const options = { isOverTcp, limitMs: ANSWER_MS };
    const { answers, rcode } = await ask(this.portFor(manifestPort), name, options);
    return answers.flatMap((each) => (each.type === 'A' ? [each.data] : [])).join() || rcode;
  }

  async text(manifestPort: number, path: string): Promise<string> {
    const signal = AbortSignal.timeout(PAGE_TIMEOUT_MS);
    const url = `http://127.0.0.1:${this.portFor(manifestPort)}${path}`;
    return (await fetch(url, { signal })).text();
  }

  /** From now on the upstream server answers nothing. */
  muteUpstream(): void {
    this.#upstream?.mute();
  }

  signal(container: string, signal: NodeJS.Signals): void {
    this.#programs.get(container)?.signal(signal);
  }

  /** Ends kubedns as kubelet does, and returns the snapshot that it leaves. */
  async lastSnapshot(): Promise<Uint8Array> {
    await this.#programs.get('kubedns')?.close('SIGTERM');
    return readFileSync(join(this.#snapshot, SNAPSHOT));
  }

  /** The exit code of a container, once it has ended. */
  async exitCode(container: string): Promise<ProgramEnd | undefined> {
    return this.#programs.get(container)?.ended;
  }

  /** The output of the programs. */
  get log(): string {
    return [...this.#programs.values()].map(({ output }) => output).join('');
  }

  /** Returns what the programs write from now on. */
  logFromNow(): () => string {
    const programs = [...this.#programs.values()].map((program) => ({
      program,
      start: program.output.length,
    }));
    return () => programs.map(({ program, start }) => program.output.slice(start)).join('');
  }

  /** Whether one of the programs has ended. */
  get hasEnded(): boolean {
    return [...this.#programs.values()].some(({ isRunning }) => !isRunning);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#programs.values()].map((program) => program.close('SIGTERM')));
    await this.#upstream?.close();
    rmSync(this.folder, { recursive: true });
  }

  #start({ name, file, args, env, cwd }: ContainerPlan, wrapper: readonly string[]): void {
    const [command = file, ...words] = [...wrapper, file, ...args];
    const options = { env, hasOnlyEnv: true, cwd };
    this.#programs.set(name, new RunningProgram(name, command, words, options));
  }
}
