import type { Trace } from '@kube-dns/base';
import type { ExplainedStep } from '@kube-dns/telemetry';
import { SEARCH_FOUND, SEARCH_TRIED, type TriedName } from '../search/search-names.js';
import { nameText } from './words.js';

/** What a name of `--search-zone` led to: each name that was tried, in order. */
export function searchSteps(trace: Trace, zone: string): ExplainedStep[] {
  const kind = trace.first(SEARCH_FOUND);
  const tried = trace.all(SEARCH_TRIED);
  switch (kind) {
    case 'search':
      return [
        { step: 'search', text: stands(zone), kind },
        ...tried.map((each, i) => triedStep(each, i === tried.length - 1)),
      ];
    case 'absent':
      return [
        {
          step: 'search',
          text: `It is in the zone of --search-zone, where only names as <name>.search.<namespace>.<domain>.${zone} lead anywhere.`,
          kind,
        },
      ];
    default:
      return [
        { step: 'search', text: 'It is a name of the zone of --search-zone itself.', kind: kind! },
      ];
  }
}

function stands(zone: string): string {
  return `It is a name of --search-zone=${zone}: it stands for the first name of a search path that exists.`;
}

function triedStep({ name, state }: TriedName, isLast: boolean): ExplainedStep {
  const text = nameText(name);
  return { step: 'tried', text: `${text}: ${stateText(state, isLast)}`, name: text, state };
}

function stateText(state: TriedName['state'], isLast: boolean): string {
  if (state === 'exists') return 'it exists.';
  if (state === 'absent') return 'there is no such name.';
  return isLast ? 'its server is asked.' : 'its server says that there is no such name.';
}
