import { constants } from 'node:fs';
import { EventEmitter } from 'node:events';
import { posix } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { promisify } from 'node:util';
import type { Resource, RunningProcess } from '../host.js';
import type { Node } from './files.js';

type Done<T extends unknown[] = []> = (error: NodeJS.ErrnoException | null, ...results: T) => void;

/** What a read or a look-up in a folder takes. */
const DISK_US = 50;
/** The system's generator, read as a file. */
const GENERATOR = '/dev/urandom';
const FIRST_DESCRIPTOR = 10;

interface Open {
  readonly path: string;
  readonly node: Node | undefined;
  at: number;
}

interface ReadOptions {
  readonly encoding?: BufferEncoding | null;
}

/** `node:fs`: what the programs use of it, on the machine's files. */
export function fsModule(process: RunningProcess) {
  const { files } = process.machine;
  const descriptors = new Map<number, Open>();
  let lastDescriptor = FIRST_DESCRIPTOR;

  const find = (path: string, syscall: string): Node => {
    const node = files.find(path);
    if (node === undefined) throw fault('ENOENT', 'no such file or directory', syscall, path);
    return node;
  };
  const read = (path: string): Buffer => {
    const node = find(path, 'open');
    if (node.kind !== 'file') {
      throw fault('EISDIR', 'illegal operation on a directory', 'read', path);
    }
    return node.bytes;
  };
  const openSync = (path: string, flags: number | string = constants.O_RDONLY): number => {
    const isWriting =
      typeof flags === 'string'
        ? flags !== 'r'
        : (flags & (constants.O_WRONLY | constants.O_RDWR)) !== 0;
    if (
      typeof flags === 'number' &&
      (flags & constants.O_EXCL) !== 0 &&
      files.findLink(path) !== undefined
    )
      throw fault('EEXIST', 'file already exists', 'open', path);
    const isCut = typeof flags === 'number' && (flags & constants.O_TRUNC) !== 0;
    if (isWriting && (isCut || files.find(path) === undefined)) files.write(path, '');
    const node = path === GENERATOR ? undefined : find(path, 'open');
    const fd = ++lastDescriptor;
    descriptors.set(fd, { path, node, at: 0 });
    return fd;
  };
  const opened = (fd: number, syscall: string): Open => {
    const open = descriptors.get(fd);
    if (open === undefined) throw fault('EBADF', 'bad file descriptor', syscall);
    return open;
  };
  const readSync = (fd: number, buffer: Uint8Array, ...more: unknown[]): number => {
    const open = opened(fd, 'read');
    const { offset = 0, length = buffer.byteLength, position = null } = readArguments(more);
    const target = new Uint8Array(buffer.buffer, buffer.byteOffset + offset, length);
    if (open.path === GENERATOR) {
      process.machine.random.fill(target);
      return length;
    }
    const bytes = open.node?.kind === 'file' ? open.node.bytes : read(open.path);
    const from = position ?? open.at;
    const part = bytes.subarray(from, from + length);
    target.set(part);
    if (position === null) open.at += part.length;
    return part.length;
  };
  const writeSync = (fd: number, data: string | Uint8Array): number => {
    const bytes = Buffer.from(data as string);
    if (fd <= 2) {
      process.write(bytes);
      return bytes.length;
    }
    const open = opened(fd, 'write');
    if (files.isFull) throw fault('ENOSPC', 'no space left on device', 'write', open.path);
    files.write(open.path, Buffer.concat([read(open.path), bytes]));
    return bytes.length;
  };
  const readFileSync = (path: string | number, options?: ReadOptions | BufferEncoding) => {
    const name = typeof path === 'number' ? opened(path, 'read').path : path;
    const encoding = typeof options === 'string' ? options : options?.encoding;
    const bytes = read(name);
    return encoding == null ? Buffer.from(bytes) : bytes.toString(encoding);
  };
  const readdirSync = (path: string, options?: { withFileTypes?: boolean }) => {
    if (find(path, 'scandir').kind !== 'folder')
      throw fault('ENOTDIR', 'not a directory', 'scandir', path);
    const names = files.list(path);
    if (options?.withFileTypes !== true) return names;
    return names.map((name) => ({
      name,
      parentPath: path,
      ...kindOf(files.findLink(posix.join(path, name))),
    }));
  };
  const statSync = (path: string, options?: { throwIfNoEntry?: boolean }) => {
    if (options?.throwIfNoEntry === false && files.find(path) === undefined) return undefined;
    return statOf(find(path, 'stat'));
  };
  const lstatSync = (path: string) => {
    const node = files.findLink(path);
    if (node === undefined) throw fault('ENOENT', 'no such file or directory', 'lstat', path);
    return statOf(node);
  };
  const fstatSync = (fd: number) => statOf(fd <= 2 ? PIPE : (opened(fd, 'fstat').node ?? PIPE));
  const readlinkSync = (path: string) => {
    const node = files.findLink(path);
    if (node === undefined) throw fault('ENOENT', 'no such file or directory', 'readlink', path);
    if (node.kind !== 'link') throw fault('EINVAL', 'invalid argument', 'readlink', path);
    return node.target;
  };
  const realpathSync = (path: string) => {
    const resolved = files.resolve(path);
    if (resolved === undefined && !path.startsWith('/app/')) {
      throw fault('ENOENT', 'no such file or directory', 'realpath', path);
    }
    return resolved ?? path;
  };
  const closeSync = (fd: number) => void descriptors.delete(fd);
  const accessSync = (path: string) => void find(path, 'access');
  const writeFileSync = (path: string, content: string | Buffer) => {
    if (files.isFull) throw fault('ENOSPC', 'no space left on device', 'write', path);
    files.write(path, content);
  };
  const renameSync = (from: string, to: string) => {
    find(from, 'rename');
    files.rename(from, to);
  };

  /** The form with a callback of a call that returns. */
  const later =
    <A extends unknown[], R>(call: (...args: A) => R) =>
    (...args: [...A, Done<[R]>]) => {
      const done = args.pop() as Done<unknown[]>;
      process.schedule(DISK_US, () => {
        let result: R;
        try {
          result = call(...(args as unknown as A));
        } catch (error) {
          done(error as NodeJS.ErrnoException);
          return;
        }
        done(null, result);
      });
    };

  const createReadStream = (
    path: string,
    options: { encoding?: BufferEncoding; end?: number; start?: number } = {},
  ) => readStream(() => read(path), options, later);

  return {
    constants,
    accessSync,
    closeSync,
    createReadStream,
    createWriteStream: (path: string) =>
      new Writable({
        write(chunk: Buffer, _encoding, done) {
          later(() => writeFileSync(path, Buffer.concat([files.find(path) === undefined ? Buffer.alloc(0) : read(path), chunk])))(done); // prettier-ignore
        },
      }),
    existsSync: (path: string) => files.find(path) !== undefined,
    fstatSync,
    lstatSync,
    openSync,
    readFileSync,
    readSync,
    readdirSync,
    readlinkSync,
    realpathSync,
    renameSync,
    rmSync: (path: string) => files.remove(path),
    unlinkSync: (path: string) => files.remove(path),
    statSync,
    writeFileSync,
    writeSync,
    access: later(accessSync),
    close: (fd: number, done: Done = () => undefined) => later(closeSync)(fd, done),
    fstat: later(fstatSync),
    fsync: later((fd: number) => void opened(fd, 'fsync')),
    open: later(openSync),
    read: withNamedResults(later(readSync), 'bytesRead'),
    readFile: later(readFileSync),
    readdir: later(readdirSync),
    readlink: later(readlinkSync),
    realpath: later(realpathSync),
    stat: later(statSync),
    lstat: later(lstatSync),
    write: withNamedResults(later(writeSync), 'bytesWritten'),
    rename: later(renameSync),
    unlink: later((path: string) => files.remove(path)),
    watch: (path: string, ...more: unknown[]) => {
      find(path, 'watch');
      const listener = more.at(-1);
      return new Watcher(
        process,
        path,
        typeof listener === 'function' ? (listener as () => void) : undefined,
      );
    },
    get promises() {
      return promisesOf(this, process);
    },
  };
}

