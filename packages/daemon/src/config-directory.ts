import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { type FSWatcher, promises, readdir, readlink, watch } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { errorText, MAX_TIMER_MS, systemReason } from '@kube-dns/base';
import {
  ConfigChangingError,
  ConfigDirectoryError,
  ConfigError,
  ConfigMissingError,
} from './errors.js';
import type { Log } from './log.js';
import { READ_FLAGS } from './text-file.js';

/** The files of a configuration directory at one moment. */
export interface ConfigFiles {
  /** SHA-256 over names and contents, lower-case hex; '' when there is no file. */
  readonly version: string;
  /** Content by file name, in name order. */
  readonly files: ReadonlyMap<string, string>;
}

const MAX_FILES = 256;
const MAX_FILE_BYTES = 1024 * 1024;
const MAX_TOTAL_BYTES = 4 * MAX_FILE_BYTES;
/** The link that kubelet swaps to replace all files of a ConfigMap volume atomically. */
const DATA_LINK = '..data';
const MAX_TRIES = 3;
// Not those of `promises`, which loads Node's readline, 0.4 MiB: most pods have no file to read.
const readLink = promisify(readlink);
const readFolder = promisify(readdir);

/**
 * Reads the plain files of a directory, without those that start with a dot and without sub-directories.
 * In a ConfigMap volume these are the files behind the link `..data`, all of one version: a swap during
 * the read restarts it. Rejects with a ConfigDirectoryError that names the file: a ConfigMissingError without
 * the directory, a ConfigChangingError after several swaps. After kubernetes/dns pkg/dns/config/sync_dir.go.
 */
export async function readConfigDirectory(path: string): Promise<ConfigFiles> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const data = await dataLink(path);
    const outcome = await readFiles(path, data).catch((error: unknown) => unreadable(path, error));
    // kubelet removes the old version after a swap, so it may have been read only in part.
    if ((await dataLink(path)) !== data) continue;
    if (outcome instanceof ConfigDirectoryError) throw outcome;
    return outcome;
  }
  throw new ConfigChangingError(`${path}: changes while it is read`);
}

async function dataLink(path: string): Promise<string> {
  try {
    return await readLink(join(path, DATA_LINK));
  } catch {
    return ''; // an ordinary directory has none
  }
}

/**
 * kubelet adds and removes the links of the keys after it swaps `..data` (kubernetes
 * pkg/volume/util/atomic_writer.go, Write). So the links are not read; only errors name them.
 */
async function readFiles(path: string, data: string): Promise<ConfigFiles> {
  const folder = data === '' ? path : resolve(path, data);
  const names = (await readNames(folder, data !== '')).filter((name) => !name.startsWith('.'));
  if (names.length > MAX_FILES) {
    throw new ConfigDirectoryError(`${path}: more than ${MAX_FILES} files`);
  }
  const files = new Map<string, string>();
  let totalBytes = 0;
  for (const name of sortByBytes(names)) {
    const content = await readPlainFile(join(folder, name), join(path, name));
    if (content === null) continue;
    totalBytes += content.length;
    if (totalBytes > MAX_TOTAL_BYTES) {
      throw new ConfigDirectoryError(`${path}: more than ${MAX_TOTAL_BYTES} bytes`);
    }
    if (!isUtf8(content)) throw new ConfigDirectoryError(`${join(path, name)}: not valid UTF-8`);
    files.set(name, content.toString('utf8'));
  }
  return { version: configVersion(files), files };
}

/**
 * The version of a configuration: SHA-256 over names and contents in their order, lower-case hex;
 * '' when there is no file. After kubernetes/dns pkg/dns/config/sync_dir.go.
 */
export function configVersion(files: ReadonlyMap<string, string>): string {
  if (files.size === 0) return '';
  const hash = createHash('sha256');
  for (const [name, content] of files) {
    hash.update(name).update('\0').update(content).update('\0');
  }
  return hash.digest('hex');
}

/** The data of a volume must exist; any other directory may come later. */
async function readNames(path: string, isData: boolean): Promise<string[]> {
  try {
    return await readFolder(path);
  } catch (error) {
    const failure = unreadable(path, error);
    const { code } = Object(error) as NodeJS.ErrnoException;
    if (code !== 'ENOENT' || isData) throw failure;
    throw new ConfigMissingError(failure.message, { cause: error });
  }
}

