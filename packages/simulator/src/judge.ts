import type { Message } from '@kube-dns/testkit';
import type { Reply } from './cluster/client.js';
import { outsideAddress, outsideAddresses } from './cluster/upstream.js';
import { DOMAIN } from './cluster/cluster.js';
import { CONFIG_MAP, type World } from './cluster/world.js';
import { DEFAULT_ROUTING, type Routing, viewOf } from './model/outside-model.js';
import {
  type AddressType,
  type Expected,
  expectedAnswers,
  found,
  isTarget,
  type ObjectState,
  podAnswer,
  reverseTargets,
  seenApart,
  type ServiceQuestion,
} from './model/service-model.js';
import { OUTSIDE_SECONDS, RECORD_SECONDS, type TimedRecord, wrongTtl } from './model/ttl-model.js';
import type { Scheduler } from './scheduler.js';
import type { Troubles, Way } from './troubles.js';

export type ViolationKind =
  | 'answer'
  | 'older'
  | 'ttl'
  | 'size'
  | 'no answer'
  | 'failure'
  | 'slow'
  | 'foreign'
  | 'twice'
  | 'error'
  | 'close'
  | 'page'
  | 'bound'
  | 'log';

export interface Violation {
  readonly atUs: number;
  readonly kind: ViolationKind;
  readonly text: string;
}

/** A question as it was asked, for the text of a violation, and what its answer depends on. */
export interface Asked {
  readonly text: string;
  readonly way: Way;
  /** The process that answered, from its start to its end; undefined where that is not known, or it only passed the answer on. */
  readonly process?: object | undefined;
}

/** An answer for a service that is right by itself, and what compares it. */
interface JudgedAnswer {
  readonly service: string;
  readonly asked: Asked;
  readonly reply: Reply;
  readonly message: Message;
  readonly wrong: Wrong;
}

/** What a process has said of a service by an answer. */
interface Given {
  readonly askedUs: number;
  readonly answeredUs: number;
  /** The oldest state that the answer can come from has been so since then. */
  readonly sinceUs: number;
  /** It has the answer until then at least, unless the service changes. */
  readonly keptUntilUs: number;
}

/** The states in which something may have been when it was answered for. */
type StatesOf = (name: string) => readonly (ObjectState | undefined)[];

/** Says what is wrong with a message, by states of objects. */
type Wrong = (message: Message, statesOf: StatesOf) => string | undefined;

const SECOND_US = 1_000_000;
/** In calm times an answer is no older than this, through two caches; the API server answers a request after its watches. */
const FRESH_US = 0.05 * SECOND_US;
/** A cache whose server announces nothing gives an answer for its TTL, and notices within a heartbeat (README of the checkout). */
const CUT_OFF_US = 33 * SECOND_US;
/** In this time a cache notices that its server announces nothing: heartbeats come every 2 s, and may be 12 s late (README of the checkout). */
const UNNOTICED_US = 14.5 * SECOND_US;
/** A cache gives an expired answer of the cluster in place of none for so long (README of node-cache). */
const EXPIRED_US = 60 * SECOND_US;
/** The same of names outside. */
const EXPIRED_OUTSIDE_US = 3_600 * SECOND_US;
/** The TTL of an expired answer (README of dnsmasq and node-cache). */
const EXPIRED_SECONDS = 5;
/** A snapshot is written 30 s after a change at the latest, by a kubedns that has listed all (README of kubedns). */
const SNAPSHOT_US = 35 * SECOND_US;
/** The last message of a live subscription came so long ago at most; what it pins has its TTL from then. */
const HEARD_US = 3 * SECOND_US;
const SLOW_US = SECOND_US;
/** A cache counts whole seconds of the age of an answer. */
const OUTSIDE_US = (OUTSIDE_SECONDS + 1) * SECOND_US;
/** Of what is right, in the text of a violation: the last ones, which are those of now. */
const MAX_SHOWN = 3;

