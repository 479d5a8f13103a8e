import type { Reply } from './cluster/client.js';
import { outsideAddress } from './cluster/upstream.js';
import type { History } from './model/history.js';
import {
  expectedAnswer,
  type Expected,
  isTarget,
  reverseTargets,
  type ServiceQuestion,
  type ServiceState,
} from './model/service-model.js';
import type { Scheduler } from './scheduler.js';

export type ViolationKind =
  'answer' | 'size' | 'no answer' | 'failure' | 'slow' | 'foreign' | 'twice' | 'error' | 'close';

export interface Violation {
  readonly atUs: number;
  readonly kind: ViolationKind;
  readonly text: string;
}

const SECOND_US = 1_000_000;
/** After the last fault: probes, back-offs and subscriptions have come back. */
const RECOVERY_US = 15 * SECOND_US;
/** In calm times an answer is no older than this. */
const FRESH_US = 0.3 * SECOND_US;
/** A cache that is cut off notices it within 12 s and gives an answer for its TTL; one behind it has it for one more. */
const CUT_OFF_US = 80 * SECOND_US;
const SLOW_US = SECOND_US;
/** The TTL of an expired answer (README of dnsmasq and node-cache). */
const EXPIRED_SECONDS = 5;

/** A time in which things went wrong, one after the other, with the recovery at its end. */
interface Disturbance {
  readonly fromUs: number;
  untilUs: number;
  /** When kubedns first could not see the API server, and for how long then: from one fault to the next. */
  blindFromUs: number | undefined;
  blindUs: number;
}

/** Says whether answers are right: by the objects of the cluster, and by how long ago something went wrong. */
export class Judge {
  readonly violations: Violation[] = [];
  questions = 0;
  readonly #scheduler: Scheduler;
  readonly #history: History<ServiceState>;
  readonly #disturbances: Disturbance[] = [];

  constructor(scheduler: Scheduler, history: History<ServiceState>) {
    this.#scheduler = scheduler;
    this.#history = history;
  }

  violation(kind: ViolationKind, text: string): void {
    this.#scheduler.note(`violation ${kind} ${text}`);
    this.violations.push({ atUs: this.#scheduler.nowUs, kind, text });
  }

  /**
   * Something goes wrong until a time: for that time and the recovery after it, old answers and none are right. `blindUs` of it
   * kubedns may not see the API server.
   */
  disturb(fromUs: number, untilUs: number, blindUs: number): void {
    let last = this.#disturbances.at(-1);
    if (last === undefined || fromUs > last.untilUs) {
      last = { fromUs, untilUs: fromUs, blindFromUs: undefined, blindUs: 0 };
      this.#disturbances.push(last);
    }
    if (blindUs > 0) {
      last.blindFromUs ??= fromUs;
      last.blindUs = Math.max(last.blindUs, fromUs + blindUs - last.blindFromUs);
    }
    // What TCP could not deliver is sent again after twice the time of the try before: no later than as long again.
    last.untilUs = Math.max(last.untilUs, 2 * untilUs - fromUs + RECOVERY_US);
  }

  /** What went wrong at some time between a question and its answer. */
  #disturbanceOf({ askedUs, answeredUs }: Reply): Disturbance | undefined {
    return this.#disturbances.findLast(
      ({ fromUs, untilUs }) => fromUs <= answeredUs && untilUs >= askedUs,
    );
  }

  /**
   * How old the objects of an answer may be: what changed before the fault began was known everywhere by then, and what
   * changed during it is known when it is over.
   */
  #oldestUs(reply: Reply): number {
    const freshUs = reply.askedUs - FRESH_US;
    const disturbance = this.#disturbanceOf(reply);
    if (disturbance === undefined) return freshUs;
    const { fromUs, blindUs } = disturbance;
    // An expired answer, in place of none, may be as old as the fault.
    const mostUs = isExpired(reply) ? Number.POSITIVE_INFINITY : blindUs + CUT_OFF_US;
    return Math.min(freshUs, Math.max(fromUs - FRESH_US, reply.askedUs - mostUs));
  }

  /** Whether something is wrong now, so that a program may end for want of another. */
  get isDisturbed(): boolean {
    const { nowUs } = this.#scheduler;
    return (this.#disturbances.at(-1)?.untilUs ?? 0) >= nowUs;
  }

  /** The answer to a question for a service, a host or a port of it. */
  service(service: string, question: ServiceQuestion, text: string, reply: Reply): void {
    const message = this.#usable(text, reply);
    if (message === undefined) return;
    const fromUs = this.#oldestUs(reply);
    const states = this.#history.between(service, fromUs, reply.answeredUs);
    const possible = states.map((state) => expectedAnswer(state, question, addressOutside));
    const got = recordsOf(message);
    if (possible.some((expected) => isEqual(expected, got))) return;
    const wanted = [...new Set(possible.map(shown))].join(' or ');
    this.violation('answer', `${text}: ${shown(got)}; right is ${wanted}`);
  }

  /** The answer to a question for the reverse name of an address; `zone` is that of the cluster. */
  reverse(address: string, zone: string, text: string, reply: Reply): void {
    const message = this.#usable(text, reply);
    if (message === undefined) return;
    const fromUs = this.#oldestUs(reply);
    const states = [...this.#history.names].map(
      (service) =>
      this.#history
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
    this.violation('answer', `${text}: ${names.join(', ') || message.rcode}; right is ${[...new Set(possible)].join(', ') || 'none'}`); // prettier-ignore
  }

  /** The answer to a question for a name outside of the cluster. */
  outside(text: string, record: string, reply: Reply): void {
    const message = this.#usable(text, reply);
    if (message === undefined) return;
    const got = recordsOf(message);
    const expected: Expected = { rcode: 'NOERROR', records: [record] };
    if (!isEqual(expected, got)) {
      this.violation('answer', `${text}: ${shown(got)}; right is ${shown(expected)}`);
    }
  }

  /** The message, if it is one whose records are to be judged. */
  #usable(text: string, reply: Reply): NonNullable<Reply['message']> | undefined {
    this.questions++;
    const { message, askedUs, answeredUs, extra, foreign, tooLong } = reply;
    this.#scheduler.note(`${text} ${message?.rcode} ${answeredUs - askedUs}`);
    if (tooLong > 0) this.violation('size', `${text}: longer than the client takes`);
    const isCalm = this.#disturbanceOf(reply) === undefined;
    if (isCalm && foreign > 0) this.violation('foreign', `${text}: another ID or question`);
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

function addressOutside(name: string, type: 'A' | 'AAAA'): string {
  return outsideAddress(name, type, 'public');
}

/** Whether the answer has the TTL that expired answers are given with. */
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
