/** A note of a conversion about its input. */
export interface Note {
  /** The argument, directive, key or field, as in the input. */
  readonly what: string;
  readonly reason: string;
  /** Whether it is missing from the output, not only different there. */
  readonly isLost: boolean;
}

/** What could not be carried over and what was changed, in the order of the input. */
export class Notes {
  readonly #notes: Note[] = [];

  /** The output does not have it. */
  lose(what: string, reason: string): void {
    this.#notes.push({ what, reason, isLost: true });
  }

  /** The output has it with another meaning. */
  change(what: string, reason: string): void {
    this.#notes.push({ what, reason, isLost: false });
  }

  get all(): readonly Note[] {
    return this.#notes;
  }

  get hasLosses(): boolean {
    return this.#notes.some(({ isLost }) => isLost);
  }

  /** One line each, losses first; empty without notes. */
  lines(): string[] {
    const text = ({ what, reason, isLost }: Note): string =>
      oneLine(`${isLost ? 'not carried over' : 'differs'}: ${what}: ${reason}`);
    const losses = this.#notes.filter(({ isLost }) => isLost);
    const changes = this.#notes.filter(({ isLost }) => !isLost);
    return [...new Set([...losses, ...changes].map(text))];
  }
}

/** A line break within a quoted word would end the comment. */
function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, ' ');
}
