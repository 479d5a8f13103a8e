import type { StaleRules } from '@kube-dns/transport';
import { QUESTION_FIXED_BYTES, readUint16 } from '@kube-dns/wire';
import type { AnswerCache } from '../cache/answer-cache.js';

/** How long the forwarder waits where there is an expired answer; what was asked in vain is noted in the cache. */
export function staleRules(
  { timeoutMs }: { readonly timeoutMs: number },
  cache: Pick<AnswerCache, 'noteTried'>,
): StaleRules {
  return {
    timeoutMs,
    onTried: (question, atMs, isSilent) => {
      const length = question.length - QUESTION_FIXED_BYTES;
      cache.noteTried(question, length, readUint16(question, length), isSilent ? -atMs : atMs);
    },
  };
}