/** Says whether answers are right: by the objects of the cluster, and by what went wrong on their way, and when. */
export class Judge {
  readonly violations: Violation[] = [];
  questions = 0;
  /** Codes of Extended DNS Errors (RFC 8914) that answers had. */
  readonly #reasons = new Set<number>();
  readonly #scheduler: Pick<Scheduler, 'note' | 'nowUs'>;
  readonly #world: Pick<World, 'history' | 'routing'>;
  readonly #troubles: Troubles;
  /** What each process has given, by the question: only what was newer than all before. */
  readonly #given = new WeakMap<object, Map<string, Given[]>>();

  constructor(
    scheduler: Pick<Scheduler, 'note' | 'nowUs'>,
    world: Pick<World, 'history' | 'routing'>,
    troubles: Troubles,
  ) {
    this.#scheduler = scheduler;
    this.#world = world;
    this.#troubles = troubles;
  }

  violation(kind: ViolationKind, text: string): void {
    this.#scheduler.note(`violation ${kind} ${text}`);
    this.violations.push({ atUs: this.#scheduler.nowUs, kind, text });
  }

  /** At the end: some answers had one of these codes of Extended DNS Errors, and none had another. */
  expectReasons(codes: readonly number[]): void {
    const seen = [...this.#reasons];
    const isRight = codes.length === 0 || seen.length > 0;
    if (isRight && seen.every((code) => codes.includes(code))) return;
    this.violation('answer', `Extended DNS Errors ${seen.join(', ') || 'none'}; right is ${codes.join(' or ') || 'none'}`); // prettier-ignore
  }

  /** The answer to a question for a service, a host or a port of it. */
  service(service: string, question: ServiceQuestion, asked: Asked, reply: Reply): void {
    const wrong = (message: Message, statesOf: StatesOf) =>
      wrongAmong(message, this.#answersOf(service, question, statesOf, asked, reply));
    const message = this.#judge(asked, reply, wrong);
    if (message === undefined || asked.process === undefined) return;
    const answer = { service, asked, reply, message, wrong };
    const given = this.#givenBy(asked.process, JSON.stringify([service, question]));
    this.#judgeAge(answer, given);
    this.#noteGiven(answer, given);
  }

  /** The answer to a question for the services of one name in all of these namespaces (`web.*.svc`). */
  everywhere(
    name: string,
    namespaces: readonly string[],
    type: AddressType,
    asked: Asked,
    reply: Reply,
  ): void {
    const hasAddresses = (each: Expected) => each.rcode === 'NOERROR' && !isAlias(each);
    this.#judge(asked, reply, (message, statesOf) => {
      const answers = namespaces.map((namespace) =>
        this.#answersOf(`${name}.${namespace}`, { type }, statesOf, asked, reply),
      );
      // An ExternalName is the answer only where no other service matches (README of kubedns).
      if (isAlias(recordsOf(message))) {
        const isOther = answers.some((ofService) => ofService.every(hasAddresses));
        return wrongAmong(message, isOther ? [] : answers.flat().filter(isAlias));
      }
      const sets = answers.map((ofService) =>
        ofService.map((each) => (hasAddresses(each) ? each.records : [])),
      );
      return wrongInUnion(message, sets, (one, other) => one === other);
    });
  }

  /** The answer to a question for the reverse name of an address. */
  reverse(address: string, asked: Asked, reply: Reply): void {
    this.#judge(asked, reply, (message, statesOf) => {
      const sets = [...this.#world.history.names].map((service) =>
        statesOf(service).map((state) =>
          reverseTargets(service, state, address).map((target) => `PTR ${target}`),
        ),
      );
      return wrongInUnion(message, sets, isRecord);
    });
  }

