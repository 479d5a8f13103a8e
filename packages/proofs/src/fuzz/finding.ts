import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a parser may not do with an input. */
export type FaultKind = 'throws' | 'slow' | 'allocates' | 'grows' | 'hangs';

export interface Finding {
  readonly kind: FaultKind;
  /** What was thrown and where, or how much it was. */
  readonly detail: string;
  /** The input's file in the corpus; empty where there is no single input. */
  readonly file: string;
}

/** The folder with one folder for each parser, in it the inputs that were findings once. */
export class FindingFiles {
  readonly #folder: string;

  constructor(folder: string, parser: string) {
    this.#folder = join(folder, parser);
  }

  /** The stored inputs, by file name. */
  read(): ReadonlyMap<string, Buffer> {
    return new Map(this.#names().map((name) => [name, readFileSync(join(this.#folder, name))]));
  }

  /** Stores an input under a name that contains the kind of finding; returns the name. */
  write(kind: FaultKind, detail: string, input: Uint8Array): string {
    const digest = createHash('sha256').update(input).digest('hex').slice(0, 8);
    const stored = this.#names().find((name) => name.endsWith(`-${digest}.bin`));
    if (stored !== undefined) return stored;
    const words = detail.toLowerCase().replace(/[^a-z]+/g, '-');
    const what = kind === 'throws' ? `${kind}-${words.slice(0, 60).replace(/^-|-$/g, '')}` : kind;
    const name = `${what}-${digest}.bin`;
    mkdirSync(this.#folder, { recursive: true });
    writeFileSync(join(this.#folder, name), input);
    return name;
  }

  #names(): string[] {
    try {
      return readdirSync(this.#folder).sort();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  }
}
