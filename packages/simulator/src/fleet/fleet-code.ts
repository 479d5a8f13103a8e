import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';
import { buildSync } from 'esbuild';
import type * as push from '@kube-dns/push';
import type * as resolver from '@kube-dns/resolver';
import type * as wire from '@kube-dns/wire';
import { cryptoModule } from '../machine/crypto.js';
import type { Random } from '../random.js';
import type { ScheduledEvent, Scheduler } from '../scheduler.js';
import { type FleetProcess, runningProcess } from './fleet-process.js';
import type { FleetNetwork } from './fleet-network.js';

const require = createRequire(import.meta.url);

/** A constant of the code and its value for this run: `MAX_SUBSCRIBERS` 5,000. */
export type Constants = Readonly<Record<string, number>>;

const OF_PUSH = ['Publisher', 'Relay', 'Subscriptions', 'VersionedAnswerer'] as const;
const OF_RESOLVER = ['AnswerCache', 'ReplyPipeline', 'ReplyReader'] as const;
const OF_WIRE = ['appendOpt', 'readQuery', 'setChanged', 'setKnown', 'setSeen'] as const;

/** What a fleet runs of the programs: how changes get to caches, and what caches keep. */
export type FleetCode = Pick<typeof push, (typeof OF_PUSH)[number]> &
  Pick<typeof resolver, (typeof OF_RESOLVER)[number]> &
  Pick<typeof wire, (typeof OF_WIRE)[number]>;

const ENTRY = [
  `export { ${OF_PUSH.join(', ')} } from '@kube-dns/push';`,
  `export { ${OF_RESOLVER.join(', ')} } from '@kube-dns/resolver';`,
  `export { ${OF_WIRE.join(', ')} } from '@kube-dns/wire';`,
].join('\n');

/**
 * The code as it is built, with other constants where some are given. Its timers, clock, connections and random numbers are the
 * fleet's, and of the process that runs.
 */
export function loadFleetCode(
  scheduler: Scheduler,
  network: FleetNetwork,
  random: Random,
  constants: Constants,
): FleetCode {
  let source = (bundled ??= bundle());
  for (const [name, value] of Object.entries(constants)) {
    const pattern = new RegExp(`\\b${name} = [\\d_e]+;`, 'u');
    if (!pattern.test(source)) throw new Error(`the code has no constant ${name}`);
    source = source.replace(pattern, `${name} = ${value};`);
  }
  const globals = globalsOf(scheduler, network, random);
  const wrapped = `(function (${Object.keys(globals).join(', ')}) {${source}\n})`;
  const script = new Script(wrapped, { filename: 'fleet.cjs' });
  (script.runInThisContext() as (...values: unknown[]) => void)(...Object.values(globals));
  return globals.module.exports as FleetCode;
}

/** Of this process: each of its runs has the same code. */
let bundled: string | undefined;

function bundle(): string {
  const { outputFiles } = buildSync({
    stdin: { contents: ENTRY, resolveDir: dirname(fileURLToPath(import.meta.url)) },
    bundle: true,
    platform: 'node',
    format: 'cjs',
    write: false,
    logLevel: 'error',
  });
  return outputFiles[0]!.text;
}

function globalsOf(scheduler: Scheduler, network: FleetNetwork, random: Random) {
  const modules: Readonly<Record<string, unknown>> = {
    'node:net': { ...(require('node:net') as object), connect: network.connect },
    'node:crypto': cryptoModule(random),
    // The device of random numbers is not there, so they are the seed's.
    'node:fs': { ...(require('node:fs') as object), openSync: noFile },
  };
  const load = (name: string): unknown => modules[name] ?? require(name);
  const start = (run: () => void, ms: number, repeats: boolean) =>
    new FleetTimer(scheduler, runningProcess(), ms, run, repeats);
  const clear = (timer: FleetTimer | undefined) => timer?.close();
  const drawn = Object.getOwnPropertyDescriptors(Math);
  drawn.random = { value: () => random.fraction() };
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
    process: { getBuiltinModule: load, platform: 'linux', arch: 'x64', env: {} },
    Math: Object.create(null, drawn) as object,
  };
}

function noFile(): never {
  throw new Error('a fleet has no files');
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
  /** It is due, and its process has not run it yet. */
  #isPosted = false;

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
    this.#isPosted = false;
  }

  unref(): this {
    return this;
  }

  readonly #onTime = (): void => {
    const isEarly = this.#scheduler.nowUs < Math.round(this.#dueUs);
    this.#event = undefined;
    if (!this.#process.isAlive) return;
    if (isEarly) {
      this.#event = this.#scheduler.at(this.#dueUs, this.#onTime);
      return;
    }
    if (this.#repeats) this.refresh();
    if (this.#isPosted) return;
    this.#isPosted = true;
    this.#process.post(this.#fire, 0);
  };

  /** Unless it was cleared meanwhile. */
  readonly #fire = (): void => {
    if (!this.#isPosted) return;
    this.#isPosted = false;
    this.#run();
  };
}