  /** The answer to a question for the name of a pod, made of its address. */
  pod(namespace: string, address: string, type: AddressType, asked: Asked, reply: Reply): void {
    this.#judge(asked, reply, (message, statesOf) => {
      const possible = statesOf(namespace).map((state) => podAnswer(state, type, address));
      // While namespaces are denied, or cannot be listed for 10 s, names of pods need none (README of kubedns).
      const mayNeedNone = this.#isApiHidden(asked.way, reply);
      if (mayNeedNone) possible.push(podAnswer({ kind: 'Namespace' }, type, address));
      return wrongAmong(message, possible);
    });
  }

  /** The answer to a question for a name in the zone that never is. */
  absent(asked: Asked, reply: Reply): void {
    this.#judge(asked, reply, (message) => wrongAmong(message, [{ rcode: 'NXDOMAIN', records: [] }])); // prettier-ignore
  }

  /** The answer to a question for the address of a name outside of the cluster, whose server is never unaware of changes. */
  outside(name: string, type: AddressType, asked: Asked, reply: Reply): void {
    const { askedUs, answeredUs } = reply;
    const sinceUs = this.#troubleSince(asked.way, reply);
    const oldUs = sinceUs !== undefined && isExpired(reply) ? EXPIRED_OUTSIDE_US : 0;
    // A ConfigMap counts at once, also for what is cached.
    const views = new Set(this.#routings((sinceUs ?? askedUs) - FRESH_US, reply).map((routing) => viewOf(name, routing))); // prettier-ignore
    const fromUs = askedUs - oldUs - this.#cachedUs(asked, reply);
    const addresses = [...views].flatMap((view) => outsideAddresses(name, type, view, fromUs, answeredUs)); // prettier-ignore
    this.#judge(asked, reply, (message) => wrongAmong(message, addresses.map((address) => found([`${type} ${address}`])))); // prettier-ignore
  }

  /**
   * How long ago an answer of a name server may have come to a cache, by what is left of its TTL; where one may have come late, as
   * long as all of it.
   */
  #cachedUs({ way }: Asked, { message, askedUs, answeredUs }: Reply): number {
    if (this.#troubles.since(way, askedUs - OUTSIDE_US, answeredUs) !== undefined)
      return OUTSIDE_US;
    return OUTSIDE_US - Math.min(OUTSIDE_SECONDS, ...(message?.ttls ?? [])) * SECOND_US;
  }

  /** Which name servers a ConfigMap may have given. */
  #routings(fromUs: number, { answeredUs }: Reply): readonly Routing[] {
    const routings = this.#world.routing.between(CONFIG_MAP, fromUs, answeredUs);
    return routings.map((routing = DEFAULT_ROUTING) => routing);
  }

  /**
   * Says when an answer is wrong. `wrong` compares it with what follows from states of objects. While kubedns may not see the API
   * server it may see what has changed of a service, and not yet of its slices, or the other way round: watches come back one by one.
   */
  #judge(asked: Asked, reply: Reply, wrong: Wrong): Message | undefined {
    const message = this.#usable(asked, reply);
    if (message === undefined) return undefined;
    const text = this.#wrongSince(() => Number.NEGATIVE_INFINITY, asked, reply, message, wrong);
    if (text === undefined) return message;
    this.violation('answer', `${asked.text}: ${text}`);
    return undefined;
  }

  /** The same where of some things only what they were since a time counts. */
  #wrongSince(
    sinceUsOf: (name: string) => number,
    { way }: Asked,
    reply: Reply,
    message: Message,
    wrong: Wrong,
  ): string | undefined {
    const oldestUs = this.#oldestUs(way, reply);
    const statesOf = (name: string) =>
      this.#world.history.between(name, Math.max(oldestUs, sinceUsOf(name)), reply.answeredUs);
    const text = wrong(message, statesOf);
    if (text === undefined || !this.#isApiHidden(way, reply)) return text;
    return wrong(message, (name) => seenApart(statesOf(name))) && text;
  }

  #givenBy(process: object, question: string): Given[] {
    const ofProcess = this.#given.get(process) ?? new Map<string, Given[]>();
    this.#given.set(process, ofProcess);
    const given = ofProcess.get(question) ?? [];
    ofProcess.set(question, given);
    return given;
  }

  /**
   * A process gives no answer that is older than one that it has given. A cache that asks again, as its answer is over or has changed
   * since, may get one out of a snapshot, which says so where the client has EDNS.
   */
  #judgeAge(
    { service, asked, reply, message, wrong }: JudgedAnswer,
    given: readonly Given[],
  ): void {
    const { way, text } = asked;
    const { askedUs, answeredUs } = reply;
    // dnsmasq makes that of NXDOMAIN, by what it has of other types (its README).
    if (message.rcode === 'NOERROR' && message.answers.length === 0) return;
    const mayBeOfSnapshot = way.caches > 0 && this.#mayBeOfSnapshot(way, reply);
    let sinceUs = Number.NEGATIVE_INFINITY;
    for (const one of given) {
      if (one.answeredUs >= askedUs) continue;
      // A change that was on its way to the cache has dropped it.
      const versions = this.#world.history.versions(service, one.askedUs - FRESH_US, answeredUs);
      const isKept = answeredUs <= one.keptUntilUs && versions.length === 1;
      if (isKept || !mayBeOfSnapshot) sinceUs = Math.max(sinceUs, one.sinceUs);
    }
    // What had ended when that state began is too old.
    const sinceUsOf = (name: string) => (name === service ? sinceUs + 1 : Number.NEGATIVE_INFINITY);
    const older = this.#wrongSince(sinceUsOf, asked, reply, message, wrong);
    if (older !== undefined) this.violation('older', `${text}: older than before: ${older}`);
  }

  /** Notes what an answer says of a service, if that is newer than all before, or has a longer TTL. */
  #noteGiven({ service, asked, reply, message, wrong }: JudgedAnswer, given: Given[]): void {
    const { way } = asked;
    const { askedUs, answeredUs } = reply;
    const oldestUs = this.#oldestUs(way, reply);
    const { history } = this.#world;
    const statesOf = (name: string) => history.between(name, oldestUs, answeredUs);
    const oldest = history
      .versions(service, oldestUs, answeredUs)
      .find(({ state }) => wrong(message, (name) => (name === service ? [state] : statesOf(name))) === undefined); // prettier-ignore
    const sinceUs = oldest?.settledUs ?? Number.POSITIVE_INFINITY;
    // Of what changed while something was wrong the servers of a cache may know less, one than another.
    const isOfAll = this.#troubles.since(way, sinceUs, sinceUs + FRESH_US) === undefined;
    if (sinceUs === Number.POSITIVE_INFINITY || (way.caches > 0 && !isOfAll)) return;
    // What comes while the change is announced is not cached.
    const isCached = message.answers.length > 0 && !isAlias(recordsOf(message)) && sinceUs + FRESH_US < askedUs; // prettier-ignore
    const isKept = isCached && this.#troubleSince(way, reply) === undefined;
    const leftUs = isKept ? Math.min(...message.ttls) * SECOND_US - HEARD_US : 0;
    const keptUntilUs = askedUs + leftUs;
    const last = given.at(-1) ?? { sinceUs: Number.NEGATIVE_INFINITY, keptUntilUs: 0 };
    if (sinceUs < last.sinceUs || (sinceUs === last.sinceUs && keptUntilUs <= last.keptUntilUs)) return; // prettier-ignore
    // The first one of a state, and the one with the longest TTL.
    if (given.at(-2)?.sinceUs === sinceUs) given.pop();
    given.push({ askedUs, answeredUs, sinceUs, keptUntilUs });
  }

  #answersOf(
    service: string,
    question: ServiceQuestion,
    statesOf: StatesOf,
    asked: Asked,
    reply: Reply,
  ): readonly Expected[] {
    const targetAnswers = (name: string, type: AddressType): readonly Expected[] => {
      const target = this.#serviceOf(name);
      if (target !== undefined) return this.#answersOf(target, { type }, statesOf, asked, reply);
      const routings = this.#routings(this.#oldestUs(asked.way, reply), reply);
      return routings.map((routing) => found([`${type} ${outsideAddress(name, type, viewOf(name, routing))}`])); // prettier-ignore
    };
    return statesOf(service).flatMap((state) =>
      expectedAnswers(service, state, question, targetAnswers),
    );
  }

  /** `web.shop`, of its name in the zone. */
  #serviceOf(name: string): string | undefined {
    const end = `.svc.${DOMAIN}`;
    return name.endsWith(end) ? name.slice(0, -end.length) : undefined;
  }

  /** Whether kubedns may not have seen the API server since the objects of an answer may be. */
  #isApiHidden(way: Way, reply: Reply): boolean {
    const oldestUs = this.#oldestUs(way, reply);
    return this.#troubles.since(way, oldestUs, reply.answeredUs, true) !== undefined;
  }

  #troubleSince(way: Way, { askedUs, answeredUs }: Reply): number | undefined {
    return this.#troubles.since(way, askedUs, answeredUs);
  }

  /**
   * From when on the objects of an answer may be. What had changed before something went wrong was known on the whole way;
   * since then each cache may have what it got one TTL ago, from a kubedns that knew then what it had seen before it
   * lost the API server. One that starts meanwhile has what its snapshot has, which is older where it did not run before, either.
   */
  #oldestUs(way: Way, reply: Reply): number {
    const { askedUs, answeredUs } = reply;
    const sinceUs = this.#troubleSince(way, reply);
    if (sinceUs === undefined) return askedUs - FRESH_US;
    const cachedUs = askedUs - cachedForUs(way.caches, reply);
    const seenUs = this.#troubles.since(way, cachedUs, answeredUs, true);
    if (seenUs !== undefined && this.#mayBeOfSnapshot(way, reply))
      return this.#troubles.since(way, cachedUs, answeredUs, true, 'kubedns')! - SNAPSHOT_US;
    return Math.max(sinceUs, Math.min(seenUs ?? cachedUs, cachedUs)) - FRESH_US;
  }

  /**
   * Whether a kubedns may have had what it answered from a snapshot: where the client has EDNS, such an answer for a service says so. What
   * it does not have of other names may be answered outside.
   */
  #mayBeOfSnapshot(way: Way, reply: Reply): boolean {
    const { message, askedUs, answeredUs } = reply;
    const hasOpt = message?.additionals.some(({ type }) => type === 'OPT') === true;
    if (hasOpt && isOfService(message) && !reasonsOf(message).includes(STALE)) return false;
    const cachedUs = askedUs - cachedForUs(way.caches, reply);
    const seenUs = this.#troubles.since(way, cachedUs, answeredUs, true);
    return seenUs !== undefined && this.#troubles.mayRestart(way, 'kubedns', seenUs, answeredUs);
  }

  /** The message, if it is one whose records are to be judged. */
  #usable({ text, way }: Asked, reply: Reply): Message | undefined {
    this.questions++;
    const { message, askedUs, answeredUs, extra, foreign, tooLong } = reply;
    this.#scheduler.note(`${text} ${message?.rcode} ${answeredUs - askedUs}`);
    if (tooLong > 0) this.violation('size', `${text}: longer than the client takes`);
    const sinceUs = this.#troubleSince(way, reply);
    const isCalm = sinceUs === undefined || !this.#troubles.mayFail(way, sinceUs, answeredUs);
    // A late answer may come to a port that another question has by now.
    const isForeign = foreign > 0 && !this.#troubles.isAnyAt(askedUs);
    if (isForeign) this.violation('foreign', `${text}: another ID or question`);
    // Those of node-cache are its own.
    if (way.caches < 2) for (const code of reasonsOf(message)) this.#reasons.add(code);
    if (message === undefined) {
      if (isCalm) this.violation('no answer', text);
      return undefined;
    }
    if (!areOwnersRight(message)) this.violation('answer', `${text}: a record of another name`);
    const ttlText = wrongTtl(timedRecordsOf(message), DOMAIN, way.caches > 0);
    if (ttlText !== undefined) this.violation('ttl', `${text}: ${ttlText}`);
    const isFailure = message.rcode !== 'NOERROR' && message.rcode !== 'NXDOMAIN';
    if (isCalm && extra > 0) this.violation('twice', `${text}: ${extra + 1} answers`);
    if (isCalm && isFailure) this.violation('failure', `${text}: ${message.rcode}`);
    if (isCalm && answeredUs - askedUs > SLOW_US) {
      this.violation('slow', `${text}: ${(answeredUs - askedUs) / 1_000} ms`);
    }
    return isFailure || message.isTruncated ? undefined : message;
  }
}

