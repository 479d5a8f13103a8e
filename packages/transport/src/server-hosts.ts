import { BackOff } from '@kube-dns/base';
import {
  addressText,
  buildQuery,
  CLASS,
  encodeKey,
  RCODE,
  RCODE_MASK,
  readUint16,
  RecordCursor,
  SAFE_UDP_BYTES,
  SECTION,
  TYPE,
} from '@kube-dns/wire';
import type { ServerAddress } from './server-address.js';
import { QueryForwarder } from './forward/forwarder.js';
import { retryPlan } from './forward/contract.js';
import type { ServerCounter } from './forward/observers.js';
import { GroupLoad } from './forward/quota.js';
import { ServerGroup } from './forward/servers.js';
import { UpstreamServers } from './forward/servers.js';
import type { UpstreamSockets } from './forward/sockets.js';

/** Receives what became of the names. */
export interface HostLog {
  info(message: string): void;
  warn(message: string): void;
}

/** How often the names of servers are resolved. */
export interface HostPace {
  /** A TTL outside these bounds is moved to the nearer bound. */
  readonly minMs: number;
  readonly maxMs: number;
  /** The pause after a failure; further ones double it, up to `maxMs`. */
  readonly retryMs: number;
  readonly deadlineMs: number;
}

export interface ServerHostsOptions {
  readonly log: HostLog;
  /** The sockets that the questions are sent from. */
  readonly sockets: UpstreamSockets;
  /** The servers to ask for a host name; without any, the name is tried again later. */
  readonly serversFor: (host: string) => readonly ServerAddress[];
  /** As of UpstreamServers. */
  readonly tlsCa?: string | undefined;
  /** Called when hosts have other addresses than before: once for those that become known within 50 ms. */
  readonly onChange: () => void;
  readonly pace?: Partial<HostPace>;
}

interface Host {
  readonly name: string;
  readonly addresses: Record<AddressFamily, readonly string[]>;
  /** Its pauses while it cannot be resolved. */
  readonly backOff: BackOff;
  isFailing: boolean;
  /** Whether answers about it are outstanding. */
  isAsked: boolean;
  timer: NodeJS.Timeout | undefined;
  /** Counts the rounds of questions: only answers of the latest round count. */
  round: number;
}

const DEFAULT_PACE: HostPace = {
  minMs: 30_000,
  maxMs: 300_000,
  retryMs: 2_000,
  deadlineMs: 4_000,
};
/** A limit, because a ConfigMap has space for tens of thousands; each costs two questions per refresh. */
const MAX_HOSTS = 64;
/**
 * How long results wait for others: each report makes routes anew, and is a log line. Without outstanding answers there is
 * nothing to wait for.
 */
const REPORT_MS = 50;
/** So many names are in one log line. */
const MAX_LISTED = 8;
/** These questions do not count in the metrics of the servers. */
const UNCOUNTED: ServerCounter = {
  queries: 0,
  countQuery: () => undefined,
  countReply: () => undefined,
  countBadReply: () => undefined,
  countError: () => undefined,
};

/**
 * The addresses of name servers that are given by name. They are resolved in the background, again
 * when their TTL ends and after a failure; the last addresses stay in use until others arrive. One name is asked for in a
 * turn of the event loop: opening sockets takes milliseconds.
 */
export class ServerHosts {
  readonly #options: ServerHostsOptions;
  readonly #pace: HostPace;
  readonly #hosts = new Map<string, Host>();
  readonly #servers: UpstreamServers;
  readonly #forwarder: QueryForwarder;
  readonly #load = new GroupLoad();
  /** Those that are to be resolved, one in each turn. */
  readonly #queue = new Set<Host>();
  #turn: NodeJS.Immediate | undefined;
  /** Reasons that are not logged yet. */
  readonly #failures = new Map<Host, string>();
  #hasChanges = false;
  #report: NodeJS.Timeout | undefined;

