import type { FactName, Facts, FactValues } from './facts.js';

export type Severity = 'error' | 'warning';

/** What is wrong: a sentence without its stop, and the command that mends it where that of the finding does not. */
export interface Fault {
  readonly text: string;
  readonly mend?: string | undefined;
  /** Where it is less than that of the finding. */
  readonly severity?: Severity;
}

/** What a rule sees in the facts, or why it sees nothing. */
export type Seen =
  | {
      readonly faults: readonly Fault[];
      /** Of how much of it, where that is not all: `2 of 3 pods`. */
      readonly partly?: string | undefined;
    }
  | {
      readonly because: string;
      /** A program that hangs would say it. */
      readonly isHang: boolean;
    };

/** One way to look for a finding. */
export interface Rule {
  /** What is looked at. */
  readonly what: string;
  readonly judge: (facts: Facts) => Seen;
}

/** A finding of `kube-dns check`: what can be wrong, and the rules that look for it. */
export interface Finding {
  readonly code: string;
  /** The worst that it can be. */
  readonly severity: Severity;
  /** What is right when nothing is found, a sentence without its stop. */
  readonly passes: string;
  /** What is wrong, a sentence without its stop. */
  readonly title: string;
  /** The command that mends it; words in upper case are to be replaced. */
  readonly mend: string;
  readonly rules: readonly Rule[];
}

/** A rule that needs these facts; without one of them it says why. */
export function rule<K extends FactName>(
  what: string,
  needs: readonly K[],
  faultsOf: (facts: Pick<FactValues, K>) => readonly (Fault | string)[],
): Rule {
  return {
    what,
    judge: ({ values, unseen, partly = {}, hangs = {} }) => {
      const hang = needs.map((name) => hangs[name]).find((some) => some !== undefined);
      const missing = needs.find((name) => !(name in values));
      if (missing !== undefined) {
        const because = hangs[missing] ?? unseen[missing] ?? 'it was not looked for';
        return { because, isHang: hang !== undefined };
      }
      const faults = faultsOf(values as Pick<FactValues, K>);
      if (hang !== undefined && faults.length === 0) return { because: hang, isHang: true };
      return {
        faults: faults.map((each) => (typeof each === 'string' ? { text: each } : each)),
        partly: needs.map((name) => partly[name]).find((some) => some !== undefined),
      };
    },
  };
}

const SHOWN = 3;

/** The first of them, and how many more there are: `a, b, c and 4 more`. */
export function listed(items: readonly string[]): string {
  const more = items.length - SHOWN;
  const shown = items.slice(0, SHOWN).join(', ');
  return more > 0 ? `${shown} and ${more} more` : shown;
}

/** `1 pod`, `2 pods`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
