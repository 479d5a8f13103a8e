import type { Owned } from '@kube-dns/testkit';
import type { FaultSigns } from '../fixtures/fault-signs.js';
import type { PageSign } from './page-signs.js';

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
