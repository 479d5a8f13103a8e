import type { CachedEntry } from '../cache/answer-cache.js';
import type { ServerFacts } from './server-facts.js';

/** The answer that an outcome is told of. */
export interface ToldAnswer {
  readonly rcode: string | null;
  readonly ede: readonly { readonly code: number; readonly text: string }[];
  readonly source: string;
  readonly server: string | null;
}

/** A step of an explanation. */
interface Step {
  readonly step: string;
  readonly text: string;
  readonly [fact: string]: unknown;
}

/** Where the answer to a client came from, and whether it is cached: `entry` is what the cache has now. */
export function outcomeStep(
  answer: ToldAnswer,
  client: string,
  entry: CachedEntry | undefined,
): Step {
  const { source, server, rcode, ede } = answer;
  const texts = [`Asked as a client at ${client} would: ${sourceText(answer)}`];
  const isAsked = source === 'upstream' || source === 'joined';
  const isCached = entry?.state === 'fresh' || entry?.state === 'kept';
  if (isAsked && isCached) {
    texts.push(`The cache has its answer now, for ${Math.ceil(entry.secondsLeft)} s.`);
  } else if (isAsked) texts.push('It is not cached.');
  const reasons = ede.map(({ code, text }) =>
    text === '' ? `EDE ${code}` : `EDE ${code}, ${text}`,
  );
  if (reasons.length > 0) texts.push(`The answer says why: ${reasons.join('; ')}.`);
  return { step: 'outcome', text: texts.join(' '), source, server, rcode, isCached };
}

/** The servers that were not asked, and why; `asked` are the steps of the others. */
export function skippedSteps(
  servers: readonly ServerFacts[],
  asked: readonly Readonly<Record<string, unknown>>[],
): Step[] {
  const names = new Set(asked.map(({ server }) => server));
  const preferred = servers.find(({ isPreferred }) => isPreferred)?.server;
  return servers
    .filter(({ server }) => !names.has(server))
    .flatMap(({ server, state, reason, downSeconds }) => {
      if (state === 'down') {
        const since = `it has been down for ${downSeconds ?? 0} s (${reason ?? ''})`;
        return [{ step: 'skipped', text: `${server} was not asked: ${since}.`, server, reason }];
      }
      if (preferred === undefined || asked.length === 0) return [];
      const text = `${server} was not asked: ${preferred} is preferred.`;
      return [{ step: 'skipped', text, server, reason: 'preferred' }];
    });
}

function sourceText({ source, server, rcode }: ToldAnswer): string {
  switch (source) {
    case 'none':
      return 'it gets no answer.';
    case 'local':
      return 'it is answered here.';
    case 'cache':
      return rcode === 'SERVFAIL'
        ? 'it gets the failure of a moment ago.'
        : 'it gets the cached answer.';
    case 'stale':
      return 'it gets the expired answer.';
    case 'joined':
      return `it joined the question of another client${server === null ? '' : `, which ${server} answered`}.`;
    default:
      return server === null
        ? `no server answered, so it gets ${rcode ?? 'nothing'}.`
        : `${server} answered.`;
  }
}
