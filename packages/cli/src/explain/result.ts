import type { Explanation } from '@kube-dns/telemetry';
import type { Lookup } from './lookup.js';
import type { PodResolver } from './pod-resolver.js';
import type { Missed } from './reachable.js';
import type { SearchPath } from './search-path.js';

interface Question {
  readonly name: string;
  readonly type: string;
  /** The address whose reverse name is asked for; undefined when a name was given. */
  readonly address: string | undefined;
}

/** All that the command has found out. */
export interface Result {
  readonly question: Question;
  readonly resolver: PodResolver;
  readonly path: SearchPath;
  readonly lookup: Lookup;
  readonly missed: readonly Missed[];
  readonly advice: readonly string[];
  readonly musl: string | undefined;
  /** Where CoreDNS is known to answer otherwise. */
  readonly coredns: readonly string[];
}

/** The JSON of `-o json`, documented in the README. */
export function resultData(result: Result) {
  const { question, resolver, path, lookup, missed, advice, musl, coredns } = result;
  const { asked, deciding, explained } = lookup;
  return {
    question: { ...question, address: question.address ?? null },
    outcome: deciding.outcome,
    decidedBy: deciding.name,
    explained: explained.name,
    resolver: {
      searches: resolver.searches,
      ndots: resolver.ndots,
      notes: resolver.notes,
      order: path.reason,
    },
    lookup: asked.map(({ name, outcome, why, explanation: { program, verdict } }) => ({
      name,
      outcome,
      why,
      program,
      verdict,
    })),
    explanations: explained.explanations satisfies readonly Explanation[],
    advice,
    musl: musl ?? null,
    coredns,
    notAsked: missed,
  };
}
