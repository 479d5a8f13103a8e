/** Where a value is in a list. */
export interface PlaceNode<Value> {
  readonly value: Value;
  older: PlaceNode<Value> | undefined;
  newer: PlaceNode<Value> | undefined;
}

/** Values in the order in which they were added; one is removed in a step. A Set costs ten times as much. */
export class PlaceList<Value> {
  size = 0;
  #oldest: PlaceNode<Value> | undefined;
  #newest: PlaceNode<Value> | undefined;

  get oldest(): Value | undefined {
    return this.#oldest?.value;
  }

  /** Adds the newest one. */
  add(value: Value): PlaceNode<Value> {
    const node: PlaceNode<Value> = { value, older: this.#newest, newer: undefined };
    if (this.#newest === undefined) this.#oldest = node;
    else this.#newest.newer = node;
    this.#newest = node;
    this.size++;
    return node;
  }

  /** Removes one that is in this list. */
  remove({ older, newer }: PlaceNode<Value>): void {
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    this.size--;
  }
}
