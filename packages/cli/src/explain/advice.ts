import type { Lookup } from './lookup.js';
import type { ExplainOptions } from './options.js';
import type { SearchPath } from './search-path.js';

/** Steps whose text says what can be done. */
export const ADVICE_STEPS: ReadonlySet<string> = new Set(['near', 'advice', 'note']);
const SAVED = 2;

/** What to try next, in sentences. */
export function adviceOf(
  { asked, deciding, explained }: Lookup,
  path: SearchPath,
  options: ExplainOptions,
): string[] {
  const isAnswered = deciding.outcome === 'answered';
  const texts = explained.explanations
    .flatMap(({ steps }) => steps)
    .filter(({ step }) => ADVICE_STEPS.has(step))
    .map(({ text }) => text);
  if (isAnswered && path.reason === 'searched' && asked.length > SAVED) {
    const saved = asked.length - 1;
    texts.push(
      `${saved} names were asked in vain before, and with A and AAAA twice as many: ask for ${deciding.name} with its final dot to save them, or set a lower ndots in the pod’s dnsConfig.`,
    );
  }
  const isShort = !options.name.includes('.');
  if (deciding.outcome === 'no-name' && isShort && !options.isFromGiven) {
    texts.push(
      'If the pod that asks is not in the namespace default, say where it is: --from NAMESPACE.',
    );
  }
  return [...new Set(texts)];
}
