/** Where a value is in a list, while it is in one. */
export class PlaceNode<Value> {
  readonly value: Value;
  older: PlaceNode<Value> | undefined;
  newer: PlaceNode<Value> | undefined;

  constructor(value: Value) {
    this.value = value;
  }
}

/** Values in the order in which they were added; one is removed in a step. A Set costs ten times as much. */
export class PlaceList<Value> {
  size = 0;
  #oldest: PlaceNode<Value> | undefined;
  #newest: PlaceNode<Value> | undefined;

  get oldest(): Value | undefined {
    return this.#oldest?.value;
  }

  /** Adds the newest one, which is in no list. */
  add(node: PlaceNode<Value>): void {
    node.older = this.#newest;
    if (this.#newest === undefined) this.#oldest = node;
    else this.#newest.newer = node;
    this.#newest = node;
    this.size++;
  }

  /** Removes one that is in this list. */
  remove(node: PlaceNode<Value>): void {
    const { older, newer } = node;
    node.older = node.newer = undefined;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    this.size--;
  }
}
