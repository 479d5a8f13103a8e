import { networkInterfaces } from 'node:os';
import { TraceKind } from '@kube-dns/base';
import type { Log } from '@kube-dns/daemon';
import type { Client } from '@kube-dns/transport';
import {
  AnswerWriter,
  CLASS,
  type Query,
  RCODE,
  ReverseAddress,
  SECTION,
  TYPE,
} from '@kube-dns/wire';
import {
  FILTERED_WINDOWS,
  GIVEN_ADDRESS,
  LOCAL_DOMAIN,
  PLAIN_NAME,
  PRIVATE_REVERSE,
  SYNTHESIZED,
} from '../explanations.js';
import { clientAddress, LocalAnswers, NearAddresses } from './local-answers.js';
import type { DnsmasqOptions } from '../options/option-table.js';
import type { ServerRule } from '../options/server-value.js';
import { isUnqualified } from '../routing/domain-index.js';
import { DomainRules } from './domain-rules.js';
import { type HostsEntry, HostsFolder, HostsTable, readHostsFiles } from './hosts-files.js';
import { interfaceRecords, StaticRecords } from './local-records.js';
import { isPrivateIpv4, isPrivateIpv6 } from '../answer/reply-filter.js';
import { SynthNames } from './synth-names.js';

/** The answer from hosts and static records, and that of a rule. */
export const LOCAL_ANSWER = new TraceKind<Uint8Array>();
export const RULE_ANSWER = new TraceKind<Uint8Array>();

const ETC_HOSTS = '/etc/hosts';
const UNDERSCORE = 0x5f;

export interface LocalDataOptions {
  readonly options: DnsmasqOptions;
  readonly log: Log;
  /** The hosts file of the machine; /etc/hosts unless given. */
  readonly etcHosts?: string;
  /** Called when other hosts files were read. */
  readonly onChange?: () => void;
}

/**
 * The answers without a server: hosts files, static records, the addresses of `--address`, local domains,
 * and questions that must not be forwarded.
 */
export class LocalData {
  readonly #options: DnsmasqOptions;
  readonly #log: Log;
  readonly #onChange: (() => void) | undefined;
  readonly #paths: readonly string[];
  readonly #folders: readonly HostsFolder[];
  readonly #answers: LocalAnswers;
  readonly #writer = new AnswerWriter();
  readonly #reverse = new ReverseAddress();
  readonly #synth: SynthNames | undefined;
  /** Undefined unless clients get the addresses of their own networks. */
  #near: NearAddresses | undefined;
  #rules: DomainRules;
  /** The read in progress, and whether another must follow it. */
  #loading: Promise<void> | undefined;
  #isStale = false;
  #isClosed = false;

