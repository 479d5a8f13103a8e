import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, opendir, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline, Readable } from 'node:stream';
import { createGunzip, createGzip } from 'node:zlib';
import { CodedError, errorText, LoopTurn, systemReason } from '@kube-dns/base';
import type { Log } from './log.js';
import { READ_FLAGS } from './text-file.js';

/** Raised when older releases cannot read what is written. */
const FORMAT = 1;
/** A large cluster has 3 MB. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Of all lines: what a list of the API may have. */
const MAX_CONTENT_BYTES = 1024 * 1024 * 1024;
const MAX_HEADER_BYTES = 64 * 1024;
/** More than any object has. */
const MAX_LINE_CHARACTERS = 4 * 1024 * 1024;
const CHUNK_CHARACTERS = 32 * 1024;
const CHECKSUM_BYTES = 32;
const LINE_FEED = 10;
/** Clocks of machines differ by less; what was written later than now has no age. */
const MAX_AHEAD_MS = 5 * 60_000;
const MODE = 0o600;
/** What a write that still goes on has. */
const UNFINISHED = '.new';
/** No write takes longer. */
const LEFT_MS = 60_000;

/** What a snapshot says of itself; further fields are its program's. */
export interface SnapshotHeader {
  /** Which program reads it. */
  readonly kind: string;
  /** Milliseconds since 1970. */
  readonly writtenMs: number;
}

/** What was read: the header, and the lines, which can be read once. */
export interface Snapshot<H extends SnapshotHeader> {
  readonly header: H;
  /** Without line feeds. Throws a SnapshotError where they are longer than any snapshot's. */
  readonly lines: AsyncGenerator<string>;
}

/** A snapshot that is of no use. Its `code` is `snapshot`, its message the reason alone. */
export class SnapshotError extends CodedError {
  constructor(message: string) {
    super('snapshot', message);
  }
}

/**
 * A snapshot as bytes: a line of JSON, the lines as gzip, and the SHA-256 of both. The lines are asked for in turns of the event
 * loop.
 */
export async function* encodeSnapshot(
  header: SnapshotHeader,
  lines: Iterable<string>,
): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  const head = Buffer.from(`${JSON.stringify({ format: FORMAT, ...header })}\n`);
  hash.update(head);
  yield head;
  const packed = pipeline(Readable.from(inChunks(lines)), createGzip(), () => undefined);
  for await (const chunk of packed) {
    hash.update(chunk as Buffer);
    yield chunk as Buffer;
  }
  yield hash.digest();
}

async function* inChunks(lines: Iterable<string>): AsyncGenerator<Buffer> {
  const turn = new LoopTurn();
  let chunk = '';
  for (const line of lines) {
    chunk += `${line}\n`;
    if (chunk.length >= CHUNK_CHARACTERS) {
      yield Buffer.from(chunk);
      chunk = '';
    }
    if (turn.isOver) await turn.next();
  }
  if (chunk !== '') yield Buffer.from(chunk);
}

export interface SnapshotRules {
  readonly kind: string;
  /** What is older is of no use. */
  readonly maxAgeMs: number;
  /** Of all lines together; what has more is of no use. 1 GiB unless given. */
  readonly maxContentBytes?: number;
  /** Milliseconds since 1970; the machine's unless given. */
  readonly now?: () => number;
}

/** Reads a snapshot. Throws a SnapshotError for one that is torn, of another kind or format, too old, or of a time to come. */
export function decodeSnapshot<H extends SnapshotHeader>(
  bytes: Buffer,
  { kind, maxAgeMs, maxContentBytes = MAX_CONTENT_BYTES, now = Date.now }: SnapshotRules,
): Snapshot<H> {
  const endAt = bytes.length - CHECKSUM_BYTES;
  const headEnd = bytes.subarray(0, MAX_HEADER_BYTES).indexOf(LINE_FEED);
  if (headEnd < 0 || headEnd >= endAt) throw new SnapshotError('it is no snapshot');
  const content = bytes.subarray(0, endAt);
  const checksum = createHash('sha256').update(content).digest();
  if (!checksum.equals(bytes.subarray(endAt))) {
    throw new SnapshotError(
      'its checksum is another one: it was not written to its end, or changed',
    );
  }
  const { format, ...header } = readHeader(bytes.toString('utf8', 0, headEnd));
  if (format !== FORMAT) throw new SnapshotError(`its format is ${format}, of another release`);
  if (header.kind !== kind) throw new SnapshotError(`it is of ${header.kind}, not of ${kind}`);
  const ageMs = now() - header.writtenMs;
  // Without its age, which would make it another reason each time that it is read.
  if (ageMs > maxAgeMs) throw new SnapshotError(`it is older than ${maxAgeMs / 1_000} s`);
  if (ageMs < -MAX_AHEAD_MS) throw new SnapshotError('it is of a time to come, by this clock');
  return {
    header: header as unknown as H,
    lines: linesOf(content.subarray(headEnd + 1), maxContentBytes),
  };
}

function readHeader(text: string): SnapshotHeader & { readonly format: number } {
  let header: unknown;
  try {
    header = JSON.parse(text);
  } catch (error) {
    throw new SnapshotError(`its header is no JSON: ${errorText(error)}`);
  }
  const { kind, writtenMs, format } = (header ?? {}) as Record<string, unknown>;
  if (typeof kind !== 'string' || typeof writtenMs !== 'number' || typeof format !== 'number') {
    throw new SnapshotError('its header has no kind, time or format');
  }
  return header as SnapshotHeader & { readonly format: number };
}

