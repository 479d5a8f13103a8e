/** One option as it was given. */
export interface GivenOption {
  readonly name: string;
  /** Empty where it has none. */
  readonly value: string;
  /** Where: `the command line`, `line 3 of /etc/dnsmasq.conf`. */
  readonly place: string;
}

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

  /** Notes an option, and the rules and records that it made. */
  note(given: GivenOption, made: readonly object[]): void {
    this.#all.push(given);
    for (const each of made) this.#makers.set(each, given);
  }
}

/** An option as it is written: `--server=/corp.example/10.0.0.1`. */
export function optionText({ name, value }: Pick<GivenOption, 'name' | 'value'>): string {
  return value === '' ? `--${name}` : `--${name}=${value}`;
}
