import type { Corpus } from './corpus.js';
import type { Draft } from './draft.js';
import type { Random } from './random.js';

/** One change of an input in progress. Draws all of its choices from `random`; never throws. */
export type Mutation = (draft: Draft, random: Random, corpus: Corpus) => void;

/** Most inputs are near their origin: of many faults in one input a parser meets only the first. */
const MAX_CHANGES = 6;

/** Begins the draft with an input of the corpus and changes it. */
export function mutate(
  draft: Draft,
  mutations: readonly Mutation[],
  random: Random,
  corpus: Corpus,
): void {
  draft.reset(random.pick(corpus.entries));
  let changes = 1;
  while (changes < MAX_CHANGES && random.isOneIn(2)) changes++;
  for (let i = 0; i < changes; i++) random.pick(mutations)(draft, random, corpus);
}
