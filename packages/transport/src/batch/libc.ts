import { endianness } from 'node:os';
import { getSystemErrorName } from 'node:util';
import { EngineError } from '../errors.js';
import { EPOLLIN } from './constants.js';

/** Called when a descriptor can be read or written; `status` is negative when it has an error. */
export type OnReady = (status: number, events: ReadyEvents) => void;

export interface ReadyEvents {
  readonly readable: boolean;
  readonly writable: boolean;
}

/** A descriptor that the event loop watches. Nothing may be called after `close`. */
export interface Watch {
  start(events: Partial<ReadyEvents>, onReady: OnReady): void;
  close(): void;
}

/** The event loop of this process (libuv), for a callback of it that waits in its place. */
export interface EventLoop {
  /** The epoll descriptor that has all descriptors of the loop. */
  readonly fd: number;
  /** Milliseconds until it has something to do that no descriptor says, such as a timer: 0 for now, Infinity for never. */
  untilDueMs(): number;
  /**
   * Blocks until a descriptor is ready that the loop watches, for so many whole milliseconds at most. Returns the descriptor where it
   * can be read and has no error; -1 in all other cases, and the loop sees them.
   */
  waitReadable(timeoutMs: number): number;
}

/** The functions of the C library that move datagrams and the bytes of connections; each returns -1 for an error, see `errno`. */
export interface Libc {
  socket(domain: number, type: number, protocol: number): number;
  bind(fd: number, name: Uint8Array, length: number): number;
  connect(fd: number, name: Uint8Array, length: number): number;
  getsockname(fd: number, name: Uint8Array, length: Int32Array): number;
  setsockopt(fd: number, level: number, option: number, value: Int32Array, length: number): number;
  /** `length` has one number: the bytes of `value`, and of them those that were written. */
  getsockopt(
    fd: number,
    level: number,
    option: number,
    value: Uint32Array,
    length: Int32Array,
  ): number;
  close(fd: number): number;
  recvmmsg(fd: number, headers: Uint8Array, count: number, flags: number, timeout: null): number;
  sendmmsg(fd: number, headers: Uint8Array, count: number, flags: number): number;
  listen(fd: number, backlog: number): number;
  accept4(fd: number, name: Uint8Array | null, length: Int32Array | null, flags: number): number;
  recv(fd: number, to: Uint8Array, length: number, flags: number): number;
  send(fd: number, bytes: Uint8Array, length: number, flags: number): number;
  shutdown(fd: number, how: number): number;
  epoll_create1(flags: number): number;
  epoll_ctl(epoll: number, operation: number, fd: number, event: Int32Array): number;
  epoll_wait(epoll: number, events: Int32Array, count: number, timeoutMs: number): number;
  /** The error of the last call. */
  errno(): number;
  /** The address of the first byte; valid as long as the bytes are referenced. */
  addressOf(bytes: Uint8Array): bigint;
  /** `onReady` must not throw. */
  watch(fd: number, events: Partial<ReadyEvents>, onReady: OnReady): Watch;
  /** Undefined where this Node does not export the functions of its libuv. */
  readonly loop: EventLoop | undefined;
}

/** An error as Node throws it. */
export function systemError(syscall: string, errno: number): NodeJS.ErrnoException {
  const code = getSystemErrorName(-errno);
  return Object.assign(new Error(`${syscall} ${code}`), { code, errno: -errno, syscall });
}

/** The part of koffi in use; its own types are `any`. */
interface Koffi {
  load(path: null): Library;
  errno(): number;
  address(bytes: Uint8Array): bigint;
  readonly node?: { readonly poll?: Libc['watch'] };
}

/**
 * A struct epoll_event, which x64 packs, in 32-bit words: the events, and from this word on the two that were given for the
 * descriptor, the first of which is itself.
 */
export const EVENT_WORDS = process.arch === 'x64' ? 3 : 4;
export const EVENT_FD = process.arch === 'x64' ? 1 : 2;