  constructor({ options, log, etcHosts = ETC_HOSTS, onChange }: LocalDataOptions) {
    this.#onChange = onChange;
    this.#options = options;
    this.#log = log;
    this.#paths = [...(options.usesEtcHosts ? [etcHosts] : []), ...options.hostsPaths];
    this.#answers = new LocalAnswers(this.#staticRecords(), options);
    this.#synth =
      options.synthDomains.length === 0 ? undefined : new SynthNames(options.synthDomains);
    this.#folders = options.hostsDirs.map(
      (path) => new HostsFolder({ path, domain: this.#domain(), log }, () => this.#setFolders()),
    );
    this.#rules = new DomainRules(options.addressRules, options.serverRules);
  }

  /**
   * Reads the hosts files and the addresses of interfaces, at the start and on SIGHUP; the
   * previous data stays active until the read ends. Never rejects: what cannot be read is logged.
   */
  reload(): Promise<void> {
    this.#isStale = true;
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  /**
   * Takes every active rule about servers, from every source: a longer domain of theirs takes
   * precedence over an address, a reverse domain with servers is not private, and a local domain is never forwarded.
   */
  useServerRules(rules: readonly ServerRule[]): void {
    this.#rules = new DomainRules(this.#options.addressRules, rules);
  }

  close(): void {
    this.#isClosed = true;
    for (const folder of this.#folders) folder.close();
  }

  /**
   * Writes the answer from hosts and static records into `out` and returns its length; 0 when there is
   * none. It is called before the cache. The client's address is used by `--localise-queries`.
   */
  answer(query: Query, out: Uint8Array, client?: Pick<Client, 'address'>): number {
    if (query.class !== CLASS.IN) return 0;
    this.#near?.lookFrom(clientAddress(client?.address ?? ''));
    const length = this.#answers.answer(query, out, this.#near?.isNear);
    if (length > 0) query.trace?.note(LOCAL_ANSWER, out.slice(0, length));
    return length;
  }

  /**
   * Writes the answer to questions that must not be forwarded; it is called after the cache: names made from
   * addresses, private reverse names, the questions of old Windows, addresses of domains, local domains, names without a dot.
   * Returns its length; 0 when the question is to be forwarded.
   */
  answerByRule(query: Query, out: Uint8Array): number {
    const length = query.class === CLASS.IN ? this.#answerByRule(query, out) : 0;
    if (length > 0) query.trace?.note(RULE_ANSWER, out.slice(0, length));
    return length;
  }

  #answerByRule(query: Query, out: Uint8Array): number {
    const { isBogusPriv, filtersWindows, needsDomain } = this.#options;
    const synthetic = this.#synth === undefined ? 0 : this.#answerMade(query, out, this.#synth);
    if (synthetic > 0) return synthetic;
    if (isBogusPriv && this.#isPrivateReverse(query)) {
      return this.#deny(query, out, RCODE.NXDOMAIN, PRIVATE_REVERSE, true);
    }
    if (filtersWindows && isWindowsQuestion(query)) {
      return this.#deny(query, out, RCODE.NOERROR, FILTERED_WINDOWS, true);
    }
    const verdict = this.#rules.find(query);
    if (verdict !== undefined) {
      const { ipv4, ipv6, isLocal } = verdict;
      const length = this.#writeAddresses(query, out, ipv4, ipv6);
      if (length > 0 || !isLocal) return length;
      const exists =
        ipv4.length > 0 || ipv6.length > 0 || this.#exists(query.name, query.nameLength);
      return this.#deny(query, out, exists ? RCODE.NOERROR : RCODE.NXDOMAIN, LOCAL_DOMAIN);
    }
    if (needsDomain && isPlainName(query)) {
      const rcode = this.#exists(query.name, query.nameLength) ? RCODE.NOERROR : RCODE.NXDOMAIN;
      return this.#deny(query, out, rcode, PLAIN_NAME);
    }
    return 0;
  }

  /**
   * Whether a lower-cased name in wire form has local data of any type, or something below it has,
   * or it is in a domain with an address: then NXDOMAIN from upstream is wrong for it, and becomes an
   * empty answer.
   */
  hasName(name: Uint8Array, length = name.length): boolean {
    return this.#exists(name, length) || this.#rules.hasAddressFor(name, length);
  }

  #exists(name: Uint8Array, length: number): boolean {
    return this.#answers.hasName(name, length) || this.#synth?.hasName(name, length) === true;
  }

  /** Names made from addresses (`--synth-domain`), and the reverse of these addresses. */
  #answerMade(query: Query, out: Uint8Array, synth: SynthNames): number {
    const { name, nameLength, type } = query;
    const made: [type: number, rdata: Uint8Array | undefined][] = [];
    const isAsked = (one: number) => type === one || type === TYPE.ANY;
    for (const family of [TYPE.A, TYPE.AAAA]) {
      if (isAsked(family)) made.push([family, synth.addressOf(name, nameLength, family)]);
    }
    if (isAsked(TYPE.PTR)) {
      const { size, isWhole, bytes } = this.#reverse.read(name, nameLength);
      if (isWhole) made.push([TYPE.PTR, synth.nameOf(bytes.subarray(0, size))]);
    }
    if (made.every(([, rdata]) => rdata === undefined)) return 0;
    this.#writer.begin(query, out);
    this.#writer.setAuthoritative();
    this.#writer.explain(SYNTHESIZED);
    const { localTtlSeconds } = this.#options;
    for (const [recordType, rdata] of made) {
      if (rdata === undefined) continue;
      this.#writer.add(SECTION.ANSWER, undefined, recordType, localTtlSeconds, rdata);
    }
    return this.#writer.finish();
  }

