import { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { EXIT, type RunningProcess } from '../host.js';
import { childProcessModule } from './child-process.js';
import { cryptoModule } from './crypto.js';
import { datagramModule } from './datagram.js';
import { fsModule } from './fs.js';
import { httpModule } from './http.js';
import { type NetModule, netModule } from './net.js';
import { osModule } from './os.js';
import { zlibModule } from './zlib.js';
import { type Timers, timersOf, timersPromisesModule } from './timers.js';

/** The `process` of a simulated program. */
export type ProcessGlobal = EventEmitter & Record<string, unknown>;

export interface BundleGlobals {
  readonly process: ProcessGlobal;
  readonly timers: Timers;
  /** `require` of a built-in module. */
  readonly load: (module: string) => unknown;
  /** The parameters of the compiled bundle, and their values. */
  readonly names: readonly string[];
  readonly values: readonly unknown[];
}

/** The command line and the environment of a program. */
export interface ProgramOptions {
  readonly argv?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** What Node gives that neither reads a clock nor leaves the process. */
const PURE = new Set([
  'assert', 'async_hooks', 'buffer', 'diagnostics_channel', 'events', 'path', 'punycode', 'querystring',
  'stream', 'stream/promises', 'string_decoder', 'tty', 'url', 'util', 'vm', 'constants',
]); // prettier-ignore

const nodeRequire = createRequire(import.meta.url);
/** Virtual time starts here: 2026-01-01T00:00:00Z. */
const EPOCH_MS = 1_767_225_600_000;
const HEAP = { total: 64 << 20, used: 32 << 20, rss: 96 << 20 };

/** The globals and modules of a process, all of them its machine's. */
export function globalsOf(owner: RunningProcess, options: ProgramOptions): BundleGlobals {
  const { machine } = owner;
  const nowMs = () => (machine.scheduler.nowUs - owner.startedUs) / 1_000;
  const timers = timersOf(owner);
  const modules = new Map<string, unknown>();
  const process = processOf(owner, options, nowMs, (name) => load(name));

  const performance = {
    now: nowMs,
    timeOrigin: EPOCH_MS + owner.startedUs / 1_000,
    eventLoopUtilization,
  };
  const math = Object.create(Math, { random: { value: () => machine.random.fraction() } }) as Math;
  const SimulatedDate = dateOf(
    () => EPOCH_MS + machine.scheduler.nowUs / 1_000 + machine.clockSkewMs,
  );

  /** A module by its name, made when it is first asked for. */
  function load(name: string): unknown {
    const plain = name.replace(/^node:/u, '');
    let loaded = modules.get(plain);
    if (loaded === undefined) {
      loaded = make(plain);
      modules.set(plain, loaded);
    }
    return loaded;
  }

  function make(name: string): unknown {
    if (PURE.has(name)) return nodeRequire(`node:${name}`);
    switch (name) {
      case 'process':
        return process;
      case 'timers':
        return timers;
      case 'timers/promises':
        return timersPromisesModule(timers);
      case 'perf_hooks':
        return { performance };
      case 'dgram':
        return datagramModule(owner);
      case 'net':
        return netModule(owner);
      case 'http':
        return httpModule(owner, load('net') as NetModule, SimulatedDate);
      case 'https':
      case 'tls':
      case 'http2':
        return nodeRequire(`node:${name}`);
      case 'fs':
        return fsModule(owner);
      case 'fs/promises':
        return (load('fs') as ReturnType<typeof fsModule>).promises;
      case 'os':
        return osModule(owner);
      case 'crypto':
        return cryptoModule(machine.random);
      case 'zlib':
        return zlibModule(owner);
      case 'child_process':
        return childProcessModule();
      case 'v8':
        return { getHeapStatistics: () => ({ heap_size_limit: 512 << 20, total_heap_size: HEAP.total, used_heap_size: HEAP.used, malloced_memory: 0, external_memory: 0 }), setFlagsFromString: () => undefined }; // prettier-ignore
      case 'dns':
      case 'dns/promises':
        return { lookup: () => Promise.reject(new Error('the simulator has no names for lookup')) };
      default:
        throw Object.assign(new Error(`Cannot find module '${name}'`), {
          code: 'MODULE_NOT_FOUND',
        });
    }
  }

  const module = { exports: {} };
  const file = `/app/${owner.name}.cjs`;
  const globals: Record<string, unknown> & { globalThis?: unknown; global?: unknown } = {
    exports: module.exports,
    require: load,
    module,
    __filename: file,
    __dirname: '/app',
    process,
    ...timers,
    performance,
    Date: SimulatedDate,
    Math: math,
    AbortSignal: abortSignalOf(timers.setTimeout),
    fetch: undefined,
  };
  // Not by assignment, which would reach the setters of Node's own global object.
  const globalObject: unknown = Object.create(
    globalThis,
    Object.getOwnPropertyDescriptors(globals),
  );
  globals.globalThis = globalObject;
  globals.global = globalObject;
  return { process, timers, load, names: Object.keys(globals), values: Object.values(globals) };
}

function processOf(
  owner: RunningProcess,
  options: ProgramOptions,
  nowMs: () => number,
  load: (name: string) => unknown,
): ProcessGlobal {
  const { machine } = owner;
  const hrtime = Object.assign(
    () => {
      const us = machine.scheduler.nowUs;
      return [Math.floor(us / 1e6), (us % 1e6) * 1_000];
    },
    { bigint: () => BigInt(machine.scheduler.nowUs) * 1_000n },
  );
  const memoryUsage = Object.assign(
    () => ({
      rss: HEAP.rss,
      heapTotal: HEAP.total,
      heapUsed: HEAP.used,
      external: 0,
      arrayBuffers: 0,
    }),
    { rss: () => HEAP.rss },
  );
  const emitter = new EventEmitter();
  emitter.setMaxListeners(0);
  const output = outputOf(owner);
  return Object.assign(emitter, {
    argv: ['/usr/local/bin/node', `/app/${owner.name}.cjs`, ...(options.argv ?? [])],
    argv0: 'node',
    execArgv: [],
    execPath: '/usr/local/bin/node',
    env: { ...options.env },
    pid: owner.pid,
    ppid: 0,
    platform: 'linux',
    arch: process.arch,
    version: process.version,
    versions: process.versions,
    release: process.release,
    exitCode: undefined,
    stdout: { ...output, fd: 1 },
    stderr: { ...output, fd: 2 },
    exit: (code?: number) => {
      const { exitCode } = emitter as unknown as { exitCode?: unknown };
      owner.end({ code: code ?? (typeof exitCode === 'number' ? exitCode : 0) });
      // oxlint-disable-next-line typescript/only-throw-error -- no handler of the program may take it for an error
      throw EXIT;
    },
    abort: () => owner.end({ code: 134 }),
    cwd: () => '/',
    umask: () => 0o022,
    getuid: () => 0,
    geteuid: () => 0,
    uptime: () => nowMs() / 1_000,
    hrtime,
    memoryUsage,
    cpuUsage: () => ({ user: 0, system: 0 }),
    resourceUsage: () => ({ userCPUTime: 0, systemCPUTime: 0, maxRSS: HEAP.rss / 1_024 }),
    availableMemory: () => 8 * 2 ** 30,
    constrainedMemory: () => 0,
    // A tick needs no time of its own: Node's queue is dry before the next event.
    nextTick: (callback: (...args: unknown[]) => void, ...args: unknown[]) =>
      process.nextTick(() => owner.run(() => callback(...args))),
    emitWarning: (warning: unknown) => output.write(`warning: ${String(warning)}\n`),
    getBuiltinModule: load,
    binding: () => ({}),
    features: {},
    config: process.config,
    report: undefined,
  }) as unknown as ProcessGlobal;
}

/** A stream like `process.stderr` whose lines become the log of the process. */
function outputOf(owner: RunningProcess) {
  const write = (text: string | Uint8Array, ...more: unknown[]): boolean => {
    owner.write(text);
    const done = more.at(-1);
    if (typeof done === 'function') owner.schedule(0, done as () => void);
    return true;
  };
  const output = {
    isTTY: false,
    writable: true,
    writableLength: 0,
    writableNeedDrain: false,
    write,
    end: write,
    on: () => output,
    once: () => output,
    off: () => output,
    removeListener: () => output,
    emit: () => false,
    listenerCount: () => 0,
  };
  return output;
}

function dateOf(nowMs: () => number): DateConstructor {
  return class extends Date {
    constructor(...parts: [] | [number | string | Date]) {
      // Whole milliseconds, as Date has them.
      if (parts.length === 0) super(Math.floor(nowMs()));
      else super(...parts);
    }

    static override now(): number {
      return Math.floor(nowMs());
    }
  } as unknown as DateConstructor;
}

function abortSignalOf(setTimeout: (run: () => void, ms: number) => unknown) {
  return {
    any: (signals: AbortSignal[]) => AbortSignal.any(signals),
    abort: (reason?: unknown) => AbortSignal.abort(reason),
    timeout: (ms: number) => {
      const controller = new AbortController();
      setTimeout(
        () => controller.abort(new DOMException('The operation timed out', 'TimeoutError')),
        ms,
      );
      return controller.signal;
    },
    [Symbol.hasInstance]: (value: unknown) => value instanceof AbortSignal,
  };
}

function eventLoopUtilization() {
  return { idle: 0, active: 0, utilization: 0 };
}
