import type { Reply } from './cluster/client.js';
import { outsideAddress, outsideAddresses } from './cluster/upstream.js';
import { CONFIG_MAP, type World } from './cluster/world.js';
import { DEFAULT_ROUTING, type Routing, viewOf } from './model/outside-model.js';
import {
  expectedAnswer,
  type Expected,
  isTarget,
  type OutsideAddress,
  reverseTargets,
  type ServiceQuestion,
} from './model/service-model.js';
import type { Scheduler } from './scheduler.js';
import type { Troubles, Way } from './troubles.js';

export type ViolationKind =
  'answer' | 'size' | 'no answer' | 'failure' | 'slow' | 'foreign' | 'twice' | 'error' | 'close';

export interface Violation {
  readonly atUs: number;
  readonly kind: ViolationKind;
  readonly text: string;
}

/** A question as it was asked, for the text of a violation, and what its answer depends on. */
export interface Asked {
  readonly text: string;
  readonly way: Way;
}

const SECOND_US = 1_000_000;
/** In calm times an answer is no older than this, through two caches; the API server answers a request after its watches. */
const FRESH_US = 0.05 * SECOND_US;
/** A cache whose server announces nothing gives an answer for its TTL, and notices within a heartbeat (README of the checkout). */
const CUT_OFF_US = 33 * SECOND_US;
/** A cache gives an expired answer of the cluster in place of none for so long (README of node-cache). */
const EXPIRED_US = 60 * SECOND_US;
/** The same of names outside. */
const EXPIRED_OUTSIDE_US = 3_600 * SECOND_US;
/** The TTL of an expired answer (README of dnsmasq and node-cache). */
const EXPIRED_SECONDS = 5;
const SLOW_US = SECOND_US;

/** Says whether answers are right: by the objects of the cluster, and by what went wrong on their way, and when. */
export class Judge {
  readonly violations: Violation[] = [];
  questions = 0;
  readonly #scheduler: Scheduler;
  readonly #world: World;
  readonly #troubles: Troubles;

  constructor(scheduler: Scheduler, world: World, troubles: Troubles) {
    this.#scheduler = scheduler;
    this.#world = world;
    this.#troubles = troubles;
  }

  violation(kind: ViolationKind, text: string): void {
    this.#scheduler.note(`violation ${kind} ${text}`);
    this.violations.push({ atUs: this.#scheduler.nowUs, kind, text });
  }

  /** The answer to a question for a service, a host or a port of it. */
  service(service: string, question: ServiceQuestion, asked: Asked, reply: Reply): void {
    const message = this.#usable(asked, reply);
    if (message === undefined) return;
    const fromUs = this.#oldestUs(asked.way, reply);
    const states = this.#world.history.between(service, fromUs, reply.answeredUs);
    const routings = this.#routings(fromUs, reply);
    const possible = states.flatMap((state) => routings.map((routing) => expectedAnswer(state, question, addressBy(routing)))); // prettier-ignore
    const got = recordsOf(message);
    if (possible.some((expected) => isEqual(expected, got))) return;
    this.#wrong(asked, got, possible);
  }

  /** The answer to a question for the reverse name of an address; `zone` is that of the cluster. */
  reverse(address: string, zone: string, asked: Asked, reply: Reply): void {
    const message = this.#usable(asked, reply);
    if (message === undefined) return;
    const fromUs = this.#oldestUs(asked.way, reply);
    const states = [...this.#world.history.names].map(
      (service) =>
      this.#world.history
        .between(service, fromUs, reply.answeredUs)
        .map((state) => reverseTargets(service, state, address).map((target) => `${target}.${zone}`)), // prettier-ignore
    );
    const possible = states.flat(2);
    const certain = states.flatMap((ofService) =>
      ofService[0]!.filter((target) => ofService.every((targets) => targets.includes(target))),
    );
    const names = message.answers.map((record) => String((record as { data?: unknown }).data));
    const isRight =
      names.every((name) => possible.some((target) => isTarget(name, target))) &&
      certain.every((target) => names.some((name) => isTarget(name, target)));
    if (isRight) return;
    this.violation('answer', `${asked.text}: ${names.join(', ') || message.rcode}; right is ${[...new Set(possible)].join(', ') || 'none'}`); // prettier-ignore
  }

  /** The answer to a question for the address of a name outside of the cluster, whose server is never unaware of changes. */
  outside(name: string, type: 'A' | 'AAAA', asked: Asked, reply: Reply): void {
    const message = this.#usable(asked, reply);
    if (message === undefined) return;
    const { askedUs, answeredUs } = reply;
    const sinceUs = this.#troubleSince(asked.way, reply);
    const oldUs = sinceUs !== undefined && isExpired(reply) ? EXPIRED_OUTSIDE_US : 0;
    const got = recordsOf(message);
    // A ConfigMap counts at once, also for what is cached.
    const views = new Set(this.#routings((sinceUs ?? askedUs) - FRESH_US, reply).map((routing) => viewOf(name, routing))); // prettier-ignore
    const possible = [...views]
      .flatMap((view) => outsideAddresses(name, type, view, askedUs - oldUs, answeredUs))
      .map((address): Expected => ({ rcode: 'NOERROR', records: [`${type} ${address}`] }));
    if (!possible.some((expected) => isEqual(expected, got))) this.#wrong(asked, got, possible);
  }

  /** Which name servers a ConfigMap may have given. */
  #routings(fromUs: number, { answeredUs }: Reply): readonly Routing[] {
    const routings = this.#world.routing.between(CONFIG_MAP, fromUs, answeredUs);
    return routings.map((routing = DEFAULT_ROUTING) => routing);
  }

  #wrong({ text }: Asked, got: Expected, possible: readonly Expected[]): void {
    const wanted = [...new Set(possible.map(shown))].join(' or ');
    this.violation('answer', `${text}: ${shown(got)}; right is ${wanted}`);
  }

  #troubleSince(way: Way, { askedUs, answeredUs }: Reply): number | undefined {
    return this.#troubles.since(way, askedUs, answeredUs);
  }

