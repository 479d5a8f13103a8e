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
  /** Called when a host has other addresses than before. */
  readonly onChange: () => void;
  readonly pace?: Partial<HostPace>;
}

interface Host {
  readonly name: string;
  readonly addresses: Record<AddressFamily, readonly string[]>;
  /** Its pauses while it cannot be resolved. */
  readonly backOff: BackOff;
  isFailing: boolean;
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
 * when their TTL ends and after a failure; the last addresses stay in use until others arrive.
 */
export class ServerHosts {
  readonly #options: ServerHostsOptions;
  readonly #pace: HostPace;
  readonly #hosts = new Map<string, Host>();
  readonly #servers: UpstreamServers;
  readonly #forwarder: QueryForwarder;
  readonly #load = new GroupLoad();

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
      this.#hosts.set(name, host);
      this.#resolve(host);
    }
  }

  /** Ends all lookups; may be called twice. */
  close(): void {
    for (const host of this.#hosts.values()) this.#forget(host);
    this.#forwarder.close();
  }

  #forget(host: Host): void {
    stop(host);
    this.#hosts.delete(host.name);
  }

  #resolve(host: Host): void {
    stop(host);
    const servers = this.#options.serversFor(host.name);
    if (servers.length === 0) {
      const advice = `write its address in place of its name (tls://, https://: ADDRESS%${host.name})`;
      this.#fail(host, `there is no name server to ask; ${advice}`);
      return;
    }
    const all = servers.map((server) => this.#servers.at(server));
    const group = new ServerGroup('.', all, 'strict', this.#load);
    const answers = new Map<AddressFamily, HostAddresses>();
    const { round } = host;
    for (const family of FAMILIES) {
      askHostAddresses(this.#forwarder, group, host.name, family, (answer) => {
        answers.set(family, answer);
        if (host.round === round && answers.size === FAMILIES.length) this.#take(host, answers);
      });
    }
  }

  #take(host: Host, answers: ReadonlyMap<AddressFamily, HostAddresses>): void {
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
      this.#options.onChange();
    }
    const ttlMs = Math.min(...found.map(({ ttlSeconds }) => ttlSeconds)) * 1_000;
    this.#wait(host, Math.min(Math.max(ttlMs, this.#pace.minMs), this.#pace.maxMs));
  }

  #fail(host: Host, reason: string): void {
    // The same failure repeats with each try; it is logged once.
    if (!host.isFailing) {
      this.#options.log.warn(`cannot resolve the server ${host.name}: ${reason}`);
    }
    host.isFailing = true;
    this.#wait(host, host.backOff.next());
  }

  #wait(host: Host, ms: number): void {
    host.timer = setTimeout(() => this.#resolve(host), ms).unref();
  }
}

function newHost(name: string, { retryMs, maxMs }: HostPace): Host {
  return {
    name,
    addresses: { A: [], AAAA: [] },
    backOff: new BackOff({ firstMs: retryMs, longestMs: maxMs, randomPart: 0 }),
    isFailing: false,
    timer: undefined,
    round: 0,
  };
}

function stop(host: Host): void {
  clearTimeout(host.timer);
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