/** Says when an answer is none of those that are right. */
function wrongAmong(message: Message, possible: readonly Expected[]): string | undefined {
  const got = recordsOf(message);
  if (possible.some((expected) => isEqual(expected, got))) return undefined;
  // NXDOMAIN of a name that dnsmasq has a record of, of another type or of a state before, becomes NOERROR (its README).
  const isOfOther = got.rcode === 'NOERROR' && possible.some(({ rcode }) => rcode === 'NOERROR');
  const isAbsence = ({ rcode, records }: Expected) => rcode === 'NXDOMAIN' && isEqual({ rcode: 'NOERROR', records }, got); // prettier-ignore
  if (isOfOther && possible.some(isAbsence)) return undefined;
  return `${shown(got)}; right is ${someOf(possible.map(shown), ' or ')}`;
}

/**
 * Says when an answer is no union of sets of records: of each of several things, one of those that it may have. What it has in
 * any case must be there.
 */
function wrongInUnion(
  message: Message,
  sets: readonly (readonly (readonly string[])[])[],
  isSame: (got: string, wanted: string) => boolean,
): string | undefined {
  const { rcode, records } = recordsOf(message);
  const possible = sets.flat(2);
  const certain = sets.flatMap((all) =>
    all[0]!.filter((record) => all.every((records) => records.includes(record))),
  );
  const isRight =
    records.every((got) => possible.some((wanted) => isSame(got, wanted))) &&
    certain.every((wanted) => records.some((got) => isSame(got, wanted)));
  if (isRight) return undefined;
  return `${shown({ rcode, records })}; right is ${someOf(possible, ', ') || 'none'}`;
}

