import { addressBytes, type DecodedMessage, decodeMessage, reverseName } from '@kube-dns/wire';
import { dataText } from '../fixtures/answer-text.js';
import {
  kindOf,
  type Schedule,
  serverOf,
  type ServiceKind,
  type ServiceState,
  serviceState,
  worldAnswer,
  type WorldServer,
} from './cluster-state.js';

/** One line per record of an answer, without TTLs and in an order that does not depend on the message. */
export function answerText(rcode: string, records: readonly string[]): string {
  return [rcode, ...[...records].sort()].join(' | ');
}

/** A record as `answerText` takes it. */
function recordText(owner: string, type: string, data: string): string {
  return `${owner} ${type} ${data}`.toLowerCase();
}

/** The same of an answer that came. */
function textOf({ rcode, isTruncated, answers }: DecodedMessage): string {
  const records = answers.map((record) =>
    recordText(record.name, record.type, dataText(record) ?? '?'),
  );
  return answerText(isTruncated ? `${rcode}, cut` : rcode, records);
}

/** The text of an answer, or why it is none. */
export function readAnswer(message: Buffer): string {
  try {
    return textOf(decodeMessage(message));
  } catch (error) {
    return `no message: ${String(error)}`;
  }
}

/** The subject whose versions an answer depends on: a service, the configuration, or none. */
type Subject =
  | { readonly kind: 'service'; readonly index: number }
  | { readonly kind: 'config' }
  | { readonly kind: 'none' };

/** A question, and the right answer for each version of its subject. */
export interface Question {
  readonly name: string;
  readonly type: 'A' | 'AAAA' | 'PTR' | 'SRV';
  readonly subject: Subject;
  readonly expected: (version: number) => string;
}

const NXDOMAIN = answerText('NXDOMAIN', []);
const NODATA = answerText('NOERROR', []);

/** The name of a service in DNS. */
export function dnsName({ name, namespace }: ServiceState): string {
  return `${name}.${namespace}.svc.cluster.local`;
}

function worldRecords(name: string, server: WorldServer): string {
  const { address } = worldAnswer(name, server);
  return address === undefined ? NXDOMAIN : answerText('NOERROR', [recordText(name, 'A', address)]);
}

/** The address of a name outside the cluster. */
function askWorld(name: string, type: 'A' | 'AAAA' = 'A'): Question {
  const isNodata = type === 'AAAA' && worldAnswer(name, 'world').address !== undefined;
  const text = isNodata ? NODATA : worldRecords(name, 'world');
  return { name, type, subject: { kind: 'none' }, expected: () => text };
}

/** The address of a name in a domain that the configuration gives to one server or another. */
export function askStub(host: string, domain: 'corp.test' | 'lab.test'): Question {
  const name = `${host}.${domain}`;
  const expected = (version: number) => worldRecords(name, serverOf(domain, version));
  return { name, type: 'A', subject: { kind: 'config' }, expected };
}

/** The addresses of a service, or of one of its hosts. */
export function askAddress(index: number, host?: string): Question {
  const subject = { kind: 'service', index } as const;
  const service = dnsName(serviceState(index, 0));
  const name = host === undefined ? service : `${host}.${service}`;
  const expected = (version: number) => {
    const { kind, isThere, clusterIP, ready, target } = serviceState(index, version);
    if (!isThere) return NXDOMAIN;
    if (kind === 'alias') {
      if (host !== undefined) return NXDOMAIN;
      const address = worldAnswer(target, 'world').address!;
      const cname = recordText(name, 'CNAME', target);
      return answerText('NOERROR', [cname, recordText(target, 'A', address)]);
    }
    if (kind === 'address' && host === undefined) {
      return answerText('NOERROR', [recordText(name, 'A', clusterIP)]);
    }
    const found = ready.filter(({ hostname }) => host === undefined || hostname === host);
    const records = found.map(({ address }) => recordText(name, 'A', address));
    return records.length === 0 ? NXDOMAIN : answerText('NOERROR', records);
  };
  return { name, type: 'A', subject, expected };
}

/** The port `web` of a service, which it does not always have. */
function askPort(index: number): Question {
  const subject = { kind: 'service', index } as const;
  const service = dnsName(serviceState(index, 0));
  const name = `_web._tcp.${service}`;
  const expected = (version: number) => {
    const { kind, isThere, portName, port, ready } = serviceState(index, version);
    if (!isThere || kind === 'alias' || portName !== 'web') return NXDOMAIN;
    const targets =
      kind === 'address' ? [service] : ready.map(({ hostname }) => `${hostname}.${service}`);
    return answerText(
      'NOERROR',
      targets.map((target) => recordText(name, 'SRV', `${port} ${target}`)),
    );
  };
  return { name, type: 'SRV', subject, expected };
}

