import { close, fstat, type FSWatcher, open, read, readdir, stat, watch } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { errorText } from '@kube-dns/base';
import { type Log, READ_FLAGS } from '@kube-dns/daemon';
import { NONE } from '@kube-dns/resolver';
import { lowerCaseByte, MAX_NAME_BYTES, parseAddress, TYPE } from '@kube-dns/wire';
import { systemText } from '../errors.js';
import { ByteArena, ByteIndex, NumberColumn } from './byte-index.js';
import type { FoundRecords } from './local-records.js';

const IPV4_BYTES = 4;
const IPV6_BYTES = 16;
/** Maximum of addresses of one family per name; more would not fit an answer over UDP. */
const MAX_ADDRESSES = 1_024;

/** An address of a name. */
export interface HostsEntry {
  /** In wire form; as it was written where it is the reverse of the address, else lower-cased. */
  readonly name: Uint8Array;
  readonly address: Uint8Array;
  readonly isReverse: boolean;
  readonly file: string;
}

/**
 * The names and addresses of hosts files. It is filled once and never changed: reading the files again
 * makes a new one.
 *
 *     name ─▶ first link ─▶ … ─▶ last link          each link is one address of the name
 *                 │                  │
 *                 ▼                  ▼
 *              address            address ─▶ place of the name of its PTR
 *
 * It consists of columns of numbers and blocks of bytes: with 100,000 lines as objects the garbage
 * collector would stop the process for 50 ms.
 */
