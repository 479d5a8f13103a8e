import type { OracleQuestion } from './questions.js';
import type { World } from './world.js';

/** A world, and until when it was the last one: undefined while it is. */
interface Past {
  readonly world: World;
  endMs: number | undefined;
}

/** Nothing may be this old. */
const FORGOTTEN_MS = 45_000;

/** The worlds of the last 45 s. All moments are on the monotonic clock. */
export class History {
  /** The newest last. */
  readonly #past: Past[] = [];

  get world(): World {
    return this.#past.at(-1)!.world;
  }

  /** A world is the API's from now on; `endMs` is when the write of it had returned. */
  add(world: World, endMs: number): void {
    const last = this.#past.at(-1);
    if (last !== undefined) last.endMs = endMs;
    this.#past.push({ world, endMs: undefined });
    while ((this.#past[0]!.endMs ?? endMs) < endMs - FORGOTTEN_MS) this.#past.shift();
  }

  /**
   * Until when an answer to a question was right, the moment at which it was asked at the latest; undefined where it
   * was never right. `isRight` compares it with what was expected.
   */
  rightUntil(
    question: OracleQuestion,
    askedMs: number,
    isRight: (expected: string) => boolean,
  ): number | undefined {
    for (let i = this.#past.length - 1; i >= 0; i--) {
      const { world, endMs = Infinity } = this.#past[i]!;
      if (isRight(question.expected(world))) return Math.min(endMs, askedMs);
    }
    return undefined;
  }
}