const PROTOTYPES = {
  socket: 'int socket(int, int, int)',
  bind: 'int bind(int, void *, uint32_t)',
  connect: 'int connect(int, void *, uint32_t)',
  getsockname: 'int getsockname(int, void *, void *)',
  setsockopt: 'int setsockopt(int, int, int, void *, uint32_t)',
  getsockopt: 'int getsockopt(int, int, int, void *, void *)',
  close: 'int close(int)',
  recvmmsg: 'int recvmmsg(int, void *, unsigned int, int, void *)',
  sendmmsg: 'int sendmmsg(int, void *, unsigned int, int)',
  listen: 'int listen(int, int)',
  accept4: 'int accept4(int, void *, void *, int)',
  recv: 'int64_t recv(int, void *, size_t, int)',
  send: 'int64_t send(int, void *, size_t, int)',
  shutdown: 'int shutdown(int, int)',
  epoll_create1: 'int epoll_create1(int)',
  epoll_ctl: 'int epoll_ctl(int, int, int, void *)',
  epoll_wait: 'int epoll_wait(int, void *, int, int)',
} as const satisfies Partial<Record<keyof Libc, string>>;

interface Library {
  /** Throws for a function that the library does not have. */
  func(prototype: string): unknown;
}

/** Architectures with the structures of MessageArena and the numbers of constants.ts. */
const ARCHITECTURES: ReadonlySet<string> = new Set(['x64', 'arm64']);
/** Not a literal: the compiler and the bundler must not look for a module that may be absent. */
const KOFFI = 'koffi' as string;
/**
 * The native part of koffi, without the checks and old names of its wrapper; `import` of the wrapper makes Node load half of its
 * modules as ones with named exports: 0.5 MiB.
 */
const NATIVE_KOFFI = `@koromix/koffi-${process.platform}-${process.arch}`;

/**
 * Certificates between that of a server and one of a trusted authority: there are one or two. Each is a signature to
 * verify, up to 11 ms of CPU for keys that are made for it, and a server can send 500.
 */
const MAX_INTERMEDIATES = 3;
/** X509_V_FLAG_TRUSTED_FIRST of OpenSSL, which its own parameters have. */
const TRUSTED_FIRST = 0x8000;
const OPENSSL = {
  create: 'void *X509_VERIFY_PARAM_new(void)',
  setName: 'int X509_VERIFY_PARAM_set1_name(void *, const char *)',
  setFlags: 'int X509_VERIFY_PARAM_set_flags(void *, unsigned long)',
  setDepth: 'void X509_VERIFY_PARAM_set_depth(void *, int)',
  add: 'int X509_VERIFY_PARAM_add0_table(void *)',
} as const;

let loaded: Promise<Libc> | undefined;
let trim: ((padBytes: number) => number) | undefined;
let changeSignalMask: ((how: number, set: Uint8Array, former: null) => number) | undefined;

const SIG_UNBLOCK = 1;
/** A `sigset_t` with SIGUSR1, signal 10, alone. */
const SIGUSR1_SET = new Uint8Array(128).fill(1 << 1, 1, 2);

/**
 * Has a listener of SIGUSR1 called also in a Node that was started with `--disable-sigusr1`: it then leaves the signal blocked as it
 * is from the start (PlatformInit of src/node.cc). One that came before is delivered now. Without a C library to load it stays blocked.
 */
export async function unblockSigusr1(): Promise<void> {
  try {
    await loadLibc();
    changeSignalMask?.(SIG_UNBLOCK, SIGUSR1_SET, null);
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
  }
}

/**
 * Gives the pages that malloc has free back to the system, also those between used ones: malloc_trim(3) of glibc, which takes
 * less than a millisecond. Does nothing before the C library is loaded, and with another one.
 */
export function releaseFreeMemory(): void {
  trim?.(0);
}

