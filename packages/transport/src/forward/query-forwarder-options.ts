import type { RetryPlan } from './retry-plan.js';
import type { ServerGroup } from './server-group.js';
import type { StaleRules } from './stale-clients.js';

export interface QueryForwarderOptions {
  /** Questions in flight per group of servers, and clients that joined them; beyond, REFUSED. */
  readonly maxInFlight: number;
  readonly plan: RetryPlan;
  /** How many source ports one question uses per server; 1 by default. */
  readonly portLimit?: number;
  /** The largest UDP answer that servers are asked for, in bytes. */
  readonly maxUdpBytes: number;
  /** AD stays as the server set it; it is cleared by default. */
  readonly passesAd?: boolean;
  /** Clients that ask for the version of the zone get that of the reply, if it names this process (RFC 9660); none by default. */
  readonly instance?: Uint8Array | undefined;
  /** The case of names that are sent is random, and the reply must have the same (0x20); as clients sent them by default. */
  readonly mixesCase?: boolean;
  /** What a client gets when its question cannot be sent to any server; REFUSED by default. */
  readonly unsentRcode?: number;
  /** How long SERVFAIL of a server is remembered; 0 is not at all, a second by default. */
  readonly servfailMs?: number;
  /** Called for each query that is refused because too many are in flight. */
  readonly onOverflow?: (group: ServerGroup) => void;
  /** When clients get expired answers; they have none by default. */
  readonly stale?: StaleRules | undefined;
  /** Milliseconds that never fall; the clock of the process by default. */
  readonly now?: () => number;
}
