import { createRequire } from 'node:module';
import { Script } from 'node:vm';
import { buildSync } from 'esbuild';
import type * as push from '@kube-dns/push';
import { cryptoModule } from '../machine/crypto.js';
import type { Random } from '../random.js';
import type { ScheduledEvent, Scheduler } from '../scheduler.js';
import { type FleetProcess, runningProcess } from './fleet-process.js';
import type { FleetNetwork } from './fleet-network.js';

const require = createRequire(import.meta.url);

/** A constant of the code and its value for this run: `MAX_SUBSCRIBERS` 5,000. */
export type Constants = Readonly<Record<string, number>>;

/**
 * `@kube-dns/push` as it is built, with other constants where some are given. Its timers, clock, connections and random numbers are
 * the fleet's, and of the process that runs.
 */
export function loadPush(
  scheduler: Scheduler,
  network: FleetNetwork,
  random: Random,
  constants: Constants,
): typeof push {
  const { outputFiles } = buildSync({
    entryPoints: [require.resolve('@kube-dns/push')],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    write: false,
    logLevel: 'error',
  });
  let source = outputFiles[0]!.text;
  for (const [name, value] of Object.entries(constants)) {
    const pattern = new RegExp(`\\b${name} = [\\d_e]+;`, 'u');
    if (!pattern.test(source)) throw new Error(`@kube-dns/push has no constant ${name}`);
    source = source.replace(pattern, `${name} = ${value};`);
  }
  const globals = globalsOf(scheduler, network, random);
  const wrapped = `(function (${Object.keys(globals).join(', ')}) {${source}\n})`;
  const script = new Script(wrapped, { filename: 'push.cjs' });
  (script.runInThisContext() as (...values: unknown[]) => void)(...Object.values(globals));
  return globals.module.exports as typeof push;
}

function globalsOf(scheduler: Scheduler, network: FleetNetwork, random: Random) {
  const modules: Readonly<Record<string, unknown>> = {
    'node:net': { ...(require('node:net') as object), connect: network.connect },
    'node:crypto': cryptoModule(random),
  };
  const load = (name: string): unknown => modules[name] ?? require(name);
  const start = (run: () => void, ms: number, repeats: boolean) =>
    new FleetTimer(scheduler, runningProcess(), ms, run, repeats);
  const clear = (timer: FleetTimer | undefined) => timer?.close();
  return {
    module: { exports: {} as object },
    require: load,
    setTimeout: (run: () => void, ms: number) => start(run, ms, false),
    setInterval: (run: () => void, ms: number) => start(run, ms, true),
    setImmediate: (run: () => void) => start(run, 0, false),
    clearTimeout: clear,
    clearInterval: clear,
    clearImmediate: clear,
    performance: { now: () => runningProcess().nowUs / 1_000 },
    Math: Object.create(Math, { random: { value: () => random.fraction() } }) as Math,
    process: { getBuiltinModule: load, platform: 'linux', arch: 'x64', env: {} },
  };
}

/** Many are set anew with each message: only the time changes then, not what is scheduled. */
class FleetTimer {
  readonly #scheduler: Scheduler;
  readonly #process: FleetProcess;
  readonly #delayUs: number;
  readonly #run: () => void;
  readonly #repeats: boolean;
  #dueUs = 0;
  #event: ScheduledEvent | undefined;

  constructor(
    scheduler: Scheduler,
    process: FleetProcess,
    ms: number,
    run: () => void,
    repeats: boolean,
  ) {
    this.#scheduler = scheduler;
    this.#process = process;
    this.#delayUs = ms * 1_000;
    this.#run = run;
    this.#repeats = repeats;
    this.refresh();
  }

  refresh(): this {
    this.#dueUs = this.#process.nowUs + this.#delayUs;
    this.#event ??= this.#scheduler.at(this.#dueUs, this.#onTime);
    return this;
  }

  close(): void {
    this.#event?.cancel();
    this.#event = undefined;
  }

  unref(): this {
    return this;
  }

  readonly #onTime = (): void => {
    const isEarly = this.#scheduler.nowUs < Math.round(this.#dueUs);
    this.#event = undefined;
    if (isEarly) {
      this.#event = this.#scheduler.at(this.#dueUs, this.#onTime);
      return;
    }
    if (this.#repeats) this.refresh();
    this.#process.post(this.#run, 0);
  };
}