const EXTENDED_ERROR = 15;
/** Records that are made of the name, as those of pods: no failure. */
const SYNTHESIZED = 29;
/** What is expired, or from a snapshot. */
const STALE = 3;

/** The Extended DNS Errors of a message. */
function reasonsOf(message: Message | undefined): number[] {
  const options = (message?.additionals ?? []).flatMap((record) => record.type === 'OPT' ? record.options : []); // prettier-ignore
  const isReason = ({ code }: { code: number }) => code === EXTENDED_ERROR;
  const codes = options.filter(isReason).map((option) => ('data' in option ? option.data!.readUInt16BE(0) : 0)); // prettier-ignore
  return codes.filter((code) => code !== SYNTHESIZED);
}

function isOfService({ questions }: Message): boolean {
  return questions.every(({ name }) => name.toLowerCase().endsWith(`.svc.${DOMAIN}`));
}

/** Each record is of the name that was asked for, or of one that a CNAME leads to. */
function areOwnersRight({ questions, answers }: Message): boolean {
  const names = new Set(questions.map(({ name }) => name.toLowerCase()));
  return answers.every((record) => {
    if (!names.has(record.name.toLowerCase())) return false;
    if (record.type === 'CNAME') names.add(record.data.toLowerCase());
    return true;
  });
}

