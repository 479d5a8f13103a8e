/** One thing that a conversion has to say about its input. */
export interface Remark {
  /** The argument, directive, key or field, as the input has it. */
  readonly what: string;
  readonly reason: string;
  /** Whether it is missing from the output; what is only different there is not. */
  readonly isLost: boolean;
}

/** What could not be carried over, and what became something else, in the order of the input. */
export class Remarks {
  readonly #remarks: Remark[] = [];

  /** The output does not have it. */
  lose(what: string, reason: string): void {
    this.#remarks.push({ what, reason, isLost: true });
  }

  /** The output has it, and it means something else there. */
  change(what: string, reason: string): void {
    this.#remarks.push({ what, reason, isLost: false });
  }

  get all(): readonly Remark[] {
    return this.#remarks;
  }

  get hasLosses(): boolean {
    return this.#remarks.some(({ isLost }) => isLost);
  }

  /** One line each, losses first, for people and for comments; empty when there is nothing to say. */
  lines(): string[] {
    const text = ({ what, reason, isLost }: Remark): string =>
      oneLine(`${isLost ? 'not carried over' : 'differs'}: ${what}: ${reason}`);
    const losses = this.#remarks.filter(({ isLost }) => isLost);
    const changes = this.#remarks.filter(({ isLost }) => !isLost);
    return [...new Set([...losses, ...changes].map(text))];
  }
}

/** A line break within a quoted word would end the comment that it stands in. */
function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, ' ');
}
