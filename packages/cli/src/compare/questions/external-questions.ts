import type { Question } from './question.js';

const TYPES = ['A', 'AAAA'] as const;

/**
 * What a pod asks for a name outside the cluster: with `ndots:5` the suffixes that the kubelet writes into
 * its resolv.conf come first, then the name itself.
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