/**
 * How long ago an answer that kubedns gave may have come to the first of some caches, while something is wrong. A cache that has
 * noticed says with the TTL how old an answer is, and asks for another one when that is over.
 */
function cachedForUs(caches: number, reply: Reply): number {
  const longestUs = caches * CUT_OFF_US;
  if (isExpired(reply)) return longestUs + EXPIRED_US;
  const leftSeconds = Math.min(RECORD_SECONDS, ...(reply.message?.ttls ?? []));
  const passedUs = (RECORD_SECONDS + 1 - leftSeconds) * SECOND_US;
  return Math.min(longestUs, caches * UNNOTICED_US + passedUs);
}

function timedRecordsOf({ answers, authorities, additionals }: Message): TimedRecord[] {
  return [...answers, ...authorities, ...additionals].flatMap((record) => {
    if (!('ttl' in record)) return [];
    const { name, type, ttl = 0 } = record;
    return [{ name, type, ttl, ...(type === 'PTR' && { target: record.data }) }];
  });
}

/**
 * Whether the answer has the TTL that expired answers are given with; one without records may. An expired NXDOMAIN is given
 * to no client.
 */
function isExpired({ message }: Reply): boolean {
  return (
    message?.rcode !== 'NXDOMAIN' && message?.ttls.every((ttl) => ttl <= EXPIRED_SECONDS) === true
  );
}

