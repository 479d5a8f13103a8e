const MAX_CHARACTERS = 2 ** 20;

/** What a program says on a stream: all of it, but of a long life only the end. */
export class OutputText {
  #text = '';

  /** At least the last MiB. */
  get text(): string {
    return this.#text;
  }

  push(part: string): void {
    this.#text += part;
    // Not for each part: cutting copies what is left.
    if (this.#text.length > 2 * MAX_CHARACTERS) this.#text = this.#text.slice(-MAX_CHARACTERS);
  }
}
