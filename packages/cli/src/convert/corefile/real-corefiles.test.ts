import { describe, expect, it } from '@jest/globals';
import {
  type Corefile,
  type Directive,
  directiveText,
  parseCorefile,
} from '@kube-dns/node-cache/corefile';
import { IMPORTED, REAL_COREFILES } from '../../../test/support/real-corefiles.js';
import { Notes } from '../dns-setup.js';
import { configMapData, dnsmasqArguments, kubednsArguments } from '../pod/pod-writer.js';
import { fromCorefile } from './from-corefile.js';

const find = (pattern: string) => {
  const text = IMPORTED[pattern.replace('/etc/coredns/', '')];
  return text === undefined ? [] : [{ name: pattern, text }];
};

/** What a conversion writes, and its notes. */
function converted(corefile: Corefile) {
  const notes = new Notes();
  const setup = fromCorefile(corefile, {}, notes, find);
  const written = [configMapData(setup), kubednsArguments(setup), dnsmasqArguments(setup)];
  const lines = notes.lines();
  return { lines, all: JSON.stringify([written, lines]) };
}

/** A directive, or an option of one, with the lines that it is on and the Corefile without it, in all blocks that have it. */
interface LeftOut {
  readonly text: string;
  readonly lines: readonly number[];
  readonly rest: Corefile;
}

function* withoutEach(corefile: Corefile): Generator<LeftOut> {
  for (const { directives } of corefile.blocks) {
    for (const each of directives) {
      const text = textOf(each);
      yield without(corefile, text, [each.line], (other) => (textOf(other) === text ? [] : other));
      for (const option of each.block ?? []) {
        const block = each.block!.filter((other) => other !== option);
        const own = `${each.name} { ${directiveText(option)} }`;
        yield without(corefile, own, [each.line, option.line], (other) =>
          textOf(other) === text ? { ...other, block } : other,
        );
      }
    }
  }
}

function without(
  corefile: Corefile,
  text: string,
  lines: readonly number[],
  change: (each: Directive) => Directive | [],
): LeftOut {
  const blocks = corefile.blocks.map((block) => ({
    ...block,
    directives: block.directives.flatMap(change),
  }));
  return { text, lines, rest: { ...corefile, blocks } };
}

const textOf = ({ name, args, block = [] }: Directive): string =>
  [name, ...args, '{', ...block.map(textOf), '}'].join(' ');

/** What the pod does in any case, what CoreDNS does without a word, and what has no effect there any more. */
const SAME = new RegExp(
  `^(?:${[
    '(?:errors|ready|reload|health|prometheus :9153) \\{ \\}',
    'kubernetes \\{ (?:pods insecure|fallthrough in-addr.arpa ip6.arpa|upstream) \\}',
    'forward \\{ prefer_udp \\}',
    'cache \\{ (?:success|denial) 9984 \\}',
  ].join('|')})$`,
);

describe('of the Corefile of a real cluster each directive is carried, or said', () => {
  it.each(Object.entries(REAL_COREFILES))('%s', (_, text) => {
    const corefile = parseCorefile(text, 'Corefile');
    const { lines: notes, all } = converted(corefile);
    const silent = [...withoutEach(corefile)].filter(({ text: own, lines, rest }) => {
      if (SAME.test(own)) return false;
      if (lines.some((line) => notes.some((note) => note.includes(`line ${line}: `)))) return false;
      return converted(rest).all === all;
    });
    expect(silent.map(({ text: own }) => own)).toEqual([]);
  });
});
