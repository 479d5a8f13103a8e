import type { Explanation } from '@kube-dns/telemetry';
import { askPage } from './page-client.js';
import type { Reached } from './reachable.js';
import { mostTelling } from './most-telling.js';
import { decidingOutcome, endsWalk, type Outcome, type SearchPath } from './search-path.js';

/** A name of the search path that was asked. */
export interface LookedUp {
  readonly name: string;
  readonly outcome: Outcome;
  /** What the program next to the client says. */
  readonly explanation: Explanation;
  /** What the program that answers it says: the last one that can be asked. */
  readonly behind: Explanation;
  /** What each program says, the one next to the client first. */
  readonly explanations: readonly Explanation[];
  /** Why there is no answer, in a sentence; empty when there is one. */
  readonly why: string;
}

/** What a resolver finds on its search path. */
export interface Lookup {
  readonly asked: readonly LookedUp[];
  /** The one whose outcome a program sees. */
  readonly deciding: LookedUp;
  /** The one that says most about why: where no name exists, it may be another. */
  readonly explained: LookedUp;
}

export interface LookupOptions {
  readonly path: SearchPath;
  readonly type: string;
  readonly client: string | undefined;
  /** At least one. */
  readonly programs: readonly Reached[];
}

/** Steps that say why a name has no answer, the best first. */
const REASONS = ['absent', 'not-ready', 'left-out'];

/** Asks the names of a search path in order, as glibc does: each program once for each name. */
export async function lookUp({ path, type, client, programs }: LookupOptions): Promise<Lookup> {
  const asked: LookedUp[] = [];
  for (const name of path.candidates) {
    const explanations: Explanation[] = [];
    // A program asks those behind it: these look at what they have before that question reaches them.
    for (const { port } of programs.toReversed()) {
      explanations.unshift(await askPage(port, name, type, client));
    }
    const explanation = explanations[0]!;
    const behind = explanations.at(-1)!;
    const outcome = outcomeOf(explanation, type);
    const why = outcome === 'answered' ? '' : whyOf(behind);
    asked.push({ name, outcome, explanation, behind, explanations, why });
    if (endsWalk(outcome)) break;
  }
  const deciding = asked[decidingOutcome(asked.map(({ outcome }) => outcome))]!;
  const explained = deciding.outcome === 'no-name' ? mostTelling(asked) : deciding;
  return { asked, deciding, explained };
}

/** What a resolver makes of an answer. */
export function outcomeOf({ verdict }: Explanation, type: string): Outcome {
  const { rcode, answers } = verdict;
  if (rcode === 'NXDOMAIN') return 'no-name';
  if (rcode !== 'NOERROR') return 'failed';
  const hasRecord = answers.some((record) => type === 'ANY' || typeOf(record) === type);
  return hasRecord ? 'answered' : 'no-data';
}

/** The type of a record, `NAME TTL CLASS TYPE DATA`. */
export function typeOf(record: string): string {
  return record.split(' ', 4)[3] ?? '';
}

function whyOf({ steps, verdict }: Explanation): string {
  for (const reason of REASONS) {
    const found = steps.find(({ step }) => step === reason);
    if (found !== undefined) return found.text;
  }
  const server = steps.filter(({ step }) => step === 'server').at(-1);
  return server?.text ?? verdict.ede[0]?.text ?? '';
}
