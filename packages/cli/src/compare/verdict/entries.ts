import type { QuestionKind } from '../questions/question.js';
import type { Aspect } from './compare-replies.js';
import { meaningOf } from './meaning.js';
import type { Difference } from './tally.js';

/** Equal differences: the same kind of question, and the same of each side but for names and data. */
export interface Entry {
  readonly class: Aspect;
  readonly kinds: readonly QuestionKind[];
  /** Of the questions: one, or A and AAAA. */
  readonly types: readonly string[];
  /** What the difference means for a client. */
  readonly meaning: string;
  /** Positions in the list of differences, in its order. */
  readonly differences: readonly number[];
}

/** Joins equal differences; the entries are in the order of their first difference. */
export function entriesOf(differences: readonly Difference[]): Entry[] {
  const groups = new Map<string, number[]>();
  differences.forEach((difference, index) => {
    const key = groupKey(difference);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [index]);
    else group.push(index);
  });
  return [...groups.values()].map((group) => {
    const all = group.map((index) => differences[index]!);
    const [first] = all as [Difference];
    return {
      class: first.findings[0]!.aspect,
      kinds: [...new Set(all.map(({ kind }) => kind))].sort(),
      types: [...new Set(all.map(({ type }) => type))].sort(),
      meaning: meaningOf(first),
      differences: group,
    };
  });
}

/** A and AAAA are alike, and a service and its ports. */
function groupKey({ kind, type, findings }: Difference): string {
  const shapes = findings.map(({ aspect, shape }) => [
    aspect,
    withoutFamilies(shape.left),
    withoutFamilies(shape.right),
  ]);
  return JSON.stringify([kind === 'port' ? 'service' : kind, withoutFamilies(type), shapes]);
}

function withoutFamilies(types: string): string {
  const words = types.split(' ').map((word) => (word === 'AAAA' ? 'A' : word));
  return [...new Set(words)].join(' ');
}
