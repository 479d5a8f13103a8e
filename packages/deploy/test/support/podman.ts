import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { needsNamespaces, needsOtherUsers, needsPrograms, PodmanStore } from '@kube-dns/testkit';
import { ROOT } from './root.js';
import type { PodNetwork } from './pod-network.js';

/** The programs that build and run images; those that query the containers are below. */
const COMMANDS = ['apt-get', 'dpkg-deb', 'podman', 'runc', 'catatonit', 'containerd', 'ctr', 'ip'];
const CLIENTS = ['nsenter', 'dig', 'curl', 'dnsperf'];
/** Debian's containernetworking-plugins. */
const CNI_PLUGIN = '/usr/lib/cni/ptp';

/** How long the registry of npm may take to answer. */
const REGISTRY_MS = 15_000;

/** Why no image is built and run here; undefined where it can be: with the rights, with all programs, and with the registry of npm. */
export function imagesSkipReason(): string | undefined {
  const need = needsPrograms(...COMMANDS, ...CLIENTS) ?? needsNamespaces() ?? needsOtherUsers();
  if (need !== undefined) return need;
  if (!existsSync(CNI_PLUGIN)) {
    return `needs ${CNI_PLUGIN}: apt-get install containernetworking-plugins`;
  }
  const words = ['view', 'npm', 'version', '--fetch-retries=0'];
  const { status } = spawnSync('npm', words, { timeout: REGISTRY_MS });
  return status === 0 ? undefined : 'needs the registry of npm, which does not answer';
}

/** A podman with a separate store: it touches neither images nor network of this machine. */
export class Podman {
  readonly #store = new PodmanStore();
  /** What the programs that call podman need in their environment. */
  readonly environment: NodeJS.ProcessEnv = { ...process.env, ...this.#store.variables };

  get folder(): string {
    return this.#store.folder;
  }

  /** Runs a program in the checkout with this podman in its environment; returns its stdout, throws with its stderr. */
  command(program: string, ...args: string[]): string {
    const options = { cwd: ROOT, env: this.environment, encoding: 'utf8', stdio: 'pipe' } as const;
    return execFileSync(program, args, options).trim();
  }

  run(...args: string[]): string {
    return this.command('podman', ...args);
  }

  /** As {@link run}, with stderr appended; failures are ignored. */
  outputOf(...args: string[]): string {
    const options = { cwd: ROOT, env: this.environment, encoding: 'utf8' } as const;
    const { stdout, stderr } = spawnSync('podman', args, options);
    return stdout + stderr;
  }

  /** Runs podman itself in a network: containers with `--network=host` are in that one. */
  runIn(network: PodNetwork, ...args: string[]): string {
    const [nsenter = '', ...words] = [...network.entrance, 'podman', ...args];
    return this.command(nsenter, ...words);
  }

  /** The process of a container, as this machine sees it. */
  pid(container: string): string {
    return this.run('inspect', '--format', '{{.State.Pid}}', container);
  }

  /** Runs a program in the network of a container. */
  inNetworkOf(container: string, program: string, ...args: string[]): string {
    return this.command('nsenter', '-t', this.pid(container), '-n', program, ...args);
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}