/** `promisify` of these calls gives an object, as that of Node's does. */
function withNamedResults<A extends unknown[]>(call: (...args: A) => void, name: string) {
  const promised = (...args: unknown[]) =>
    new Promise((resolve, reject) => {
      const done = (error: Error | null, count: number) =>
        error ? reject(error) : resolve({ [name]: count, buffer: args[1] });
      (call as (...all: unknown[]) => void)(...args, done);
    });
  return Object.assign(call, { [promisify.custom]: promised });
}

type Fs = Record<string, (...args: never[]) => unknown>;

function promisesOf(fs: object, process: RunningProcess) {
  const call = (name: string, ...args: unknown[]) =>
    new Promise<unknown>((resolve, reject) => {
      const done = (error: Error | null, result: unknown) =>
        error ? reject(error) : resolve(result);
      ((fs as Fs)[name]! as (...all: unknown[]) => void)(...args, done);
    });
  const names = [
    'access',
    'readFile',
    'readdir',
    'readlink',
    'realpath',
    'stat',
    'lstat',
    'rename',
    'unlink',
  ];
  const simple = Object.fromEntries(
    names.map((name) => [name, (...args: unknown[]) => call(name, ...args)]),
  );
  return {
    ...simple,
    constants,
    opendir: async (path: string) => {
      const entries = await call('readdir', path, { withFileTypes: true });
      return Readable.from(entries as object[]);
    },
    open: async (path: string, flags?: number | string) => {
      const fd = (await call('open', path, flags)) as number;
      return {
        fd,
        stat: () => call('fstat', fd),
        close: () => call('close', fd),
        readFile: (options?: ReadOptions) => call('readFile', fd, options),
        writeFile: (data: Uint8Array) => call('write', fd, data),
        sync: () => call('fsync', fd),
        read: async (
          buffer: Buffer,
          offset?: number,
          length?: number,
          position?: number | null,
        ) => ({
          bytesRead: await call('read', fd, buffer, offset, length, position),
          buffer,
        }),
        createReadStream: (options: { end?: number } = {}) =>
          readStream(
            () => (fs as { readFileSync(fd: number): Buffer }).readFileSync(fd),
            options,
            (read) => (done) => process.schedule(DISK_US, () => done(null, read())),
          ),
        [Symbol.asyncDispose]: () => call('close', fd),
      };
    },
  };
}