/** The name of an address that a service has, or had, at a version. */
function askReverse(index: number, version: number): Question {
  const subject = { kind: 'service', index } as const;
  const address = ownAddress(serviceState(index, version));
  const name = reverseName(addressBytes(address));
  const expected = (now: number) => {
    const state = serviceState(index, now);
    if (!state.isThere || ownAddress(state) !== address) return NXDOMAIN;
    const [first] = state.ready;
    const owner = dnsName(state);
    const target = state.kind === 'headless' ? `${first!.hostname}.${owner}` : owner;
    return answerText('NOERROR', [recordText(name, 'PTR', target)]);
  };
  return { name, type: 'PTR', subject, expected };
}

/** Of a headless service that of its first endpoint, which moves. */
function ownAddress({ kind, clusterIP, ready }: ServiceState): string {
  return kind === 'headless' ? ready[0]!.address : clusterIP;
}

/** A name of the cluster that does not exist. */
function askNothing(name: string): Question {
  return { name, type: 'A', subject: { kind: 'none' }, expected: () => NXDOMAIN };
}

/** A question of the load, and how it is asked. */
export interface Asking {
  readonly question: Question;
  /** Of kubedns, and not of dnsmasq. */
  readonly isStraight: boolean;
  readonly isOverTcp: boolean;
  readonly hasEdns: boolean;
}

type Ask = (source: QuestionMix) => Omit<Asking, 'hasEdns' | 'isOverTcp'>;

const CACHED_NAMES = 300;
const STUB_HOSTS = 20;
const TCP_PART = 0.02;
const EDNS_PART = 0.3;
const SEARCH = ['default.svc.cluster.local', 'svc.cluster.local', 'cluster.local'] as const;

function cached(question: Question) {
  return { question, isStraight: false };
}

/** Parts of a hundred questions; the sum is 100. */
const MIX: readonly (readonly [number, Ask])[] = [
  // What dnsmasq has: names of the world, and services.
  [28, (mix) => cached(mix.cachedName())],
  [14, (mix) => cached(askAddress(mix.settled()))],
  // Names of the cluster, of dnsmasq and of kubedns itself.
  [10, (mix) => cached(askAddress(mix.churned()))],
  [9, (mix) => ({ question: askAddress(mix.churned()), isStraight: true })],
  [3, (mix) => ({ question: askAddress(mix.ofKind('headless'), 'h0'), isStraight: true })],
  [6, (mix) => ({ question: askPort(mix.churned()), isStraight: mix.flip() })],
  [6, (mix) => ({ question: mix.reverse(), isStraight: mix.flip() })],
  // Names with TTL 0, and new names that evict others from the cache.
  [6, (mix) => cached(askWorld(mix.newName(0)))],
  [3, (mix) => cached(askWorld(mix.newName(60)))],
  [10, (mix) => cached(mix.searchPath())],
  [4, (mix) => ({ question: mix.stub(), isStraight: mix.flip() })],
  [1, (mix) => cached(askWorld(mix.cachedName().name, 'AAAA'))],
];

/** The questions of a cluster in use, in an order that looks random and is the same in each run. */
export class QuestionMix {
  readonly #schedule: Schedule;
  #state = 0x1234_5678;
  #newNames = 0;
  #nowMs = 0;

  constructor(schedule: Schedule) {
    this.#schedule = schedule;
  }

  /** The next question. `nowMs` decides which addresses are asked for their names. */
  next(nowMs: number): Asking {
    this.#nowMs = nowMs;
    let dice = this.#below(100);
    const [, ask] = MIX.find(([part]) => (dice -= part) < 0)!;
    const isOverTcp = this.#random() < TCP_PART;
    return { ...ask(this), isOverTcp, hasEdns: this.#random() < EDNS_PART };
  }

  flip(): boolean {
    return this.#random() < 0.5;
  }

  settled(): number {
    const { churned, settled } = this.#schedule.plan;
    return churned + this.#below(settled);
  }

  churned(): number {
    const { churned } = this.#schedule.plan;
    return churned === 0 ? this.settled() : this.#below(churned);
  }

  /** A churned service of a kind. */
  ofKind(kind: ServiceKind): number {
    let index = this.churned();
    while (kindOf(index) !== kind) index = this.churned();
    return index;
  }

  /** An address that a service has, or had a version ago. */
  reverse(): Question {
    const index = this.ofKind(this.flip() ? 'address' : 'headless');
    const version = this.#schedule.serviceVersion(index, this.#nowMs);
    return askReverse(index, Math.max(0, version - this.#below(2)));
  }

  stub(): Question {
    const host = `host-${this.#below(STUB_HOSTS)}`;
    return askStub(host, this.flip() ? 'corp.test' : 'lab.test');
  }

  cachedName(): Question {
    return askWorld(`w${this.#below(CACHED_NAMES)}.t300.world.test`);
  }

  newName(ttlSeconds: number): string {
    return `n${this.#newNames++}.t${ttlSeconds}.world.test`;
  }

  /** A name of the world with one of a pod's search domains appended. */
  searchPath(): Question {
    const domain = SEARCH[this.#below(SEARCH.length)]!;
    return askNothing(`${this.cachedName().name}.${domain}`);
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  /** Of the generator of Numerical Recipes. */
  #random(): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return this.#state / 2 ** 32;
  }
}
