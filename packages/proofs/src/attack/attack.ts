import type { Remote } from '@kube-dns/testkit';
import type { Pod } from '../fixtures/pod.js';
import type { BirthdayMethods } from './birthday-server.js';
import type { FloodMethods } from './flood.js';
import type { SpooferMethods } from './spoofer.js';
import type { TcpAttackerMethods } from './tcp-attacker.js';

/** The attacking processes. */
export interface Attackers {
  readonly flood: Remote<FloodMethods>;
  readonly tcp: Remote<TcpAttackerMethods>;
  readonly spoofer: Remote<SpooferMethods>;
  readonly birthday: Remote<BirthdayMethods>;
}

/** Where an attack takes place. */
export interface Field {
  readonly pod: Pod;
  readonly attackers: Attackers;
  /** The port of the container that is attacked. */
  readonly port: number;
  /** What the rates of all attacks are multiplied by. */
  readonly strength: number;
  /** How long a spoofer waits for the last answers. */
  readonly lastWordMs: number;
}

/** What an attack did. */
export interface AttackResult {
  /** What it did and how often, for example `52,000 queries`. */
  readonly did: string;
  /** Of that, each second. */
  readonly perSecond: number;
  /** Forged replies that were accepted; undefined where it forged none. */
  readonly accepted?: number;
  /** How many forged replies there were. */
  readonly guesses?: number;
  /** Pairs of ID and port that a reply could have at one time, the most of them; undefined where they are not counted. */
  readonly pairs?: number;
  /** Messages a second that dropped cached answers, after those that may at once; undefined where there are none. */
  readonly dropsPerSecond?: number;
  /** Accepted NOTIFY of an address that may send none; undefined where it may. */
  readonly acceptedNotifies?: number;
}

/** An attack that goes on. */
export interface RunningAttack {
  /** Ends it. */
  finish(): Promise<AttackResult>;
}

/** One kind of attack on one container. */
export interface Attack {
  readonly name: string;
  /** What the attackers do, at what rate when the strength is 1. */
  readonly summary: string;
  readonly target: 'dnsmasq' | 'kubedns';
  /** What the container counts of it, as `CounterChange` names it; nothing of its own unless given. */
  readonly counted?: string;
  start(field: Field): Promise<RunningAttack>;
}

/** A count with digits in groups, and what was counted. */
export function countText(count: number, what: string): string {
  return `${count.toLocaleString('en-US')} ${what}`;
}
