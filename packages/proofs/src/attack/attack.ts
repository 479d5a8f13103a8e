import type { Remote } from '@kube-dns/testkit';
import type { Pod } from '../fixtures/pod.js';
import type { FloodMethods } from './flood.js';
import type { SpooferMethods } from './spoofer.js';
import type { TcpAttackerMethods } from './tcp-attacker.js';

/** The processes that attack, each of its own. */
export interface Attackers {
  readonly flood: Remote<FloodMethods>;
  readonly tcp: Remote<TcpAttackerMethods>;
  readonly spoofer: Remote<SpooferMethods>;
}

/** Where an attack takes place. */
export interface Field {
  readonly pod: Pod;
  readonly attackers: Attackers;
  /** The port of the container that is attacked. */
  readonly port: number;
  /** What the rates of all attacks are multiplied by. */
  readonly strength: number;
  /** How long a spoofer waits for what may still be believed. */
  readonly lastWordMs: number;
}

/** What an attack did. */
export interface AttackResult {
  /** What it did how often, as `52,000 queries`. */
  readonly did: string;
  /** Of that, each second. */
  readonly perSecond: number;
  /** Forged replies that somebody believed, where it forged any. */
  readonly accepted?: number;
  /** How many forged replies there were. */
  readonly guesses?: number;
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
  start(field: Field): Promise<RunningAttack>;
}

/** Tells of something with its number of digits in groups. */
export function countText(count: number, what: string): string {
  return `${count.toLocaleString('en-US')} ${what}`;
}
