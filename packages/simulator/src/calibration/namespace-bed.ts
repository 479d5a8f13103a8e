import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import {
  monotonicMs,
  needsNamespaces,
  needsPrograms,
  NetworkNamespace,
  Owned,
  Remote,
  type RunningProgram,
  startBundle,
} from '@kube-dns/testkit';
import type { ProgramName } from '../cluster/cluster.js';
import {
  type Bed,
  type BedProgram,
  type Finding,
  type HostName,
  HOSTS,
  type RemoteProber,
  remoteProber,
  type Script,
  SERVICE,
} from './bed.js';
import type { ProberMethods } from './prober.js';
import type { TapSwitchMethods, WireConditions } from './tap-switch.js';

interface Host {
  readonly namespace: NetworkNamespace;
  readonly hardware: string;
  readonly prober: Remote<ProberMethods>;
}

const POLL_MS = 2;
const TICK_MS = 5;

/** Runs a script on this machine's kernel; with how long the machine stood still at most meanwhile, in milliseconds. */
export async function runReal(
  script: Script,
): Promise<{ readonly findings: readonly Finding[]; readonly stallMs: number }> {
  const owned = new Owned();
  let stallMs = 0;
  let lastMs = monotonicMs();
  const ticks = setInterval(() => {
    const nowMs = monotonicMs();
    stallMs = Math.max(stallMs, nowMs - lastMs - TICK_MS);
    lastMs = nowMs;
  }, TICK_MS);
  try {
    const bed = await NamespaceBed.create(script.hosts, owned);
    return { findings: await script.run(bed), stallMs };
  } finally {
    clearInterval(ticks);
    await owned.close();
  }
}

/** Hosts that are network namespaces, with a switch between them. What they have of the network is the kernel's but for delay and loss. */
class NamespaceBed implements Bed {
  readonly #owned: Owned;
  readonly #switch: Remote<TapSwitchMethods>;
  readonly #hosts = new Map<HostName, Host>();
  #backends: readonly HostName[] = [];

  private constructor(owned: Owned, middle: NetworkNamespace) {
    this.#owned = owned;
    this.#switch = owned.add(
      new Remote('the switch', new URL('./tap-switch.js#TapSwitch', import.meta.url), {
        through: middle.entrance,
      }),
    );
  }

  static async create(names: readonly HostName[], owned: Owned): Promise<NamespaceBed> {
    const middle = owned.add(await NetworkNamespace.create());
    const bed = new NamespaceBed(owned, middle);
    for (const name of names) await bed.#plug(name, middle);
    // Hosts need not ask who has an address: what is cut off is silent, and nothing else.
    for (const [name, { namespace }] of bed.#hosts) {
      for (const [other, { hardware }] of bed.#hosts) {
        if (other !== name) await namespace.run('ip', 'neighbour', 'replace', HOSTS[other], 'lladdr', hardware, 'dev', 'eth0', 'nud', 'permanent'); // prettier-ignore
      }
    }
    return bed;
  }

  async #plug(name: HostName, middle: NetworkNamespace): Promise<void> {
    const namespace = this.#owned.add(await NetworkNamespace.create());
    const hardware = await this.#switch.call('plug', name);
    await middle.run('ip', 'link', 'set', 'dev', name, 'address', hardware, 'netns', String(namespace.pid), 'name', 'eth0'); // prettier-ignore
    await namespace.run('ip', 'address', 'add', `${HOSTS[name]}/8`, 'dev', 'eth0');
    for (const link of ['lo', 'eth0']) await namespace.run('ip', 'link', 'set', link, 'up');
    const entry = new URL('./prober.js#Prober', import.meta.url);
    const prober = this.#owned.add(
      new Remote<ProberMethods>(`the prober of ${name}`, entry, { through: namespace.entrance }),
    );
    this.#hosts.set(name, { namespace, hardware, prober });
  }

  clock(): number {
    return monotonicMs();
  }

  async sleepUntil(clockMs: number): Promise<void> {
    await delay(Math.max(0, clockMs - monotonicMs()));
  }

  prober(host: HostName): RemoteProber {
    const { prober } = this.#hosts.get(host)!;
    return remoteProber((method, args) => prober.call(method, ...(args as [never])));
  }

  start(host: HostName, program: ProgramName, argv: readonly string[]): BedProgram {
    const through = this.#hosts.get(host)!.namespace.entrance;
    const started = this.#owned.add(startBundle(program as 'kubedns', argv, { through }));
    return {
      signal: async (signal) => {
        if (signal === 'SIGKILL') await started.close();
        else started.signal(signal);
      },
      logged: (pattern) => logged(started, pattern),
    };
  }

  async setWire(one: HostName, other: HostName, conditions: WireConditions): Promise<void> {
    const [from, to] = [this.#hosts.get(one)!, this.#hosts.get(other)!];
    await this.#switch.call('setWire', from.hardware, to.hardware, conditions);
  }

  /** The rules of kube-proxy, and what it does for flows to a pod that is no backend any more. */
  async setBackends(pods: readonly HostName[]): Promise<void> {
    const { namespace } = this.#hosts.get('client')!;
    const map = pods.map((name, at) => `${at} : ${HOSTS[name]}`).join(', ');
    const to = `dnat to numgen random mod ${pods.length} map { ${map} }`;
    const rules = ['udp', 'tcp'].map((protocol) =>
      pods.length === 0
        ? `add rule ip proxy filtered ip daddr ${SERVICE} ${protocol} dport 53 reject`
        : `add rule ip proxy translated ip daddr ${SERVICE} ${protocol} dport 53 ${to}`,
    );
    const table = ['add table ip proxy', 'delete table ip proxy', 'add table ip proxy'];
    const chains = [
      'add chain ip proxy translated { type nat hook output priority -100; }',
      'add chain ip proxy filtered { type filter hook output priority 0; }',
    ];
    await namespace.run('nft', [...table, ...chains, ...rules].join('; '));
    for (const gone of this.#backends.filter((name) => !pods.includes(name))) {
      await namespace
        .run('conntrack', '-D', '-p', 'udp', '--orig-dst', SERVICE, '--reply-src', HOSTS[gone])
        .catch(() => undefined); // there was none
    }
    this.#backends = pods;
  }
}

async function logged(
  program: RunningProgram,
  pattern: RegExp,
): Promise<{ match: string; atMs: number }> {
  const from = program.output.length;
  for (;;) {
    const match = pattern.exec(program.output.slice(from));
    if (match !== null) return { match: match[1] ?? match[0], atMs: monotonicMs() };
    await delay(POLL_MS);
  }
}

/** Interfaces for the switch, and rules as those of `setBackends`. */
const NEEDS = `ip tuntap add name one mode tap && nft 'add table ip proxy; add chain ip proxy translated { type nat hook output priority -100; }; add rule ip proxy translated dnat to numgen random mod 2 map { 0 : 10.0.0.1, 1 : 10.0.0.2 }'`;

/** Why this machine cannot run scripts on its kernel; undefined where it can. */
export function realSkipReason(): string | undefined {
  const missing = needsPrograms('unshare', 'ip', 'nft', 'conntrack') ?? needsNamespaces();
  if (missing !== undefined) return missing;
  const { status } = spawnSync('unshare', ['--net', 'sh', '-c', NEEDS], { stdio: 'ignore' });
  if (status !== 0) return 'needs interfaces (TAP) and translation of addresses';
  try {
    createRequire(import.meta.url).resolve('koffi');
    return undefined;
  } catch {
    return 'needs koffi';
  }
}
