/** A longer word is no typing mistake; the cost of a comparison grows with its length. */
const MAX_WORD = 64;
/** How much of a word may be wrong. */
const MAX_SHARE = 1 / 3;
const DASH = 0x2d;
const UNDERSCORE = 0x5f;
/** Of `distance`: a command line may have hundreds of candidates for each of its words, and they allocate nothing. */
const ROWS = [0, 1, 2].map(() => new Uint8Array(MAX_WORD + 1));

/**
 * The end of a complaint about an unknown word: `; did you mean --domain?` where a candidate is near,
 * else `; see PROGRAM --help`. Dashes in front, case, and `_` for `-` make no difference.
 */
export function hint(word: string, candidates: Iterable<string>, program: string): string {
  const near = nearest(word, candidates);
  return near === undefined ? `; see ${program} --help` : `; did you mean ${near}?`;
}

/** The candidate with the fewest differences from a mistyped word, or that it begins; undefined where none is near. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const length = word.length - dashes(word);
  if (length < 2 || length > MAX_WORD) return undefined;
  let best: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const size = candidate.length - dashes(candidate);
    const most = Math.max(1, size * MAX_SHARE);
    const isBegun = begins(word, candidate);
    // No shorter distance is possible between words of other lengths.
    if (!isBegun && (size > MAX_WORD || Math.abs(size - length) > most)) continue;
    const cost = isBegun ? 1 : distance(word, candidate);
    if (cost < least && cost <= most) {
      best = candidate;
      least = cost;
    }
  }
  return best;
}

/** How many dashes are in front. */
function dashes(word: string): number {
  let count = 0;
  while (word.charCodeAt(count) === DASH) count++;
  return count;
}

/** A character of a word, in lower case, with `-` for `_`. */
function plain(word: string, at: number): number {
  const code = word.charCodeAt(at);
  if (code === UNDERSCORE) return DASH;
  return code >= 0x41 && code <= 0x5a ? code + 0x20 : code;
}

/** Whether a candidate begins with a word. */
function begins(word: string, candidate: string): boolean {
  const shift = dashes(candidate) - dashes(word);
  for (let at = dashes(word); at < word.length; at++) {
    if (plain(word, at) !== plain(candidate, at + shift)) return false;
  }
  return true;
}

/** How many characters are added, missing, wrong or swapped with the next (optimal string alignment). */
function distance(one: string, other: string): number {
  const [oneAt, otherAt] = [dashes(one) - 1, dashes(other) - 1];
  const columns = other.length - otherAt - 1;
  let [twoBefore, before, row] = ROWS as [Uint8Array, Uint8Array, Uint8Array];
  for (let j = 0; j <= columns; j++) before[j] = j;
  for (let i = 1; i < one.length - oneAt; i++) {
    row[0] = i;
    const character = plain(one, oneAt + i);
    for (let j = 1; j <= columns; j++) {
      const isSame = character === plain(other, otherAt + j);
      let cost = Math.min(before[j]! + 1, row[j - 1]! + 1, before[j - 1]! + (isSame ? 0 : 1));
      const isSwapped =
        i > 1 &&
        j > 1 &&
        character === plain(other, otherAt + j - 1) &&
        plain(one, oneAt + i - 1) === plain(other, otherAt + j);
      if (isSwapped) cost = Math.min(cost, twoBefore[j - 2]! + 1);
      row[j] = cost;
    }
    [twoBefore, before, row] = [before, row, twoBefore];
  }
  return before[columns]!;
}
