import { SIDES, type QuestionKind, type Side } from '../question.js';
import { NO_ANSWER, NO_REPLY, type Aspect, type Finding } from './compare-replies.js';
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

/** Other answers by the type of the question, and what a client does with them. */
const OTHER_ANSWERS: ReadonlyMap<string, string> = new Map([
  ['A', 'Clients connect to other addresses, depending on the side that they ask.'],
  ['AAAA', 'Clients connect to other addresses, depending on the side that they ask.'],
  ['SRV', 'Clients find other targets or ports, depending on the side that they ask.'],
  ['PTR', 'Logs and checks that look up an address show another name.'],
  ['CNAME', 'Clients follow the name to another target.'],
  ['NS', 'Pods do not ask for it; resolvers and tools find other name servers of the zone.'],
]);
/** Those of a name that does not exist, and of one without records of the type. */
const NEGATIVE: ReadonlySet<string> = new Set(['NXDOMAIN', 'NOERROR']);

/** What the worst finding of a question means for those who ask, in a sentence or two. */
export function meaningOf(question: {
  readonly type: string;
  readonly findings: readonly Finding[];
}): string {
  const [worst] = question.findings;
  return worst === undefined ? '' : sentence(worst, question.type);
}

function sentence({ aspect, shape }: Finding, type: string): string {
  const sideOf = (isIt: (text: string) => boolean): Side =>
    SIDES.find((side) => isIt(shape[side])) ?? 'right';
  switch (aspect) {
    case 'no-reply': {
      const side = sideOf((text) => text === NO_REPLY);
      return `Clients of ${side} wait until their timeout (5 s with glibc), then fail or ask their next server.`;
    }
    case 'missing-answer': {
      const side = sideOf((text) => text.startsWith(NO_ANSWER));
      const other = side === 'left' ? 'right' : 'left';
      const has = shape[other].split(' ').includes(type)
        ? `${other} has one`
        : `${other} answers with ${shape[other]}, which they follow`;
      return withoutAnswer(side, shape[side].slice(NO_ANSWER.length), type, has);
    }
    case 'rcode':
      return otherRcode(shape);
    case 'answer':
      return (
        OTHER_ANSWERS.get(type) ?? 'Clients get other records, depending on the side that they ask.'
      );
    case 'truncated': {
      const side = sideOf((text) => text === 'truncated');
      return `Clients of ${side} ask again over TCP; those that cannot use TCP fail.`;
    }
    case 'authority': {
      const side = sideOf((text) => !text.includes('SOA'));
      return shape.left.includes('SOA') === shape.right.includes('SOA')
        ? 'Only resolvers read these records: they go on with other name servers of the zone.'
        : `Caches between (NodeLocal DNSCache, dnsmasq) cannot keep a negative answer of ${side}: it has no SOA.`;
    }
    case 'additional': {
      const side = sideOf((text) => text === 'none');
      return shape[side] === 'none'
        ? `Clients of ${side} send one more query for each target of the answer.`
        : 'Clients that use the addresses beside an answer get others.';
    }
    case 'ttl': {
      const side = sideOf((text) => text === 'longer');
      return shape[side] === 'longer'
        ? `Clients of ${side} that cache (JVM, nscd, NodeLocal DNSCache) notice a change later.`
        : 'Clients that cache (JVM, nscd, NodeLocal DNSCache) notice a change at another time.';
    }
    case 'edns': {
      const side = sideOf((text) => text === 'no OPT');
      return `Clients take ${side} for a server without EDNS: its answers over 512 bytes need TCP.`;
    }
  }
}

function withoutAnswer(side: Side, rcode: string, type: string, otherHas: string): string {
  if (!NEGATIVE.has(rcode)) return failing(side, rcode);
  const what = rcode === 'NXDOMAIN' ? 'the name does not exist' : `the name has no ${type} record`;
  const who = type === 'NS' ? 'Pods do not ask for name servers; tools' : 'Clients';
  return `${who} that ask ${side} are answered that ${what}; ${otherHas}.`;
}

function otherRcode(shape: Readonly<Record<Side, string>>): string {
  const failed = SIDES.find((side) => !NEGATIVE.has(shape[side]));
  if (failed !== undefined) return failing(failed, shape[failed]);
  const side = shape.left === 'NOERROR' ? 'left' : 'right';
  return (
    `On ${side} the name exists, without this type; on the other side it does not. musl (Alpine) ends its ` +
    `search list at the answer of ${side}; glibc goes on at both.`
  );
}

function failing(side: Side, rcode: string): string {
  return `For clients of ${side} the lookup fails (${rcode}): they ask again or ask their next server.`;
}
