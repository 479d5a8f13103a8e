interface Version<State> {
  readonly state: State | undefined;
  /** From when it may have been so: what makes it so was asked for. */
  readonly sentUs: number;
  /** From when it has been so: that was answered. */
  settledUs: number;
}

/** The states that each thing has had, by its name, and when; `undefined` when there is no such thing. */
export class History<State> {
  readonly #versions = new Map<string, Version<State>[]>();
  readonly #keptUs: number;

  /** States that ended longer than `keptUs` ago are forgotten. */
  constructor(keptUs: number) {
    this.#keptUs = keptUs;
  }

  /** A request that makes this state was sent; the result says when it was answered. */
  begin(name: string, state: State | undefined, nowUs: number): (nowUs: number) => void {
    const versions = this.#versions.get(name) ?? [{ state: undefined, sentUs: 0, settledUs: 0 }];
    this.#versions.set(name, versions);
    const version: Version<State> = { state, sentUs: nowUs, settledUs: Number.POSITIVE_INFINITY };
    versions.push(version);
    return (settledUs) => {
      version.settledUs = settledUs;
      const first = versions.findIndex((_, at) => {
        const next = versions[at + 1];
        return next === undefined || next.settledUs > settledUs - this.#keptUs;
      });
      versions.splice(0, first);
    };
  }

  get names(): Iterable<string> {
    return this.#versions.keys();
  }

  /** All states that a thing may have had at a time between two. */
  between(name: string, fromUs: number, toUs: number): (State | undefined)[] {
    return this.versions(name, fromUs, toUs).map(({ state }) => state);
  }

  /** The same, the oldest first, with the time since when each has been certain: Infinity where that was not answered. */
  versions(name: string, fromUs: number, toUs: number): readonly Readonly<Version<State>>[] {
    const versions = this.#versions.get(name);
    if (versions === undefined) return [{ state: undefined, sentUs: 0, settledUs: 0 }];
    // Until another one is certain; a request that was never answered ends nothing.
    let endUs = Number.POSITIVE_INFINITY;
    const possible: Version<State>[] = [];
    for (const version of versions.toReversed()) {
      if (version.sentUs <= toUs && endUs >= fromUs) possible.unshift(version);
      endUs = Math.min(endUs, version.settledUs);
    }
    return possible;
  }

  /** The last state. */
  current(name: string): State | undefined {
    return this.#versions.get(name)?.at(-1)?.state;
  }
}