export class HostsTable {
  readonly #arena = new ByteArena();
  /** Lower-cased names in wire form, and the names above them, which have no link. */
  readonly #names = new ByteIndex(this.#arena);
  readonly #firstLinks = new NumberColumn();
  readonly #lastLinks = new NumberColumn();
  readonly #linkAddresses = new NumberColumn();
  readonly #linkNext = new NumberColumn();
  /** By link: the index of its file. */
  readonly #linkFiles = new NumberColumn();
  readonly #files: string[] = [];
  /** Addresses of both families as bytes. */
  readonly #addresses = new ByteIndex(this.#arena);
  /** By address: its name as it was written. */
  readonly #reversePlaces = new NumberColumn();
  readonly #reverseLengths = new NumberColumn();
  /** The results of `find` and `nameOf`; as many as the largest set so far. */
  readonly #shown: Record<typeof IPV4_BYTES | typeof IPV6_BYTES, Uint8Array[]> = {
    [IPV4_BYTES]: [],
    [IPV6_BYTES]: [],
  };
  /** By length. */
  readonly #shownNames: Uint8Array[] = [];

  /** Names added from now on are from this file. */
  beginFile(path: string): void {
    this.#files.push(path);
  }

  /** The file that an address of a name is from; undefined when the name does not have it. */
  fileOf(name: Uint8Array, address: Uint8Array): string | undefined {
    const key = this.#names.find(name, 0, name.length);
    const wanted = this.#addresses.find(address, 0, address.length);
    if (key === NONE || wanted === NONE) return undefined;
    for (let link = this.#firstLinks.at(key); link !== NONE; link = this.#linkNext.at(link)) {
      if (this.#linkAddresses.at(link) === wanted) return this.#files[this.#linkFiles.at(link)];
    }
    return undefined;
  }

  /** The number of names, including those that only have others below them. */
  get size(): number {
    return this.#names.size;
  }

  /**
   * Adds a name with an address in wire form; both are copied. The first name of an address is its
   * reverse; an address that the name has already is ignored, and so are those beyond
   * MAX_ADDRESSES.
   */
  add(
    { key, written, length }: Pick<HostsFileName, 'key' | 'written' | 'length'>,
    bytes: Uint8Array,
  ): void {
    const name = this.#nameOf(key, length);
    const address = this.#addresses.add(bytes, 0, bytes.length);
    if (address === this.#reversePlaces.length) {
      const place = this.#names.placeOf(name);
      const isSame = this.#arena.isAt(place, written, 0, length);
      this.#reversePlaces.push(isSame ? place : this.#arena.put(written, 0, length));
      this.#reverseLengths.push(length);
    }
    this.#link(name, address, bytes.length);
  }

  /** Every address of every name. */
  *entries(): Generator<HostsEntry, void> {
    for (let key = 0; key < this.size; key++) {
      const name = new Uint8Array(this.#names.lengthOf(key));
      this.#arena.copy(this.#names.placeOf(key), name);
      for (let link = this.#firstLinks.at(key); link !== NONE; link = this.#linkNext.at(link)) {
        const number = this.#linkAddresses.at(link);
        const address = new Uint8Array(this.#addresses.lengthOf(number));
        this.#arena.copy(this.#addresses.placeOf(number), address);
        const reverse = Uint8Array.from(this.nameOf(address, address.length)!);
        const isReverse = Buffer.compare(reverse.map(lowerCaseByte), name) === 0;
        const file = this.#files[this.#linkFiles.at(link)]!;
        yield { name: isReverse ? reverse : name, address, isReverse, file };
      }
    }
  }

  /** Whether there are hosts at the name or below it. */
  hasName(name: Uint8Array, start: number, end: number): boolean {
    return this.#names.find(name, start, end) !== NONE;
  }

  /** Whether the name has addresses of either family. */
  hasHost(name: Uint8Array, start: number, end: number): boolean {
    const key = this.#names.find(name, start, end);
    return key !== NONE && this.#firstLinks.at(key) !== NONE;
  }

  /** Adds the addresses of a type to `found`; they are valid until the next `find`. */
  find(
    name: Uint8Array,
    start: number,
    end: number,
    type: number,
    ttlSeconds: number,
    found: FoundRecords,
  ): void {
    const key = this.#names.find(name, start, end);
    if (key === NONE) return;
    const length = type === TYPE.A ? IPV4_BYTES : IPV6_BYTES;
    const shown = this.#shown[length];
    let count = 0;
    for (let link = this.#firstLinks.at(key); link !== NONE; link = this.#linkNext.at(link)) {
      const address = this.#linkAddresses.at(link);
      if (this.#addresses.lengthOf(address) !== length) continue;
      const rdata = (shown[count++] ??= new Uint8Array(length));
      this.#arena.copy(this.#addresses.placeOf(address), rdata);
      found.add(rdata, ttlSeconds);
    }
  }

  /** The name of an address of 4 or 16 bytes; it is valid until the next call. */
  nameOf(address: Uint8Array, length: number): Uint8Array | undefined {
    const key = this.#addresses.find(address, 0, length);
    if (key === NONE) return undefined;
    const nameLength = this.#reverseLengths.at(key);
    const name = (this.#shownNames[nameLength] ??= new Uint8Array(nameLength));
    this.#arena.copy(this.#reversePlaces.at(key), name);
    return name;
  }

  /** The number of a name, which is added with the names above it. */
  #nameOf(key: Uint8Array, end: number): number {
    const before = this.#names.size;
    const name = this.#names.add(key, 0, end);
    if (this.#names.size === before) return name;
    this.#noLinks();
    const place = this.#names.placeOf(name);
    for (let at = key[0]! + 1; at < end - 1; at += key[at]! + 1) {
      const { size } = this.#names;
      this.#names.add(key, at, end, place + at);
      // The names above an existing name exist, too.
      if (this.#names.size === size) break;
      this.#noLinks();
    }
    return name;
  }

  #noLinks(): void {
    this.#firstLinks.push(NONE);
    this.#lastLinks.push(NONE);
  }

  #link(name: number, address: number, length: number): void {
    let count = 0;
    for (let link = this.#firstLinks.at(name); link !== NONE; link = this.#linkNext.at(link)) {
      const existing = this.#linkAddresses.at(link);
      if (existing === address) return;
      if (this.#addresses.lengthOf(existing) === length && ++count === MAX_ADDRESSES) return;
    }
    const link = this.#linkAddresses.push(address);
    this.#linkNext.push(NONE);
    this.#linkFiles.push(this.#files.length - 1);
    const last = this.#lastLinks.at(name);
    if (last === NONE) this.#firstLinks.set(name, link);
    else this.#linkNext.set(last, link);
    this.#lastLinks.set(name, link);
  }
}

interface HostsFilesOptions {
  /** Files, or directories of them. */
  readonly paths: readonly string[];
  /** The domain that is appended to names without a dot, as a second name; empty is none. */
  readonly domain: string;
  readonly log: Log;
  /** Milliseconds that never fall; the clock of the process by default. */
  readonly now?: () => number;
}

const CHUNK_BYTES = 65_536;
/** A larger file is no hosts file; long lists of blocked names have 10 MB. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;
/** A longer line is cut: it is not a line of a hosts file. */
const MAX_LINE = 65_536;
/** How long names are read before queries get a turn, checked after this many names. */
const TURN_MS = 4;
const NAMES_PER_LOOK = 32;
/** How many bad lines of a file are logged. */
const MAX_COMPLAINTS = 10;
const NO_ADDRESS = new Uint8Array(0);
// Not `promises` or a stream, which load Node's readline: 0.4 MiB.
const statOf = promisify(stat);
const namesIn = promisify(readdir);
const openFile = promisify(open);
const readPart = promisify(read);
const closeFile = promisify(close);
const statOfOpen = promisify(fstat);

/**
 * Reads hosts files into a table, in pieces, so that queries are answered meanwhile. What cannot be read
 * is logged in dnsmasq's words and left out (src/cache.c, read_hostsfile).
 */
export async function readHostsFiles(table: HostsTable, options: HostsFilesOptions): Promise<void> {
  const { paths, log } = options;
  for (const path of paths) {
    for (const file of await filesOf(path, log)) {
      try {
        await readHostsFile(table, file, options);
      } catch (error) {
        log.error(`failed to load names from ${file}: ${systemText(error)}`);
      }
    }
  }
}

async function filesOf(path: string, log: Log): Promise<string[]> {
  try {
    const found = await statOf(path);
    // A pipe or a device may be endless.
    if (!found.isDirectory() && !found.isFile()) throw new Error('not a regular file');
    if (found.isFile()) return [path];
    const names = (await namesIn(path)).filter(isHostsFile).sort();
    const files: string[] = [];
    for (const name of names) {
      if ((await statOf(join(path, name))).isFile()) files.push(join(path, name));
    }
    return files;
  } catch (error) {
    log.error(`failed to load names from ${path}: ${systemText(error)}`);
    return [];
  }
}

/** Whether a name in a directory is that of a hosts file: no backup, and not hidden. */
function isHostsFile(name: string): boolean {
  if (name.startsWith('.') || name.endsWith('~')) return false;
  return !(name.startsWith('#') && name.endsWith('#'));
}

async function readHostsFile(
  table: HostsTable,
  file: string,
  { domain, log, now = () => performance.now() }: HostsFilesOptions,
): Promise<void> {
  const reader = new HostsLines(table, file, domain, log);
  table.beginFile(file);
  let rest = '';
  for await (const chunk of chunksOf(file)) {
    const lines = (rest + chunk).split('\n');
    rest = (lines.pop() ?? '').slice(0, MAX_LINE);
    await readLines(reader, lines, now);
  }
  if (rest !== '') await readLines(reader, [rest], now);
  reader.finish();
}

async function* chunksOf(file: string): AsyncGenerator<string> {
  const fd = await openFile(file, READ_FLAGS);
  try {
    // Before any name of it is there; it can also grow, and those of /proc have no size.
    if ((await statOfOpen(fd)).size > MAX_FILE_BYTES) throw tooLarge();
    let bytes = 0;
    const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
    for (;;) {
      const { bytesRead } = await readPart(fd, chunk, 0, CHUNK_BYTES, null);
      if (bytesRead === 0) return;
      bytes += bytesRead;
      if (bytes > MAX_FILE_BYTES) throw tooLarge();
      yield chunk.toString('latin1', 0, bytesRead);
    }
  } finally {
    await closeFile(fd);
  }
}

function tooLarge(): Error {
  return new Error(`larger than ${MAX_FILE_BYTES} bytes`);
}

/** Reads lines in turns: one line may have as many names as a file. */
async function readLines(
  reader: HostsLines,
  lines: readonly string[],
  now: () => number,
): Promise<void> {
  let startedAtMs = now();
  let names = 0;
  for (const line of lines) {
    for (const name of reader.begin(line)) {
      reader.add(name);
      if (++names % NAMES_PER_LOOK !== 0 || now() - startedAtMs < TURN_MS) continue;
      await nextTurn();
      startedAtMs = now();
    }
  }
}

/** Reads the lines of one file. */
export class HostsLines {
  #lines = 0;
  #names = 0;
  #complaints = 0;
  #address: Uint8Array = NO_ADDRESS;
  readonly #name = new HostsFileName();
  readonly #table: HostsTable;
  readonly #file: string;
  readonly #domain: string;
  readonly #log: Log;

  constructor(table: HostsTable, file: string, domain: string, log: Log) {
    this.#table = table;
    this.#file = file;
    this.#domain = domain;
    this.#log = log;
  }

  /** Begins a line, as bytes: `address name… # comment`. Returns its names, which are to be added. */
  begin(line: string): readonly string[] {
    this.#lines++;
    const comment = line.indexOf('#');
    const [addressText = '', ...names] = (comment < 0 ? line : line.slice(0, comment))
      .split(/\s+/)
      .filter(Boolean);
    if (addressText === '') return [];
    const address = parseAddress(addressText);
    if (address === undefined) {
      this.#complain('address');
      return [];
    }
    this.#address = address;
    return names;
  }

  /** Adds a name of the line that was begun last. */
  add(text: string): void {
    const isShort = this.#domain !== '' && !text.includes('.');
    // The longer name is first: it becomes the PTR of the address.
    for (const name of isShort ? [`${text}.${this.#domain}`, text] : [text]) {
      if (!this.#name.read(name)) {
        this.#complain('name');
        return;
      }
      this.#table.add(this.#name, this.#address);
      this.#names++;
    }
  }

  finish(): void {
    const more = this.#complaints - MAX_COMPLAINTS;
    if (more > 0) this.#log.error(`${more} more bad lines in ${this.#file}`);
    this.#log.info(`read ${this.#file} - ${this.#names} names`);
  }

  #complain(what: 'address' | 'name'): void {
    this.#complaints++;
    if (this.#complaints <= MAX_COMPLAINTS) {
      this.#log.error(`bad ${what} at ${this.#file} line ${this.#lines}`);
    }
  }
}

interface HostsFolderOptions {
  readonly path: string;
  /** As for {@link readHostsFiles}. */
  readonly domain: string;
  readonly log: Log;
}

/** Files are written in several steps; they are read after this time without a change. */
const SETTLE_MS = 100;

/** A directory of hosts files that is watched (`--hostsdir`): a change becomes active without SIGHUP. */
export class HostsFolder {
  readonly #options: HostsFolderOptions;
  readonly #onChange: () => void;
  #table = new HostsTable();
  #watcher: FSWatcher | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isReading = false;
  #isStale = false;
  #isClosed = false;

  /** `onChange` is called with every new table. */
  constructor(options: HostsFolderOptions, onChange: () => void) {
    this.#options = options;
    this.#onChange = onChange;
  }

  get table(): HostsTable {
    return this.#table;
  }

  /** Reads the directory, and watches it from now on; a missing one is only logged. */
  async load(): Promise<void> {
    if (this.#watcher === undefined && !this.#isClosed) this.#follow();
    await this.#read();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#watcher?.close();
  }

  #follow(): void {
    const { path, log } = this.#options;
    try {
      const watcher = watch(path, () => this.#settle());
      watcher.on('error', (error) => {
        log.error(`cannot follow ${path} any more: ${errorText(error)}`);
        watcher.close();
        this.#watcher = undefined;
      });
      this.#watcher = watcher;
    } catch (error) {
      log.error(`bad dynamic directory ${path}: ${errorText(error)}`);
    }
  }

  #settle(): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#read(), SETTLE_MS).unref();
  }

  /** Never rejects: what cannot be read is logged and left out. */
  async #read(): Promise<void> {
    this.#isStale = true;
    if (this.#isReading) return;
    this.#isReading = true;
    while (this.#isStale && !this.#isClosed) {
      this.#isStale = false;
      const table = new HostsTable();
      const { path, domain, log } = this.#options;
      await readHostsFiles(table, { paths: [path], domain, log });
      this.#table = table;
      this.#onChange();
    }
    this.#isReading = false;
  }
}

const DOT = 0x2e;
const MAX_LABEL_BYTES = 63;

/** A name of a hosts file in wire form. One object reads them all, because there may be 100,000. */
export class HostsFileName {
  /** As it is written, and lower-cased; the first `length` bytes count. */
  readonly written = new Uint8Array(MAX_NAME_BYTES);
  readonly key = new Uint8Array(MAX_NAME_BYTES);
  length = 0;

  /**
   * Reads a text of one byte per character, with or without a final dot; false when it is no name of a host.
   * A backslash is an ordinary character in these files.
   */
  read(text: string): boolean {
    const { written, key } = this;
    const end = text.endsWith('.') ? text.length - 1 : text.length;
    // A byte for each character, one more for the first label's length, and one for the root.
    if (end < 1 || end + 2 > MAX_NAME_BYTES) return false;
    let labelAt = 0;
    for (let i = 0; i <= end; i++) {
      const byte = i === end ? DOT : text.charCodeAt(i);
      if (byte !== DOT) {
        written[i + 1] = byte;
        key[i + 1] = lowerCaseByte(byte);
        continue;
      }
      const length = i - labelAt;
      if (length === 0 || length > MAX_LABEL_BYTES) return false;
      written[labelAt] = length;
      key[labelAt] = length;
      labelAt = i + 1;
    }
    written[labelAt] = 0;
    key[labelAt] = 0;
    this.length = labelAt + 1;
    return true;
  }
}