  constructor(options: ServerHostsOptions) {
    this.#options = options;
    this.#pace = { ...DEFAULT_PACE, ...options.pace };
    const counters = { of: () => UNCOUNTED, retain: () => undefined };
    this.#servers = new UpstreamServers(options.sockets, counters, { tlsCa: options.tlsCa });
    this.#forwarder = new QueryForwarder({
      maxInFlight: MAX_HOSTS * FAMILIES.length,
      plan: retryPlan(this.#pace.deadlineMs),
      maxUdpBytes: SAFE_UDP_BYTES,
    });
  }

  /** The addresses resolved so far, IPv4 first; none for a name that is not followed. */
  addressesOf(name: string): readonly string[] {
    const addresses = this.#hosts.get(name)?.addresses;
    return addresses === undefined ? [] : FAMILIES.flatMap((family) => addresses[family]);
  }

  /** Follows exactly these names, and resolves each of them again. */
  follow(names: ReadonlySet<string>): void {
    for (const host of this.#hosts.values()) {
      if (!names.has(host.name)) this.#forget(host);
    }
    // Every name is resolved again, with the current servers.
    this.#servers.retain([]);
    this.#forwarder.forgetQuestions();
    const followed = [...names].slice(0, MAX_HOSTS);
    if (followed.length < names.size) {
      this.#options.log.warn(`${names.size} servers by name; only the first ${MAX_HOSTS} are used`);
    }
    for (const name of followed) {
      const host = this.#hosts.get(name) ?? newHost(name, this.#pace);
      stop(host);
      this.#hosts.set(name, host);
      this.#queue.add(host);
    }
    if (this.#turn === undefined) this.#resolveNext();
  }

  /** Ends all lookups; may be called twice. */
  close(): void {
    for (const host of this.#hosts.values()) this.#forget(host);
    clearImmediate(this.#turn);
    clearTimeout(this.#report);
    this.#forwarder.close();
  }

  #forget(host: Host): void {
    stop(host);
    this.#hosts.delete(host.name);
    this.#queue.delete(host);
    this.#failures.delete(host);
  }

  #resolveLater(host: Host): void {
    this.#queue.add(host);
    this.#turn ??= setImmediate(() => this.#resolveNext());
  }

  #resolveNext(): void {
    const [host] = this.#queue;
    this.#turn = undefined;
    if (host === undefined) return;
    this.#queue.delete(host);
    if (this.#queue.size > 0) this.#turn = setImmediate(() => this.#resolveNext());
    this.#resolve(host);
  }

  #resolve(host: Host): void {
    stop(host);
    const servers = this.#options.serversFor(host.name);
    if (servers.length === 0) {
      const advice = 'write its address in place of its name (tls://, https://: ADDRESS%NAME)';
      this.#fail(host, `there is no name server to ask; ${advice}`);
      return;
    }
    const all = servers.map((server) => this.#servers.at(server));
    const group = new ServerGroup('.', all, 'strict', this.#load);
    const answers = new Map<AddressFamily, HostAddresses>();
    const { round } = host;
    host.isAsked = true;
    for (const family of FAMILIES) {
      askHostAddresses(this.#forwarder, group, host.name, family, (answer) => {
        answers.set(family, answer);
        if (host.round === round && answers.size === FAMILIES.length) this.#take(host, answers);
      });
    }
  }

  #take(host: Host, answers: ReadonlyMap<AddressFamily, HostAddresses>): void {
    host.isAsked = false;
    const all = [...answers.values()];
    const found = all.filter(({ addresses }) => addresses.length > 0);
    if (found.length === 0) {
      const failure = all.find((answer) => answer.failure !== '')?.failure;
      this.#fail(host, failure ?? 'it has no address');
      return;
    }
    host.isFailing = false;
    host.backOff.reset();
    const before = this.addressesOf(host.name).join(', ');
    for (const [family, { addresses, failure }] of answers) {
      if (failure === '') host.addresses[family] = addresses;
    }
    const now = this.addressesOf(host.name).join(', ');
    if (now !== before) {
      this.#options.log.info(`the server ${host.name} is at ${now}`);
      this.#hasChanges = true;
    }
    const ttlMs = Math.min(...found.map(({ ttlSeconds }) => ttlSeconds)) * 1_000;
    this.#wait(host, Math.min(Math.max(ttlMs, this.#pace.minMs), this.#pace.maxMs));
    this.#reportSoon();
  }

  #fail(host: Host, reason: string): void {
    // The same failure repeats with each try; it is logged once.
    if (!host.isFailing) this.#failures.set(host, reason);
    host.isFailing = true;
    this.#wait(host, host.backOff.next());
    this.#reportSoon();
  }

  #reportSoon(): void {
    if (!this.#hasChanges && this.#failures.size === 0) return;
    const isWaiting =
      this.#queue.size > 0 || [...this.#hosts.values()].some((host) => host.isAsked);
    if (isWaiting) this.#report ??= setTimeout(() => this.#reportNow(), REPORT_MS).unref();
    else this.#reportNow();
  }

  #reportNow(): void {
    clearTimeout(this.#report);
    this.#report = undefined;
    for (const line of failureLines(this.#failures)) this.#options.log.warn(line);
    this.#failures.clear();
    const { onChange } = this.#options;
    if (this.#hasChanges) {
      this.#hasChanges = false;
      onChange();
    }
  }

  #wait(host: Host, ms: number): void {
    host.timer = setTimeout(() => this.#resolveLater(host), ms).unref();
  }
}

/** A line for each reason. */
function failureLines(failures: ReadonlyMap<Host, string>): string[] {
  const byReason = new Map<string, string[]>();
  for (const [{ name }, reason] of failures) {
    const names = byReason.get(reason);
    if (names === undefined) byReason.set(reason, [name]);
    else names.push(name);
  }
  return Array.from(
    byReason,
    ([reason, names]) => `cannot resolve ${serversText(names)}: ${reason}`,
  );
}

/** `the server a`, or `3 servers, a, b, c`. */
function serversText(names: readonly string[]): string {
  if (names.length === 1) return `the server ${names[0]}`;
  const more = names.length > MAX_LISTED ? ', …' : '';
  return `${names.length} servers, ${names.slice(0, MAX_LISTED).join(', ')}${more}`;
}

function newHost(name: string, { retryMs, maxMs }: HostPace): Host {
  return {
    name,
    addresses: { A: [], AAAA: [] },
    backOff: new BackOff({ firstMs: retryMs, longestMs: maxMs, randomPart: 0 }),
    isFailing: false,
    isAsked: false,
    timer: undefined,
    round: 0,
  };
}

function stop(host: Host): void {
  clearTimeout(host.timer);
  host.isAsked = false;
  host.round++;
}

/** The address types, IPv4 first: every machine has IPv4. */
const FAMILIES = ['A', 'AAAA'] as const;
type AddressFamily = (typeof FAMILIES)[number];

/** The addresses of a host in one family, as name servers answer. */
interface HostAddresses {
  readonly addresses: readonly string[];
  /** The lowest TTL of the records; 0 without any. */
  readonly ttlSeconds: number;
  /** Why the lookup failed; empty for an answer, also one without addresses. */
  readonly failure: string;
}

/** More name servers than these for one domain are never asked. */
const MAX_ADDRESSES = 8;
const ADDRESS_BYTES = { A: 4, AAAA: 16 } as const;

/**
 * Asks servers for the addresses of a host; they follow CNAME chains. Calls back once, immediately when
 * no server can be asked.
 */
function askHostAddresses(
  forwarder: QueryForwarder,
  group: ServerGroup,
  host: string,
  family: AddressFamily,
  done: (answer: HostAddresses) => void,
): void {
  const query = buildQuery(encodeKey(host), TYPE[family]);
  const isSent = forwarder.ask(query, group, (reply) => {
    done(reply === null ? failed('no name server answers') : readAddresses(reply, family));
  });
  if (!isSent) done(failed('no name server can be reached'));
}

function failed(failure: string): HostAddresses {
  return { addresses: [], ttlSeconds: 0, failure };
}

/**
 * The addresses in a reply, whatever their owner names. Nothing else of it is decoded: a reply of 64 KiB
 * can have thousands of long names, and decoding all of them would block the event loop for 0.3 s.
 */
export function readAddresses(reply: Uint8Array, family: AddressFamily): HostAddresses {
  const cursor = new RecordCursor().reset(reply, reply.length);
  if (cursor.isMalformed()) return failed('the answer is malformed');
  const rcode = readUint16(reply, 2) & RCODE_MASK;
  if (rcode !== RCODE.NOERROR) return failed(`the answer is ${rcodeText(rcode)}`);
  const addresses: string[] = [];
  let ttlSeconds = Number.POSITIVE_INFINITY;
  while (cursor.next() && cursor.section === SECTION.ANSWER) {
    const { rdataStart, end } = cursor;
    const isAddress = cursor.type === TYPE[family] && cursor.class === CLASS.IN;
    if (!isAddress || end - rdataStart !== ADDRESS_BYTES[family]) continue;
    if (addresses.length === MAX_ADDRESSES) continue;
    addresses.push(addressText(reply.subarray(rdataStart, end)));
    ttlSeconds = Math.min(ttlSeconds, cursor.ttlSeconds);
  }
  if (cursor.isMalformed()) return failed('the answer is malformed');
  return { addresses, ttlSeconds: addresses.length === 0 ? 0 : ttlSeconds, failure: '' };
}

function rcodeText(rcode: number): string {
  const [name] = Object.entries(RCODE).find(([, number]) => number === rcode) ?? [];
  return name ?? `RCODE ${rcode}`;
}