async function* linesOf(packed: Buffer, maxBytes: number): AsyncGenerator<string> {
  let bytes = 0;
  let rest = '';
  const turn = new LoopTurn();
  const decoder = new TextDecoder();
  const content = pipeline(Readable.from([packed]), createGunzip(), () => undefined);
  try {
    for await (const chunk of content) {
      bytes += (chunk as Buffer).length;
      if (bytes > maxBytes) throw new SnapshotError(`its content has more than ${maxBytes} bytes`);
      const text = decoder.decode(chunk as Buffer, { stream: true });
      // A long line is put together once.
      const end = text.lastIndexOf('\n');
      const lines = end < 0 ? [] : (rest + text.slice(0, end)).split('\n');
      rest = end < 0 ? rest + text : text.slice(end + 1);
      if (rest.length > MAX_LINE_CHARACTERS)
        throw new SnapshotError(`a line has more than ${MAX_LINE_CHARACTERS} characters`);
      for (const line of lines) {
        yield line;
        if (turn.isOver) await turn.next();
      }
    }
  } catch (error) {
    throw error instanceof SnapshotError ? error : new SnapshotError(errorText(error));
  }
}

export interface SnapshotFileOptions extends SnapshotRules {
  readonly path: string;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

/**
 * A file that has the last snapshot: a new one takes its place once all of it is on the disk, so that there is always a whole one.
 * What goes wrong is one line of the log, until it is something else or well again; it never throws.
 */
export class SnapshotFile {
  readonly path: string;
  /** Why the last write or read failed; '' where it did not. */
  failure = '';
  readonly #options: SnapshotFileOptions;
  /** Of this process alone: another one may write the same file, as while one pod of a node takes the place of another. */
  readonly #unfinished: string;
  #isTidy = false;

  constructor(options: SnapshotFileOptions) {
    this.path = options.path;
    this.#options = options;
    this.#unfinished = `${options.path}.${randomBytes(4).toString('hex')}${UNFINISHED}`;
  }

  /** Resolves to whether it was written. One write at a time. */
  async write(header: SnapshotHeader, lines: Iterable<string>): Promise<boolean> {
    const next = this.#unfinished;
    try {
      if (!this.#isTidy) await removeUnfinished(this.path);
      this.#isTidy = true;
      await writeDurably(next, encodeSnapshot(header, lines));
      await rename(next, this.path);
      await syncFolder(dirname(this.path));
      if (this.failure !== '') this.#options.log.info(`snapshot ${this.path}: it is written again`);
      this.failure = '';
      return true;
    } catch (error) {
      await unlink(next).catch(() => undefined);
      this.#fail('is not written', systemReason(error));
      return false;
    }
  }

  /** Undefined where there is none, or none that is of use. */
  async read<H extends SnapshotHeader>(): Promise<Snapshot<H> | undefined> {
    try {
      return decodeSnapshot<H>(await readWhole(this.path, this.#maxBytes), this.#options);
    } catch (error) {
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      if (!isMissing) this.refuse(systemReason(error));
      return undefined;
    }
  }

  /** A file whose content proves to be of no use while it is read. */
  refuse(reason: string): void {
    this.#fail('is not used', reason);
  }

  /** Content that cannot be packed is some bytes longer. */
  get #maxBytes(): number {
    const { maxContentBytes = MAX_CONTENT_BYTES } = this.#options;
    return Math.min(MAX_BYTES, maxContentBytes + 2 * MAX_HEADER_BYTES);
  }

  #fail(what: string, reason: string): void {
    if (reason !== this.failure) this.#options.log.warn(`snapshot ${this.path} ${what}: ${reason}`);
    this.failure = reason;
  }
}

/** Removes what processes that were killed have left beside a file. */
async function removeUnfinished(path: string): Promise<void> {
  const folder = dirname(path);
  for await (const { name } of await opendir(folder)) {
    if (!name.startsWith(`${basename(path)}.`) || !name.endsWith(UNFINISHED)) continue;
    const left = join(folder, name);
    try {
      if (Date.now() - (await lstat(left)).mtimeMs > LEFT_MS) await unlink(left);
    } catch {
      // Another process has removed it, or put it in place.
    }
  }
}

async function writeDurably(path: string, chunks: AsyncIterable<Buffer>): Promise<void> {
  const { O_WRONLY, O_CREAT, O_EXCL } = constants;
  const file = await open(path, O_WRONLY | O_CREAT | O_EXCL, MODE);
  try {
    for await (const chunk of chunks) await file.writeFile(chunk);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** So that the new name survives a crash of the machine, too. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, READ_FLAGS);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function readWhole(path: string, maxBytes: number): Promise<Buffer> {
  const file = await open(path, READ_FLAGS);
  try {
    const stat = await file.stat();
    const { size } = stat;
    if (!stat.isFile()) throw new SnapshotError('it is no regular file');
    if (size > maxBytes) throw new SnapshotError(`it has more than ${maxBytes} bytes`);
    const bytes = Buffer.alloc(size);
    const { bytesRead } = await file.read(bytes, 0, size, 0);
    return bytes.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
