/** A longer word is no typing mistake; the cost of a comparison grows with its length. */
const MAX_WORD = 64;
/** How much of a word may be wrong. */
const MAX_SHARE = 1 / 3;

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
  const mistyped = bare(word);
  if (mistyped.length < 2 || mistyped.length > MAX_WORD) return undefined;
  let best: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const name = bare(candidate);
    const cost = name.startsWith(mistyped) ? 1 : distance(mistyped, name);
    if (cost < least && cost <= Math.max(1, name.length * MAX_SHARE)) {
      best = candidate;
      least = cost;
    }
  }
  return best;
}

function bare(word: string): string {
  return word.replace(/^-+/, '').replaceAll('_', '-').toLowerCase();
}

/** How many characters are added, missing, wrong or swapped with the next (optimal string alignment). */
function distance(one: string, other: string): number {
  let twoBefore: number[] = [];
  let before = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const row = [i];
    for (let j = 1; j <= other.length; j++) {
      const isSame = one[i - 1] === other[j - 1];
      let cost = Math.min(before[j]! + 1, row[j - 1]! + 1, before[j - 1]! + (isSame ? 0 : 1));
      const isSwapped =
        i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      if (isSwapped) cost = Math.min(cost, twoBefore[j - 2]! + 1);
      row.push(cost);
    }
    [twoBefore, before] = [before, row];
  }
  return before[other.length]!;
}