/** Loads the C library through koffi, once. Rejects with an EngineError that says what is missing. */
export function loadLibc(): Promise<Libc> {
  return (loaded ??= load());
}

async function load(): Promise<Libc> {
  const { platform, arch } = process;
  if (platform !== 'linux' || !ARCHITECTURES.has(arch) || endianness() !== 'LE') {
    throw new EngineError(`is not there for ${platform} on ${arch}`);
  }
  const koffi = await importKoffi();
  const poll = koffi.node?.poll;
  if (poll === undefined) throw new EngineError('needs a koffi that watches descriptors');
  try {
    const library = koffi.load(null);
    const functions = Object.entries(PROTOTYPES).map(([name, text]) => [name, library.func(text)]);
    trim = findTrim(library);
    boundCertificateChains(library);
    changeSignalMask = library.func(
      'int pthread_sigmask(int, void *, void *)',
    ) as typeof changeSignalMask;
    return {
      ...(Object.fromEntries(functions) as Pick<Libc, keyof typeof PROTOTYPES>),
      errno: () => koffi.errno(),
      addressOf: (bytes) => koffi.address(bytes),
      watch: (fd, events, onReady) => poll(fd, events, onReady),
      loop: findLoop(library),
    };
  } catch (cause) {
    throw new EngineError(`cannot use the C library: ${String(cause)}`, { cause });
  }
}

function findTrim(library: Library): typeof trim {
  try {
    return library.func('int malloc_trim(size_t)') as typeof trim;
  } catch {
    return undefined; // not glibc
  }
}

/** libuv has its descriptors in one of epoll, each as the data of its events (uv__io_poll of src/unix/linux.c). */
function findLoop(library: Library): EventLoop | undefined {
  try {
    const loop = (library.func('void *uv_default_loop(void)') as () => unknown)();
    const backend = (library.func('int uv_backend_fd(void *)') as (of: unknown) => number)(loop);
    const timeout = library.func('int uv_backend_timeout(void *)') as (of: unknown) => number;
    const wait = library.func(PROTOTYPES.epoll_wait) as Libc['epoll_wait'];
    const event = new Int32Array(EVENT_WORDS);
    return {
      fd: backend,
      untilDueMs: () => {
        const ms = timeout(loop);
        return ms < 0 ? Infinity : ms;
      },
      waitReadable: (timeoutMs) => {
        const isReadable = wait(backend, event, 1, timeoutMs) === 1 && event[0] === EPOLLIN;
        return isReadable ? event[EVENT_FD]! : -1;
      },
    };
  } catch {
    return undefined;
  }
}

/**
 * Bounds the chains of certificates that this process verifies. Node has no option for it: it sets the parameters that
 * OpenSSL uses by default, X509_VERIFY_PARAM(3). A longer chain leads to no trusted authority.
 */
function boundCertificateChains(library: Library): void {
  try {
    const call = (name: keyof typeof OPENSSL, ...values: unknown[]) =>
      (library.func(OPENSSL[name]) as (...all: unknown[]) => unknown)(...values);
    const parameters = call('create');
    call('setName', parameters, 'default');
    call('setFlags', parameters, TRUSTED_FIRST);
    call('setDepth', parameters, MAX_INTERMEDIATES);
    call('add', parameters);
  } catch {
    // This Node does not export the functions of its OpenSSL.
  }
}

async function importKoffi(): Promise<Koffi> {
  try {
    const { createRequire } = process.getBuiltinModule('node:module');
    return createRequire(import.meta.filename)(NATIVE_KOFFI) as Koffi;
  } catch {
    // Another koffi, or none.
  }
  try {
    return ((await import(KOFFI)) as { default: Koffi }).default;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const reason = code === 'ERR_MODULE_NOT_FOUND' ? 'is not installed' : 'does not load';
    throw new EngineError(`needs koffi, which ${reason}`, { cause });
  }
}
