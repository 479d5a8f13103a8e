import type { Question } from './question.js';

const TYPES = ['A', 'AAAA'] as const;

/**
 * The questions of a pod for an external name: with `ndots:5` first those with the search suffixes that the
 * kubelet writes into its resolv.conf, then the name itself.
 */
export function* externalQuestions(
  names: readonly string[],
  namespace: string,
  zone: string,
): Generator<Question> {
  const suffixes = [`.${namespace}.svc.${zone}`, `.svc.${zone}`, `.${zone}`, ''];
  for (const name of names) {
    for (const suffix of suffixes) {
      for (const type of TYPES) yield { name: name + suffix, type, kind: 'external' };
    }
  }
}