  /** Every address of hosts files. */
  hosts(): Iterable<HostsEntry> {
    return this.#answers.hosts();
  }

  /** The origins of local records for the log; see {@link LocalAnswers}. */
  get origins(): Pick<LocalAnswers, 'fileOf' | 'hasPtrRecord'> {
    return this.#answers;
  }

  #deny(
    query: Query,
    out: Uint8Array,
    rcode: number,
    reason: Uint8Array,
    isAuthoritative = false,
  ): number {
    this.#writer.begin(query, out);
    this.#writer.setRcode(rcode, reason);
    if (isAuthoritative) this.#writer.setAuthoritative();
    return this.#writer.finish();
  }

  #writeAddresses(
    query: Query,
    out: Uint8Array,
    ipv4: readonly Uint8Array[],
    ipv6: readonly Uint8Array[],
  ): number {
    const isAny = query.type === TYPE.ANY;
    const takesIpv4 = (isAny || query.type === TYPE.A) && ipv4.length > 0;
    const takesIpv6 = (isAny || query.type === TYPE.AAAA) && ipv6.length > 0;
    if (!takesIpv4 && !takesIpv6) return 0;
    const { localTtlSeconds } = this.#options;
    const writer = this.#writer;
    writer.begin(query, out);
    writer.setAuthoritative();
    writer.explain(GIVEN_ADDRESS);
    if (takesIpv4) {
      for (const rdata of ipv4)
        writer.add(SECTION.ANSWER, undefined, TYPE.A, localTtlSeconds, rdata);
    }
    if (takesIpv6) {
      for (const rdata of ipv6)
        writer.add(SECTION.ANSWER, undefined, TYPE.AAAA, localTtlSeconds, rdata);
    }
    return writer.finish();
  }

  #isPrivateReverse({ name, nameLength, type }: Query): boolean {
    if (type !== TYPE.PTR && type !== TYPE.ANY) return false;
    const { size, bytes } = this.#reverse.read(name, nameLength);
    if (size === 0) return false;
    const isPrivate = size === 4 ? isPrivateIpv4(bytes, 0, false) : isPrivateIpv6(bytes, 0, false);
    return isPrivate && !this.#rules.hasServerFor(name, nameLength);
  }

  async #load(): Promise<void> {
    while (this.#isStale && !this.#isClosed) {
      this.#isStale = false;
      const table = new HostsTable();
      await readHostsFiles(table, { paths: this.#paths, domain: this.#domain(), log: this.#log });
      this.#answers.setStatic(this.#staticRecords());
      this.#answers.setHosts(table);
      if (this.#options.localisesQueries) this.#near = new NearAddresses(networkInterfaces());
      this.#onChange?.();
      for (const folder of this.#folders) await folder.load();
    }
  }

  #setFolders(): void {
    this.#answers.setFolders(this.#folders.map(({ table }) => table));
    this.#onChange?.();
  }

  #domain(): string {
    return this.#options.expandsHosts ? this.#options.domain : '';
  }

  #staticRecords(): StaticRecords {
    const { records, interfaceNames, localTtlSeconds } = this.#options;
    const interfaces = networkInterfaces();
    const ofInterfaces = interfaceNames.flatMap((name) => interfaceRecords(name, interfaces));
    return new StaticRecords([...records, ...ofInterfaces], localTtlSeconds);
  }
}

/** SOA and SRV, and ANY of names with an underscore (dnsmasq src/rfc1035.c, answer_request). */
function isWindowsQuestion({ name, nameLength, type }: Query): boolean {
  if (type === TYPE.SOA || type === TYPE.SRV) return true;
  return type === TYPE.ANY && name.subarray(0, nameLength).includes(UNDERSCORE);
}

/** A question for addresses of a name of one label. */
function isPlainName({ name, nameLength, type }: Query): boolean {
  const isForAddress = type === TYPE.A || type === TYPE.AAAA || type === TYPE.ANY;
  return isForAddress && isUnqualified(name, nameLength);
}