/** Go sorts names by their bytes, which is not JavaScript's order beyond U+FFFF. */
function sortByBytes(names: readonly string[]): string[] {
  return names
    .map((name) => Buffer.from(name))
    .sort((left, right) => left.compare(right))
    .map(String);
}

/** The content of a regular file, or null for a directory. Errors name the file as `path`. */
async function readPlainFile(location: string, path: string): Promise<Buffer | null> {
  let file: FileHandle | undefined;
  try {
    file = await promises.open(location, READ_FLAGS);
    const stat = await file.stat();
    if (stat.isDirectory()) return null;
    if (!stat.isFile()) throw new ConfigDirectoryError(`${path}: not a plain file`);
    return await readBounded(file, path);
  } catch (error) {
    throw unreadable(path, error);
  } finally {
    await file?.close();
  }
}

/** Counts the bytes instead of asking for the size first: the file can grow meanwhile. */
async function readBounded(file: FileHandle, path: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of file.createReadStream({ autoClose: false, end: MAX_FILE_BYTES })) {
    chunks.push(chunk as Buffer); // a stream without encoding yields buffers
    bytes += (chunk as Buffer).length;
  }
  if (bytes > MAX_FILE_BYTES) {
    throw new ConfigDirectoryError(`${path}: larger than ${MAX_FILE_BYTES} bytes`);
  }
  return Buffer.concat(chunks);
}

function unreadable(path: string, error: unknown): ConfigDirectoryError {
  if (error instanceof ConfigDirectoryError) return error;
  return new ConfigDirectoryError(`${path}: ${systemReason(error)}`, { cause: error });
}

/** Further mistakes are only counted: a configuration can hold a megabyte of them. */
const MAX_LINES = 20;

/** A configuration that was refused. */
export interface RefusedConfig {
  /** In ms since the epoch. */
  readonly atMs: number;
  /** One per mistake. */
  readonly reasons: readonly string[];
}

/** Logs why a configuration is refused: a line per mistake of a ConfigError, one for any other error; returns the reasons. */
export function logRefusedConfig(log: Log, error: unknown): RefusedConfig {
  const mistakes = error instanceof ConfigError ? error.mistakes : [errorText(error)];
  for (const mistake of mistakes.slice(0, MAX_LINES)) {
    log.error(`config: ${mistake}; keeping the previous configuration`);
  }
  const others = mistakes.length - MAX_LINES;
  if (others > 0) {
    log.error(`config: ${moreMistakes(others)}; keeping the previous configuration`);
  }
  return { atMs: Date.now(), reasons: mistakes.slice(0, MAX_LINES) };
}

/** `1 more mistake`. */
export function moreMistakes(count: number): string {
  return `${count} more ${count === 1 ? 'mistake' : 'mistakes'}`;
}

export interface ConfigDirectoryOptions {
  readonly path: string;
  readonly periodMs: number;
  readonly log: Log;
  /** Applies a new version, perhaps in several turns of the event loop; throws or rejects to refuse it. */
  readonly onChange: (files: ConfigFiles) => Promise<void> | void;
  /** Default: `readConfigDirectory`. */
  readonly read?: (path: string) => Promise<ConfigFiles>;
}

const MIN_PERIOD_MS = 100;
/** A swap of a ConfigMap volume is several file system events. */
const SETTLE_MS = 50;
/** A read that a change interrupts is repeated; this many in a row are a failure. */
const MAX_INTERRUPTED_READS = 20;

/**
 * Follows a configuration directory: delivers each new version once. A version that cannot be read, or
 * that `onChange` refuses, is logged once; the previous one stays active. One that does not exist yet is no
 * failure.
 * Polls, because that works on every volume; reacts sooner where the file system reports changes.
 */
export class ConfigDirectory {
  readonly #options: ConfigDirectoryOptions;
  readonly #periodMs: number;
  /** The version last delivered, refused or not; null before the first. */
  #version: string | null = null;
  #lastFailure = '';
  /** Whether the directory did not exist so far, and that was logged. */
  #isAwaited = false;
  #timer: NodeJS.Timeout | null = null;
  #watcher: FSWatcher | null = null;
  #isReading = false;
  /** Changes that the watcher has seen so far. */
  #changes = 0;
  #isSettling = false;
  #interruptedReads = 0;
  #isClosed = false;
  #rejected = 0;
  /** Of the last version that was read. */
  #refusedVersion: RefusedConfig | undefined;
  #refused: RefusedConfig | undefined;

