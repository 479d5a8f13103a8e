import { type Trace, TraceKind } from '@kube-dns/base';
import { ConfigError, type ConfiguredHosts, isIpAddress } from '@kube-dns/daemon';
import {
  addNamesAbove,
  addressBytes,
  type AnswerWriter,
  decodeName,
  encodeKey,
  encodeReverseName,
  isInZone,
  NameTable,
  SECTION,
  TYPE,
} from '@kube-dns/wire';
import type { LocalNames } from '../answer/local-names.js';
import type { ZoneChanges } from '../subscription/announced-records.js';
import { type HostRecords, hostRecords, isSameHost } from '../watch/projections.js';
import { HostAnswers } from './host-answers.js';
import type { ShownHost } from './outside-json.js';
import { ReverseNames } from './reverse-names.js';

export interface StaticHostsOptions {
  /** The cluster's zone: none of its names can be given here. */
  readonly zone: { readonly apex: Uint8Array; readonly soaRdata: Uint8Array };
  readonly ttlSeconds: number;
  readonly negativeTtlSeconds: number;
  readonly changes: ZoneChanges;
}

/** The name of the key `hosts` that a question led to. */
export const STATIC_HOST_FOUND = new TraceKind<true>();

/** The names of the ConfigMap's key `hosts`, and the reverse names of their addresses. */
export class StaticHosts implements LocalNames {
  readonly #options: StaticHostsOptions;
  readonly #answers: HostAnswers;
  #names = new NameTable<HostRecords>();
  #reverse = new ReverseNames();
  /** The names above these, and above the reverse names. */
  #above = new NameTable<true>();
  /** Undefined where the name that was found is a reverse one. */
  #found: HostRecords | undefined;

  constructor(options: StaticHostsOptions) {
    this.#options = options;
    this.#answers = new HostAnswers(options.ttlSeconds);
  }

  readonly isSynced = true;

  get size(): number {
    return this.#names.size;
  }

  /** Each name with its addresses. */
  *hosts(): Generator<ShownHost> {
    for (const [name, records] of this.#names.entries()) yield { host: decodeName(name), records };
  }

  /** Throws a ConfigError for names of the cluster's zone, which are the cluster's alone. */
  check({ lines }: ConfiguredHosts): void {
    const { apex } = this.#options.zone;
    const mistakes = Array.from(lines).flatMap(([host, line]) => {
      const name = encodeKey(host);
      if (!isInZone(name, name.length, apex)) return [];
      return [`hosts: line ${line}: ${host} is in the zone of the cluster`];
    });
    if (mistakes.length > 0) throw new ConfigError(mistakes);
  }

  /** Puts other names in place of the present ones, all at the last step, and announces those that change. */
  *applying({ addresses, canonical }: ConfiguredHosts): Iterator<void> {
    const before = this.#names;
    const names = new NameTable<HostRecords>();
    const reverse = new ReverseNames();
    const above = new NameTable<true>();
    for (const [host, all] of addresses) {
      const records = hostRecords(
        all.map((ip) => ({ ip })),
        ignore,
      );
      if (records !== undefined) names.set(encodeKey(host), records);
      yield;
    }
    for (const [address, host] of canonical) {
      if (isIpAddress(address)) reverse.add(reverseOf(address), encodeKey(host));
      yield;
    }
    for (const [name] of names.entries()) {
      addNamesAbove(above, name, true);
      yield;
    }
    for (const name of reverse.names()) {
      addNamesAbove(above, name, true);
      yield;
    }
    this.#announce(before, names, [this.#reverse, reverse]);
    this.#names = names;
    this.#reverse = reverse;
    this.#above = above;
  }

  #announce(
    before: NameTable<HostRecords>,
    after: NameTable<HostRecords>,
    reverse: readonly ReverseNames[],
  ): void {
    const { changes } = this.#options;
    if (!changes.isObserved) return;
    for (const [one, other] of [
      [before, after],
      [after, before],
    ] as const) {
      for (const [name, records] of one.entries()) {
        if (!isSameHost(records, other.get(name, 0, name.length))) changes.add(name);
      }
    }
    for (const names of reverse) for (const name of names.names()) changes.add(name);
  }

  find(name: Uint8Array, length: number, trace?: Trace): boolean {
    this.#found = this.#names.get(name, 0, length);
    if (this.#found === undefined && !this.#reverse.find(name, length)) return false;
    trace?.note(STATIC_HOST_FOUND, true);
    return true;
  }

  isAbove(name: Uint8Array, length: number): boolean {
    return this.#above.get(name, 0, length) !== undefined;
  }

  targetOf(): undefined {
    return undefined;
  }

  answer(type: number, writer: AnswerWriter, owner?: Uint8Array): void {
    const { zone, ttlSeconds, negativeTtlSeconds } = this.#options;
    const found = this.#found;
    const isAnswered =
      found === undefined
        ? this.#reverse.answer(type, ttlSeconds, writer, owner)
        : this.#answers.add(found, type, owner, writer);
    if (isAnswered) return;
    // As of any name that has no zone of its own here: RFC 2308 section 3.
    writer.add(SECTION.AUTHORITY, owner, TYPE.SOA, negativeTtlSeconds, zone.soaRdata);
  }
}

function reverseOf(address: string): Uint8Array {
  return encodeReverseName(addressBytes(address));
}

/** The configuration was checked. */
function ignore(): void {
  return undefined;
}
