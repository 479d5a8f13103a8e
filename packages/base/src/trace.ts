/** A kind of fact that is noted in traces. Each kind stands beside the code that decides, with what its facts have. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- it types the facts that `Trace` has
export class TraceKind<Fact> {
  /** For types alone: it is never set. */
  declare readonly fact: Fact;
}

/**
 * What was decided about one query, as facts in their order. Only a query that is explained has one: the code that
 * decides notes what it did if there is a trace, and does nothing else differently.
 */
export class Trace {
  readonly #facts = new Map<TraceKind<unknown>, unknown[]>();

  /** Notes a fact, which is not changed later. */
  note<Fact>(kind: TraceKind<Fact>, fact: Fact): void {
    const facts = this.#facts.get(kind);
    if (facts === undefined) this.#facts.set(kind, [fact]);
    else facts.push(fact);
  }

  /** The facts of a kind, in order. */
  all<Fact>(kind: TraceKind<Fact>): readonly Fact[] {
    return (this.#facts.get(kind) ?? []) as Fact[]; // as `note` has stored them
  }

  /** The first fact of a kind. */
  first<Fact>(kind: TraceKind<Fact>): Fact | undefined {
    return this.all(kind)[0];
  }
}