function recordsOf({ rcode, answers }: Message): Expected {
  const end = `.${DOMAIN}`;
  const withoutZone = (name: string) => (name.endsWith(end) ? name.slice(0, -end.length) : name);
  const records = answers.map((record) => {
    // Names are compared without their case: a compressed one has that of the question.
    const data = String((record as { data?: unknown }).data).toLowerCase();
    if (record.type === 'SRV')
      return `SRV ${record.data.port} ${withoutZone(record.data.target.toLowerCase())}`;
    return `${record.type} ${record.type === 'PTR' ? withoutZone(data) : data}`;
  });
  return { rcode: rcode as Expected['rcode'], records: records.sort() };
}

function isAlias({ records }: Expected): boolean {
  return records.some((record) => record.startsWith('CNAME '));
}

/** Each of the expected records once, whatever the label is that the specification does not say. */
function isEqual(expected: Expected, got: Expected): boolean {
  if (expected.rcode !== got.rcode || expected.records.length !== got.records.length) return false;
  const rest = [...got.records];
  // The records with any label last: others may match them, too.
  const wanted = expected.records.toSorted((one, other) => Number(one.includes('*')) - Number(other.includes('*'))); // prettier-ignore
  return wanted.every((record) => {
    const at = rest.findIndex((each) => isRecord(each, record));
    return at >= 0 && rest.splice(at, 1).length === 1;
  });
}

/** Whether a record is one of the model, which may have a name with any label at its end. */
function isRecord(got: string, wanted: string): boolean {
  const [gotEnd, wantedEnd] = [got.lastIndexOf(' '), wanted.lastIndexOf(' ')];
  const isSameKind = got.slice(0, gotEnd) === wanted.slice(0, wantedEnd);
  return isSameKind && isTarget(got.slice(gotEnd + 1), wanted.slice(wantedEnd + 1));
}

function shown({ rcode, records }: Expected): string {
  const counts = new Map<string, number>();
  for (const record of records) counts.set(record, (counts.get(record) ?? 0) + 1);
  const parts = [...counts].map(([record, count]) => (count > 1 ? `${count} x ${record}` : record));
  if (parts.length === 0 || rcode !== 'NOERROR') parts.push(rcode);
  return parts.join(', ');
}

/** Each once, for a reader: the last of them, and how many more there are. */
function someOf(texts: readonly string[], between: string): string {
  const all = [...new Set(texts)];
  const more = all.length - MAX_SHOWN;
  if (more <= 0) return all.join(between);
  return `${all.slice(-MAX_SHOWN).join(between)} and ${more} more`;
}
