import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { type Closable, MeasureError, messageOf } from '@kube-dns/testkit';

const execute = promisify(execFile);

/** Says when it is there, and goes on until whoever started it ends, however that comes. */
const HOLDER = ['--net', 'sh', '-c', 'echo there; exec cat >/dev/null'];

/**
 * A network for some programs of this machine. It has no name, so the kernel ends it, with its links
 * and rules, when the last program in it ends: there is nothing that could be left behind.
 */
export class NetworkNamespace implements Closable {
  readonly #holder: ChildProcess;

  private constructor(holder: ChildProcess) {
    this.#holder = holder;
  }

  /** One without any link that is up. Throws a MeasureError. */
  static async create(): Promise<NetworkNamespace> {
    const holder = spawn('unshare', HOLDER, { stdio: ['pipe', 'pipe', 'ignore'] });
    holder.stdin.on('error', () => undefined);
    const ended = once(holder, 'exit').then(([code]) => {
      throw new MeasureError(`a network of its own cannot be had: unshare ended with ${code}`);
    });
    await Promise.race([once(holder.stdout, 'data'), ended]);
    ended.catch(() => undefined);
    return new NetworkNamespace(holder);
  }

  /** The process whose network it is. */
  get pid(): number {
    return this.#holder.pid ?? 0;
  }

  /** The words in front of a command that is to run in here; they become that command. */
  get entrance(): readonly string[] {
    return ['nsenter', `--net=/proc/${this.pid}/ns/net`];
  }

  /** Runs a command in here to its end, and returns its output; throws a MeasureError with what it says. */
  async run(...words: readonly string[]): Promise<string> {
    const [nsenter = '', ...args] = [...this.entrance, ...words];
    try {
      return (await execute(nsenter, args)).stdout;
    } catch (cause) {
      throw new MeasureError(messageOf(cause).trim().replaceAll('\n', ' '), { cause });
    }
  }

  /** Ends it, once nothing else runs in it. May be called twice. */
  async close(): Promise<void> {
    const { exitCode, signalCode } = this.#holder;
    if (exitCode !== null || signalCode !== null) return;
    const exit = once(this.#holder, 'exit');
    this.#holder.kill('SIGKILL');
    await exit;
  }
}

/** What a machine must be able to do, and what to say where it is not. */
const NEEDS: readonly (readonly [needs: string, ...command: string[]])[] = [
  ['root, for networks of its own', 'unshare', '--net', 'true'],
  ['ip, of iproute2', 'ip', '-Version'],
  [
    'links and bridges',
    ...['unshare', '--net', 'sh', '-c'],
    'ip link add name one type veth peer name two && ip link add name three type bridge',
  ],
  ['iptables', 'iptables', '--version'],
  [
    'the match "statistic" of iptables',
    ...['unshare', '--net', 'iptables', '-A', 'INPUT'],
    ...['-m', 'statistic', '--mode', 'random', '--probability', '0.2', '-j', 'DROP'],
  ],
];

let known: { readonly hindrance: string | undefined } | undefined;

/** Why there can be no hosts with networks between them here; undefined where there can. */
export function networkHindrance(): string | undefined {
  known ??= { hindrance: findHindrance() };
  return known.hindrance;
}

function findHindrance(): string | undefined {
  for (const [needs, command = '', ...args] of NEEDS) {
    if (spawnSync(command, args, { stdio: 'ignore' }).status !== 0) return `needs ${needs}`;
  }
  return undefined;
}
