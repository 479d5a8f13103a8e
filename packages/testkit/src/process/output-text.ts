const MAX_CHARACTERS = 2 ** 20;

/** The output of a program on a stream: all of it, or the end when it is long. */
export class OutputText {
  #text = '';

  /** At least the last MiB. */
  get text(): string {
    return this.#text;
  }

  push(part: string): void {
    this.#text += part;
    // Not for each part: cutting copies the rest.
    if (this.#text.length > 2 * MAX_CHARACTERS) this.#text = this.#text.slice(-MAX_CHARACTERS);
  }
}
