import type { StaleRules } from '@kube-dns/transport';
import { QUESTION_FIXED_BYTES, readUint16 } from '@kube-dns/wire';
import type { AnswerCache } from '../cache/answer-cache.js';
import type { StaleOptions } from '../options/stale-value.js';

/** `--stale` for the forwarder; what was asked in vain is noted in the cache. */
export function staleRules(
  { timeoutMs }: StaleOptions,
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
