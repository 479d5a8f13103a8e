import { close, open, read, readdir, stat } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Log } from '@kube-dns/daemon';
import { parseAddress } from '@kube-dns/wire';
import { systemText } from '../errors.js';
import { HostsFileName } from './hosts-file-name.js';
import type { HostsTable } from './hosts-table.js';

export interface HostsFilesOptions {
  /** Files, or directories of them. */
  readonly paths: readonly string[];
  /** The domain that is appended to names without a dot, as a second name; empty is none. */
  readonly domain: string;
  readonly log: Log;
  /** Milliseconds that never fall; the clock of the process by default. */
  readonly now?: () => number;
}

const CHUNK_BYTES = 65_536;
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
export function isHostsFile(name: string): boolean {
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
  const fd = await openFile(file, 'r');
  try {
    const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
    for (;;) {
      const { bytesRead } = await readPart(fd, chunk, 0, CHUNK_BYTES, null);
      if (bytesRead === 0) return;
      yield chunk.toString('latin1', 0, bytesRead);
    }
  } finally {
    await closeFile(fd);
  }
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