  /**
   * From when on the objects of an answer may be. What had changed before something went wrong was known on the whole way;
   * since then each cache may have what it got one TTL ago, from a kubedns that knew then what it had seen before it
   * lost the API server.
   */
  #oldestUs(way: Way, reply: Reply): number {
    const { askedUs, answeredUs } = reply;
    const sinceUs = this.#troubleSince(way, reply);
    if (sinceUs === undefined) return askedUs - FRESH_US;
    const cachedUs = askedUs - way.caches * CUT_OFF_US - (isExpired(reply) ? EXPIRED_US : 0);
    const seenUs = this.#troubles.since(way, cachedUs, answeredUs, true) ?? cachedUs;
    return Math.max(sinceUs, Math.min(seenUs, cachedUs)) - FRESH_US;
  }

  /** The message, if it is one whose records are to be judged. */
  #usable({ text, way }: Asked, reply: Reply): NonNullable<Reply['message']> | undefined {
    this.questions++;
    const { message, askedUs, answeredUs, extra, foreign, tooLong } = reply;
    this.#scheduler.note(`${text} ${message?.rcode} ${answeredUs - askedUs}`);
    if (tooLong > 0) this.violation('size', `${text}: longer than the client takes`);
    const isCalm = this.#troubleSince(way, reply) === undefined;
    // A late answer may come to a port that another question has by now.
    const isForeign = foreign > 0 && !this.#troubles.isAnyAt(askedUs);
    if (isForeign) this.violation('foreign', `${text}: another ID or question`);
    if (message === undefined) {
      if (isCalm) this.violation('no answer', text);
      return undefined;
    }
    const isFailure = message.rcode !== 'NOERROR' && message.rcode !== 'NXDOMAIN';
    if (isCalm && extra > 0) this.violation('twice', `${text}: ${extra + 1} answers`);
    if (isCalm && isFailure) this.violation('failure', `${text}: ${message.rcode}`);
    if (isCalm && answeredUs - askedUs > SLOW_US) {
      this.violation('slow', `${text}: ${(answeredUs - askedUs) / 1_000} ms`);
    }
    return isFailure || message.isTruncated ? undefined : message;
  }
}

function addressBy(routing: Routing): OutsideAddress {
  return (name, type) => outsideAddress(name, type, viewOf(name, routing));
}

/** Whether the answer has the TTL that expired answers are given with; one without records may. */
function isExpired({ message }: Reply): boolean {
  return message?.ttls.every((ttl) => ttl <= EXPIRED_SECONDS) === true;
}

function recordsOf({ rcode, answers }: NonNullable<Reply['message']>): Expected {
  const records = answers.map((record) => {
    if (record.type === 'SRV') return `SRV ${record.data.port}`;
    return `${record.type} ${String((record as { data?: unknown }).data)}`;
  });
  return { rcode: rcode as Expected['rcode'], records: records.sort() };
}

function isEqual(one: Expected, other: Expected): boolean {
  return one.rcode === other.rcode && one.records.join() === other.records.join();
}

function shown({ rcode, records }: Expected): string {
  if (records.length === 0) return rcode;
  const counts = new Map<string, number>();
  for (const record of records) counts.set(record, (counts.get(record) ?? 0) + 1);
  return [...counts].map(([record, count]) => (count > 1 ? `${count} x ${record}` : record)).join(', '); // prettier-ignore
}
