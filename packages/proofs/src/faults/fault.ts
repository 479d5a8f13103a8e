import { becomesTrue, type MetricPage, type Owned } from '@kube-dns/testkit';
import type { FaultSigns } from '../fixtures/witness.js';

/** What status pages show of a fault: in words, and as it is found in `/status`. */
interface PageSign {
  readonly text: string;
  readonly found: RegExp;
}

const sign = (text: string, found: RegExp): PageSign => ({ text, found });

/** The signs that several rows have. */
export const PAGE = {
  unlisted: sign(
    'Not ready: which lists are not complete, and why',
    /the first list of services is not complete: connect ECONNREFUSED/,
  ),
  watches: sign(
    'Watches that are not open, with the last failure; after 5 s, that they are stale',
    /"resource":"services","state":"(?:connecting|stale)"[^}]*"lastFailure":"[^"]/,
  ),
  idle: sign('How often the watches were idle', /"restarts":"[^"]*idle \d/),
  refused: sign('That it is refused, which, and why', /the configuration of [^"]* is refused: /),
  serversAway: sign('Which servers do not reply, why and since when', /no server for names of /),
  serverAway: sign('The server that is down, why and since when', /"state":"down","isPreferred/),
  timeouts: sign('Time-outs of servers', /"failures":"[^"]*timeout \d/),
  refusals: sign('Refusals of servers', /"failures":"[^"]*refused \d/),
  servfails: sign('SERVFAIL of servers', /"failures":"[^"]*servfail \d/),
  malformed: sign('Malformed replies of servers', /"failures":"[^"]*malformed \d/),
  probeOfKubedns: sign('The probe of kubedns that fails', /probe kubedns(?: fails)?: /),
  probeOfDnsmasq: sign('The probe of dnsmasq that fails', /probe dnsmasq(?: fails)?: /),
  untold: sign(
    'That changes are not announced any more, and why',
    / announces no changes (?:any more: |of )/,
  ),
  missedMessages: sign('How often a message was missed', /"flushes":"[^"]*missed-message \d/),
  noServersFile: sign('The file that has no servers', /no servers found in /),
} as const;

/** What a row of the fault table works with. */
export interface FaultContext {
  /** The Node that runs the containers, and its flags after those of each container. */
  readonly node: string;
  readonly nodeFlags: readonly string[];
  /** Everything that the row starts is added here, and ends with the row. */
  readonly owned: Owned;
  /** Records a claim that does not hold, as one lower-case sentence; the row continues. */
  readonly claim: (holds: boolean, otherwise: string) => void;
  /**
   * The same of what only a machine without other work can keep: how long something took, and that no answer was lost or
   * SERVFAIL for its time-out.
   */
  readonly claimQuiet: (holds: boolean, otherwise: string) => void;
  readonly progress: (text: string) => void;
  /** Whether the machine has other work: then `claimQuiet` does nothing. */
  readonly busy: boolean;
  /** What clients and pages of the row say. */
  readonly signs: FaultSigns;
}

/** One row of the fault table: the fault, the claims, and the test of both. */
export interface Fault {
  /** As `--only` takes it: lower case, words joined by dashes. */
  readonly id: string;
  readonly happens: string;
  readonly clients: string;
  /** For how long clients see that, with the defaults of all flags. */
  readonly duration: string;
  /** The most that `run` may measure of it, with the flags that it sets, on a busy machine. */
  readonly limitMs: number;
  /** The codes of Extended DNS Errors that clients with EDNS get, one of these; none unless given. */
  readonly reasons?: readonly number[];
  /** Whether so many answers have one that dig reads it; true unless given. */
  readonly haveAllReason?: boolean;
  /** What status pages show meanwhile; nothing unless given. */
  readonly shows?: PageSign;
  /** Names of metrics are in backquotes. */
  readonly metrics: string;
  /** Only the command runs it: it is long, is all about time, or much like a row that is part of the tests. */
  readonly isCommandOnly?: boolean;
  /** Why it cannot be tested on this machine; undefined where it can. */
  readonly skipReason?: () => string | undefined;
  /**
   * Makes it happen to real processes, holds every claim against what they do, and resolves to the ms
   * for which clients saw it: 0 when they saw nothing. Rejects when it could not be made to happen.
   */
  readonly run: (context: FaultContext) => Promise<number>;
}

/** What a counter of a container has once it is more than 0; a busy machine counts late, a minute at most. */
export async function counted(
  container: { readonly metrics: () => Promise<MetricPage> },
  metric: string,
  labels: Readonly<Record<string, string>>,
  limitMs = 60_000,
): Promise<number> {
  let value = 0;
  const isCounted = async () => {
    value = (await container.metrics()).sum(metric, labels);
    return value > 0;
  };
  await becomesTrue(isCounted, { limitMs });
  return value;
}

/** Questions a second of a busy machine: answers are to come sooner than questions. */
const BUSY_RATE = 25;

/** Questions a second of a client; `quiet` where the machine has no other work. */
export function questionRate({ busy }: Pick<FaultContext, 'busy'>, quiet: number): number {
  return busy ? Math.min(BUSY_RATE, quiet) : quiet;
}
