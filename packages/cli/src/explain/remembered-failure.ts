import type { Explanation } from '@kube-dns/telemetry';

/** The Extended DNS Error of a failure that is remembered (RFC 8914). */
export const CACHED_ERROR = 13;

/**
 * Where the answer of the program at `at` is a remembered failure: what the program behind it said that remembers it,
 * when it had not failed before explain itself asked it.
 */
export function ownFailure(
  explanations: readonly Explanation[],
  at: number,
): Explanation | undefined {
  for (const [i, explanation] of explanations.slice(at).entries()) {
    const { ede, rcode, source } = explanation.verdict;
    if (!ede.some(({ code }) => code === CACHED_ERROR)) {
      return i > 0 && rcode === 'SERVFAIL' ? explanation : undefined;
    }
    if (source === 'cache') return undefined;
  }
  return undefined;
}