function readStream(
  read: () => Buffer,
  { encoding, start = 0, end }: { encoding?: BufferEncoding; start?: number; end?: number },
  later: (read: () => Buffer) => (done: Done<[Buffer]>) => void,
): Readable {
  return new Readable({
    ...(encoding && { encoding }),
    read() {
      later(read)((error, bytes) => {
        if (error) {
          this.destroy(error);
          return;
        }
        const part = bytes.subarray(start, end === undefined ? undefined : end + 1);
        if (part.length > 0) this.push(part);
        this.push(null);
      });
    },
  });
}

class Watcher extends EventEmitter implements Resource {
  readonly #process: RunningProcess;
  readonly #end: () => void;

  constructor(process: RunningProcess, path: string, listener: (() => void) | undefined) {
    super();
    this.#process = process;
    if (listener !== undefined) this.on('change', listener);
    this.#end = process.machine.files.watch(path, (event, name) =>
      process.schedule(DISK_US, () => this.emit('change', event, name)),
    );
    process.own(this);
  }

  close(): void {
    this.#end();
    this.#process.disown(this);
  }

  onProcessEnd(): void {
    this.#end();
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

/** stdin, stdout and stderr are pipes. */
const PIPE = { kind: 'pipe', inode: 0, changedMs: 0 } as const;

function kindOf(node: Node | typeof PIPE | undefined) {
  return {
    isFile: () => node?.kind === 'file',
    isDirectory: () => node?.kind === 'folder',
    isSymbolicLink: () => node?.kind === 'link',
    isFIFO: () => node?.kind === 'pipe',
    isSocket: () => false,
    isCharacterDevice: () => false,
    isBlockDevice: () => false,
  };
}

function statOf(node: Node | typeof PIPE) {
  const { changedMs, inode } = node;
  const date = new Date(changedMs);
  const size = node.kind === 'file' ? node.bytes.length : 0;
  return {
    ...kindOf(node),
    ino: inode,
    dev: 1,
    size,
    mode: 0o644,
    nlink: 1,
    mtimeMs: changedMs,
    ctimeMs: changedMs,
    mtime: date,
    ctime: date,
  };
}

function readArguments(more: readonly unknown[]): {
  offset?: number;
  length?: number;
  position?: number | null;
} {
  const [first, length, position] = more;
  if (typeof first === 'object' && first !== null) return first;
  return {
    ...(typeof first === 'number' && { offset: first }),
    ...(typeof length === 'number' && { length }),
    position: typeof position === 'number' && position >= 0 ? position : null,
  };
}

function fault(code: string, text: string, syscall: string, path?: string): NodeJS.ErrnoException {
  const of = path === undefined ? '' : ` '${path}'`;
  return Object.assign(new Error(`${code}: ${text}, ${syscall}${of}`), { code, syscall, path });
}