  constructor(options: ConfigDirectoryOptions) {
    this.#options = options;
    this.#periodMs = Math.min(Math.max(options.periodMs, MIN_PERIOD_MS), MAX_TIMER_MS);
  }

  /** Reads once and delivers the version, then follows. Never rejects: failures are logged. */
  async start(): Promise<void> {
    await this.#poll();
  }

  /** How many versions could not be read or were refused. */
  get rejected(): number {
    return this.#rejected;
  }

  /** Why the version that is there now is not active; undefined when it is. */
  get refused(): RefusedConfig | undefined {
    return this.#refused;
  }

  /** Stops following; may be called twice. */
  close(): void {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#unwatch();
  }

  async #poll(): Promise<void> {
    if (this.#isReading || this.#isClosed) return;
    this.#isReading = true;
    this.#isSettling = false;
    const changesBefore = this.#changes;
    // Watching begins before the read: a change in between must not be missed.
    this.#watch();
    try {
      const { path, read = readConfigDirectory } = this.#options;
      await this.#deliver(await read(path));
      this.#interruptedReads = 0;
    } catch (error) {
      if (error instanceof ConfigChangingError) this.#interruptedReads++;
      else this.#interruptedReads = 0;
      if (!this.#isInterrupted()) {
        // Another directory may be in its place by now.
        this.#unwatch();
        this.#watch();
        if (error instanceof ConfigMissingError && this.#version === null) this.#noteMissing();
        else this.#logFailure(errorText(error));
      }
    }
    this.#isReading = false;
    const isUnchanged = this.#changes === changesBefore && !this.#isInterrupted();
    this.#schedule(isUnchanged ? this.#periodMs : SETTLE_MS);
  }

  /** Whether a change interrupted the last read, too few times in a row to be logged. */
  #isInterrupted(): boolean {
    return this.#interruptedReads > 0 && this.#interruptedReads < MAX_INTERRUPTED_READS;
  }

  async #deliver(files: ConfigFiles): Promise<void> {
    if (this.#isClosed) return;
    if (this.#lastFailure !== '') {
      this.#options.log.info(`config: ${this.#options.path} is readable again`);
      this.#lastFailure = '';
      this.#refused = this.#refusedVersion;
    } else if (this.#isAwaited) {
      this.#options.log.info(`config: ${this.#options.path} exists now`);
    }
    this.#isAwaited = false;
    if (files.version === this.#version) return;
    this.#version = files.version;
    try {
      await this.#options.onChange(files);
      this.#refusedVersion = undefined;
    } catch (error) {
      this.#rejected++;
      this.#refusedVersion = logRefusedConfig(this.#options.log, error);
    }
    this.#refused = this.#refusedVersion;
  }

  /** The volume of an optional ConfigMap: it may come later, or never. */
  #noteMissing(): void {
    if (this.#isClosed || this.#isAwaited) return;
    this.#isAwaited = true;
    this.#options.log.info(
      `config: ${this.#options.path} does not exist yet; it is read once it does`,
    );
  }

  /** The same failure recurs every period; it is logged once. */
  #logFailure(message: string): void {
    if (this.#isClosed || message === this.#lastFailure) return;
    this.#lastFailure = message;
    this.#rejected++;
    this.#refused = logRefusedConfig(this.#options.log, message);
  }

  #schedule(delayMs: number): void {
    if (this.#isClosed) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#poll(), delayMs);
    this.#timer.unref();
  }

  #watch(): void {
    if (this.#watcher !== null || this.#isClosed) return;
    try {
      this.#watcher = watch(this.#options.path, { persistent: false }, () => this.#noteChange());
      this.#watcher.on('error', () => this.#unwatch());
    } catch {
      /* no such directory, or no watching on this file system: polling continues */
    }
  }

  #unwatch(): void {
    this.#watcher?.close();
    this.#watcher = null;
  }

  /** The first event schedules the read: a stream of events must not delay it. */
  #noteChange(): void {
    this.#changes++;
    if (this.#isReading || this.#isSettling) return;
    this.#isSettling = true;
    this.#schedule(SETTLE_MS);
  }
}
