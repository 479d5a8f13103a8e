import { builtBundles, type ProgramName } from '../cluster/cluster.js';
import { Machine } from '../machine/machine.js';
import { SimulatedProcess } from '../machine/process.js';
import { GOOD_LINK, Network, type Service } from '../network.js';
import { Random } from '../random.js';
import { Scheduler } from '../scheduler.js';
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
import { Prober } from './prober.js';
import type { WireConditions } from './tap-switch.js';

const US = 1_000;
const LIMIT_US = 600_000_000;

/** Runs a script in virtual time. */
export async function runSimulated(script: Script, seed: string): Promise<readonly Finding[]> {
  const bed = new SimulatedBed(script.hosts, seed);
  let outcome: { readonly findings: readonly Finding[] } | { readonly error: unknown } | undefined;
  script.run(bed).then(
    (findings) => (outcome = { findings }),
    (error: unknown) => (outcome = { error }),
  );
  await bed.scheduler.run(LIMIT_US, () => outcome !== undefined);
  if (outcome === undefined) throw new Error(`${script.name} has no end in virtual time`);
  if ('error' in outcome) throw outcome.error;
  return outcome.findings;
}

class SimulatedBed implements Bed {
  readonly scheduler = new Scheduler();
  readonly #network: Network;
  readonly #machines = new Map<HostName, Machine>();
  readonly #probers = new Map<HostName, RemoteProber>();
  readonly #service: Service = {
    address: SERVICE,
    ports: new Map([
      ['udp:53', 53],
      ['tcp:53', 53],
    ]),
    backends: [],
  };

  constructor(hosts: readonly HostName[], seed: string) {
    const random = new Random(seed);
    this.#network = new Network(this.scheduler, random.fork('network'));
    this.#network.addService(this.#service);
    for (const name of hosts) {
      const machine = new Machine({ name, addresses: [HOSTS[name]] }, this.#network, random);
      machine.files.write('/dev/null', '');
      this.#machines.set(name, machine);
      this.#probers.set(name, startProber(machine));
    }
  }

  clock(): number {
    return this.scheduler.nowUs / US;
  }

  sleepUntil(clockMs: number): Promise<void> {
    return new Promise((resolve) => this.scheduler.at(clockMs * US, resolve));
  }

  prober(host: HostName): RemoteProber {
    return this.#probers.get(host)!;
  }

  start(host: HostName, program: ProgramName, argv: readonly string[]): BedProgram {
    const waiting = new Set<(line: string) => void>();
    const process = new SimulatedProcess(this.#machines.get(host)!, {
      name: program,
      program: builtBundles()[program],
      argv,
      onLine: (line) => {
        for (const each of waiting) each(line);
      },
    });
    process.start();
    return {
      signal: (signal) => {
        if (signal === 'SIGSTOP') process.freeze();
        else if (signal === 'SIGCONT') process.thaw();
        else process.kill(signal);
        return Promise.resolve();
      },
      logged: (pattern) =>
        new Promise((resolve) => {
          const onLine = (line: string) => {
            const match = pattern.exec(line);
            if (match === null) return;
            waiting.delete(onLine);
            resolve({ match: match[1] ?? match[0], atMs: this.clock() });
          };
          waiting.add(onLine);
        }),
    };
  }

  setWire(one: HostName, other: HostName, { delayMs, loss }: WireConditions): Promise<void> {
    const [from, to] = [this.#machines.get(one)!, this.#machines.get(other)!];
    if (loss === 1) this.#network.cut(from, to);
    else this.#network.mend(from, to);
    const delayUs = Math.max(GOOD_LINK.delayUs, delayMs * US);
    this.#network.setLink(from, to, { ...GOOD_LINK, delayUs, loss });
    return Promise.resolve();
  }

  setBackends(pods: readonly HostName[]): Promise<void> {
    this.#service.backends = pods.map((name) => HOSTS[name]);
    return Promise.resolve();
  }
}

/** A prober as a program of a machine; each call is an event of it. */
function startProber(machine: Machine): RemoteProber {
  let prober: Prober | undefined;
  const process = new SimulatedProcess(machine, {
    name: 'prober',
    program: (load) => (prober = new Prober(load)),
  });
  process.start();
  return remoteProber(
    (method, args) =>
      new Promise((resolve, reject) => {
        process.schedule(0, () => {
          const run = prober as unknown as Record<string, (...all: unknown[]) => unknown>;
          Promise.resolve(run[method]!(...(args as unknown[]))).then(resolve, reject);
        });
      }),
  );
}
