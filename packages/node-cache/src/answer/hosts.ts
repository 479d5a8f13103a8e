import { statSync } from 'node:fs';
import { errorText, TraceKind } from '@kube-dns/base';
import { isDnsSubdomain, type Log, readTextFile } from '@kube-dns/daemon';
import {
  AnswerWriter,
  encodeKey,
  encodeName,
  encodeReverseName,
  EXTENDED_ERROR,
  extendedErrorOption,
  NameTable,
  parseAddress,
  type Query,
  RCODE,
  RCODE_MASK,
  readUint16,
  SECTION,
  TYPE,
} from '@kube-dns/wire';
import type { HostsRules } from '../corefile/server-block.js';
import { type ZoneSet, zoneSet } from './zones.js';

/** A larger file would block the loop: its names belong into the DNS that is forwarded to. */
const MAX_BYTES = 4 * 1024 * 1024;

/** The rcode of an answer of the hosts file. */
export const HOSTS_ANSWER = new TraceKind<number>();

/** The plugin `hosts` of a block, with its file as it is now. */
export class HostsFile {
  readonly #rules: HostsRules;
  readonly #zones: readonly string[];
  readonly #log: Log;
  readonly #timer: NodeJS.Timeout | undefined;
  #hosts: Hosts;
  /** Since 1970; 0 before it was read. */
  readAtSeconds = 0;
  #version = '';
  #failure = '';

  constructor(rules: HostsRules, zones: readonly string[], log: Log) {
    this.#rules = rules;
    this.#zones = zones;
    this.#log = log;
    this.#hosts = new Hosts(rules, '', zones);
    this.refresh();
    if (rules.reloadMs > 0) {
      this.#timer = setInterval(() => this.refresh(), rules.reloadMs).unref();
    }
  }

  /** As of Hosts. */
  get size(): number {
    return this.#hosts.size;
  }

  answer(query: Query, out: Uint8Array): number {
    const length = this.#hosts.answer(query, out);
    if (length > 0) query.trace?.note(HOSTS_ANSWER, readUint16(out, 2) & RCODE_MASK);
    return length;
  }

  /** Reads the file if it has changed; one that cannot be read leaves what it had. */
  refresh(): void {
    const { file } = this.#rules;
    try {
      const { mtimeMs, size, ino } = statSync(file);
      const version = `${ino} ${size} ${mtimeMs}`;
      if (version === this.#version) return;
      this.#hosts = new Hosts(this.#rules, readTextFile(file, MAX_BYTES), this.#zones);
      this.#version = version;
      this.readAtSeconds = Date.now() / 1_000;
      this.#failure = '';
    } catch (error) {
      const failure = errorText(error);
      if (failure !== this.#failure) this.#log.warn(`plugin/hosts: ${file}: ${failure}`);
      this.#failure = failure;
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

/** The addresses of a name, or the names of an address. */
interface Host {
  readonly ipv4: Uint8Array[];
  readonly ipv6: Uint8Array[];
  readonly names: Uint8Array[];
}

const IPV4_BYTES = 4;
const NO_RECORDS: readonly Uint8Array[] = [];

// Why there is no better answer, as options of answers to clients with EDNS (RFC 8914).
/** Of `hosts` without `fallthrough`. */
const NOT_IN_HOSTS = extendedErrorOption(EXTENDED_ERROR.OTHER, 'not in hosts');

/** The plugin `hosts`: answers from lines of a hosts file. Immutable; another text makes another one. */
class Hosts {
  readonly #rules: HostsRules;
  readonly #zones: ZoneSet<true>;
  readonly #next: ZoneSet<true>;
  readonly #hosts = new NameTable<Host>();
  readonly #writer = new AnswerWriter();

  /** `text` is that of the file; `zones` are those of the block, where the rules name none. */
  constructor(rules: HostsRules, text: string, zones: readonly string[]) {
    this.#rules = rules;
    this.#zones = zoneSet(rules.zones.length === 0 ? zones : rules.zones);
    this.#next = zoneSet(rules.fallthrough ?? []);
    for (const line of [...text.split('\n'), ...rules.lines]) this.#addLine(line);
  }

  /** How many names and addresses it has. */
  get size(): number {
    return this.#hosts.size;
  }

  /**
   * Writes the answer and returns its length; 0 where the question goes on. A name that is not there has no SOA for
   * NXDOMAIN: it gets SERVFAIL, unless it goes on (coredns plugin/hosts/hosts.go).
   */
  answer(query: Query, out: Uint8Array): number {
    const { name, nameLength, type } = query;
    const host = this.#hosts.get(name, 0, nameLength);
    if (type === TYPE.PTR && (host?.names.length ?? 0) === 0) return 0;
    if (type !== TYPE.PTR && this.#zones.find(name, nameLength) !== true) return 0;
    if (host === undefined && this.#next.find(name, nameLength) === true) return 0;
    this.#writer.begin(query, out);
    if (host === undefined) {
      this.#writer.setRcode(RCODE.SERVFAIL, NOT_IN_HOSTS);
      return this.#writer.finish();
    }
    this.#writer.setAuthoritative();
    for (const rdata of recordsOf(host, type)) {
      this.#writer.add(SECTION.ANSWER, undefined, type, this.#rules.ttlSeconds, rdata);
    }
    return this.#writer.finish();
  }

  /** `address name…`; what is no such line is left out, as CoreDNS does. */
  #addLine(line: string): void {
    const [address = '', ...names] = line.replace(/#.*/s, '').trim().split(/\s+/);
    const bytes = parseAddress(address);
    if (bytes === undefined) return;
    for (const each of names) {
      const name = each.replace(/\.$/, '');
      if (!isDnsSubdomain(name.toLowerCase().replaceAll('_', '-'))) continue;
      const host = this.#hostOf(encodeKey(name));
      (bytes.length === IPV4_BYTES ? host.ipv4 : host.ipv6).push(bytes);
      if (this.#rules.hasReverse) {
        this.#hostOf(encodeReverseName(bytes)).names.push(encodeName(name));
      }
    }
  }

  #hostOf(key: Uint8Array): Host {
    const existing = this.#hosts.get(key, 0, key.length);
    if (existing !== undefined) return existing;
    const host: Host = { ipv4: [], ipv6: [], names: [] };
    this.#hosts.set(key, host);
    return host;
  }
}

function recordsOf({ ipv4, ipv6, names }: Host, type: number): readonly Uint8Array[] {
  switch (type) {
    case TYPE.A:
      return ipv4;
    case TYPE.AAAA:
      return ipv6;
    case TYPE.PTR:
      return names;
    default:
      return NO_RECORDS;
  }
}
