import type { OptionsDraft } from './option-values.js';

/** One option as it was given. */
export interface GivenOption {
  readonly name: string;
  /** Empty where it has none. */
  readonly value: string;
  /** Where: `the command line`, `line 3 of /etc/dnsmasq.conf`. */
  readonly place: string;
}

/** The lists of the draft whose members an answer may come from. */
const LISTS = [
  ...(['serverRules', 'addressRules', 'records'] as const),
  ...(['interfaceNames', 'synthDomains'] as const),
] as const;

/** The options in the order given, and which rules and records each of them made. */
export class GivenOptions {
  readonly #all: GivenOption[] = [];
  readonly #makers = new WeakMap<object, GivenOption>();

  get all(): readonly GivenOption[] {
    return this.#all;
  }

  /** The option that made a rule or a record; undefined for those that follow from several. */
  of(made: object): GivenOption | undefined {
    return this.#makers.get(made);
  }

  /** Applies an option to a draft, and notes it; nothing is noted if it throws. */
  apply(given: GivenOption, draft: OptionsDraft, apply: () => void): void {
    const before = LISTS.map((list) => draft[list].length);
    apply();
    this.#all.push(given);
    LISTS.forEach((list, i) => {
      for (const made of draft[list].slice(before[i])) this.#makers.set(made, given);
    });
  }
}

/** An option as it is written: `--server=/corp.example/10.0.0.1`. */
export function optionText({ name, value }: Pick<GivenOption, 'name' | 'value'>): string {
  return value === '' ? `--${name}` : `--${name}=${value}`;
}
