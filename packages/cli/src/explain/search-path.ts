/** How a client's resolver makes names of what a program asks for: as `/etc/resolv.conf` says (resolv.conf(5)). */
export interface SearchRules {
  /** Domains without a final dot. */
  readonly searches: readonly string[];
  readonly ndots: number;
}

/** Names that a resolver asks, in order, each with its final dot. */
export interface SearchPath {
  readonly candidates: readonly string[];
  /** Why these, and in this order. */
  readonly reason: 'absolute' | 'enough-dots' | 'searched' | 'no-searches';
}

/** The longest name in presentation form without its final dot (RFC 1035 section 2.3.4). */
const MAX_NAME_CHARACTERS = 253;

/**
 * The names that glibc's resolver asks (resolv/res_query.c): one with a final dot alone, one with at least `ndots` dots
 * first as it is, any other first with the search domains. Names that are too long are left out.
 */
export function searchPath(name: string, { searches, ndots }: SearchRules): SearchPath {
  const absolute = name.endsWith('.') ? name : `${name}.`;
  if (name.endsWith('.')) return { candidates: [absolute], reason: 'absolute' };
  const searched = searches
    .map((domain) => (domain === '.' || domain === '' ? absolute : `${name}.${domain}.`))
    .filter((candidate) => candidate.length - 1 <= MAX_NAME_CHARACTERS);
  if (searched.length === 0) return { candidates: [absolute], reason: 'no-searches' };
  const hasDots = name.split('.').length - 1 >= ndots;
  const candidates = hasDots ? [absolute, ...searched] : [...searched, absolute];
  return { candidates: [...new Set(candidates)], reason: hasDots ? 'enough-dots' : 'searched' };
}

/** What became of one candidate. */
export type Outcome = 'answered' | 'no-data' | 'no-name' | 'failed';

/** Where the walk ends: glibc goes on until one is answered, also after an empty answer and after a failure. */
export function endsWalk(outcome: Outcome): boolean {
  return outcome === 'answered';
}

/**
 * The candidate whose outcome a program sees: the one that is answered, else the first empty answer, else the first
 * failure, else the last one.
 */
export function decidingOutcome(outcomes: readonly Outcome[]): number {
  for (const wanted of ['answered', 'no-data', 'failed'] as const) {
    const at = outcomes.indexOf(wanted);
    if (at >= 0) return at;
  }
  return outcomes.length - 1;
}

/** Where musl differs from glibc: it ends at the first answer that is not NXDOMAIN, and does not search for a name with enough dots. */
export function muslNote(
  { candidates, reason }: SearchPath,
  outcomes: readonly Outcome[],
): string | undefined {
  const deciding = decidingOutcome(outcomes);
  if (reason === 'enough-dots' && deciding > 0 && outcomes[deciding] === 'answered') {
    return `musl (Alpine) does not try search domains for a name with that many dots: there the lookup ends with ${candidates[0]!}`;
  }
  const stop = outcomes.findIndex((outcome) => outcome !== 'no-name');
  if (stop < 0 || stop >= deciding) return undefined;
  const why = outcomes[stop] === 'no-data' ? 'an empty answer' : 'a failure';
  return `musl (Alpine) ends the lookup at ${candidates[stop]!} because of ${why}; glibc goes on`;
}
