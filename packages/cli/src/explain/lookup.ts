import type { ExplainedStep, Explanation } from '@kube-dns/telemetry';
import { askPage, type Reached } from './programs.js';
import { decidingOutcome, type Outcome, type SearchPath } from './resolver.js';

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

interface LookupOptions {
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
    // glibc goes on until one is answered, also after an empty answer and after a failure.
    if (outcome === 'answered') break;
  }
  const deciding = asked[decidingOutcome(asked.map(({ outcome }) => outcome))]!;
  const explained = deciding.outcome === 'no-name' ? mostTelling(asked) : deciding;
  return { asked, deciding, explained };
}

/** What a resolver makes of an answer. */
function outcomeOf({ verdict }: Explanation, type: string): Outcome {
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

/**
 * Of names that do not exist, the one that says most about why: one of a service that exists, else one that lacks a
 * service in a namespace that was asked for, else one that is near to another name, else the last.
 */
function mostTelling(asked: readonly LookedUp[]): LookedUp {
  const last = asked.at(-1)!;
  return (
    asked.find((each) => stepOf(each, 'service') !== undefined) ??
    withoutService(asked) ??
    asked.find((each) => stepOf(each, 'near') !== undefined) ??
    last
  );
}

/** The step of a kind that the program that answers has. */
export function stepOf({ behind }: LookedUp, kind: string): ExplainedStep | undefined {
  return behind.steps.find(({ step }) => step === kind);
}

/** The one with the fewest labels before the service: others have a search domain after what was asked for. */
function withoutService(asked: readonly LookedUp[]): LookedUp | undefined {
  const typed = asked.at(-1)!.name.toLowerCase().split('.');
  const found = asked.flatMap((each) => {
    const absent = stepOf(each, 'absent');
    if (absent?.missing !== 'service') return [];
    const { namespace, labelsBelow } = absent;
    const isAskedFor = typeof namespace === 'string' && typed.includes(namespace);
    return labelsBelow === 0 || isAskedFor ? [{ each, below: Number(labelsBelow) }] : [];
  });
  return found.toSorted((one, other) => one.below - other.below)[0]?.each;
}

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
