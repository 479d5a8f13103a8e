import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { TemporaryFolder } from '@kube-dns/testkit';
import {
  CorefileError,
  directive,
  type Directive,
  importsOnDisk,
  parseCorefile,
  writeCorefile,
} from './corefile.js';

const parse = (text: string) => parseCorefile(text, 'Corefile');
const withoutLines = (each: Directive): Directive => ({
  ...each,
  line: 0,
  block: each.block?.map(withoutLines),
});

describe('reading a Corefile', () => {
  it('returns zones, plugins, their words and options', () => {
    const { blocks } = parse('a.b:53, c.d {\n  errors\n  cache 30 {\n    success 1 2\n  }\n}\n');
    expect(blocks).toEqual([
      {
        keys: ['a.b:53', 'c.d'],
        line: 1,
        directives: [
          { name: 'errors', args: [], block: undefined, line: 2 },
          {
            name: 'cache',
            args: ['30'],
            line: 3,
            block: [{ name: 'success', args: ['1', '2'], block: undefined, line: 4 }],
          },
        ],
      },
    ]);
  });

  it('takes quotes with blanks and quotes in them for one word, and # for a comment', () => {
    const { blocks } = parse(
      '. { # all\n  template IN A {\n answer "{{ .Name }} \\"x\\" # 1"\n }\n}',
    );
    const [template] = blocks[0]?.directives ?? [];
    expect(template?.block?.[0]?.args).toEqual(['{{ .Name }} "x" # 1']);
  });

  it('goes on behind a comma at the end of a line of zones', () => {
    expect(parse('a,\nb {\n}\n').blocks[0]?.keys).toEqual(['a', 'b']);
  });

  it('takes a file without braces for one block', () => {
    const [block] = parse('.:53\nerrors\nforward . 1.1.1.1\n').blocks;
    expect(block?.directives.map(({ name }) => name)).toEqual(['errors', 'forward']);
  });

  it('retains imports outside of blocks', () => {
    expect(parse('import a\n. {\n}\n').imports).toEqual([
      { name: 'import', args: ['a'], block: undefined, line: 1 },
    ]);
  });

  it.each([
    ['', 'Corefile: there is no server block in it'],
    ['. {\n  errors\n', 'Corefile: line 1: the brace that opens here is not closed'],
    ['. {\n  log "a\n', 'Corefile: line 2: the quote that begins here does not end'],
    ['. {\n}\n}\n', 'Corefile: line 3: a server block begins without a zone'],
    ['. {\n  { x\n', 'Corefile: line 2: a stray {'],
    [`. ${'a {\n'.repeat(30)}`, /braces within more than 16 others$/],
  ])('refuses %j with line and reason', (text, message) => {
    expect(() => parse(text)).toThrow(CorefileError);
    expect(() => parse(text)).toThrow(message);
  });

  it('never fails in another way, whatever the text is', () => {
    const words = fc.constantFrom(
      '{',
      '}',
      '\n',
      '"',
      '\\',
      '#',
      ',',
      'import',
      '.:53',
      ' ',
      '(s)',
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(words, fc.string()), { maxLength: 30 }), (parts) => {
        try {
          parse(parts.join(''));
        } catch (error) {
          expect(error).toBeInstanceOf(CorefileError);
        }
      }),
    );
  });
});

describe('writing a Corefile', () => {
  // A word with blanks that ends in a backslash cannot be written in Caddy's quotes.
  const word = fc.string({ maxLength: 8 }).filter((text) => !/\\$|^\uFEFF/.test(text));
  const name = fc.stringMatching(/^[a-z0-9.:_]{1,8}$/).filter((text) => text !== 'import');
  const { plugin } = fc.letrec<{ plugin: Directive }>((tie) => ({
    plugin: fc
      .tuple(
        name,
        fc.array(word, { maxLength: 3 }),
        fc.option(fc.array(tie('plugin'), { maxLength: 3 }), {
          nil: undefined,
          depthSize: 'small',
        }),
      )
      .map(([plugin, args, block]) => directive(plugin, args, block)),
  }));

  it('is undone by reading', () => {
    const block = fc.record({
      keys: fc.array(name, { minLength: 1, maxLength: 2 }),
      directives: fc.array(plugin, { maxLength: 4 }),
    });
    fc.assert(
      fc.property(fc.array(block, { minLength: 1, maxLength: 3 }), (blocks) => {
        const read = parse(writeCorefile(blocks.map((each) => ({ ...each, line: 0 }))));
        const plain = read.blocks.map(({ keys, directives }) => {
          return { keys, directives: directives.map(withoutLines) };
        });
        expect(plain).toEqual(blocks);
      }),
    );
  });
});

describe('the files that a Corefile imports', () => {
  let folder: TemporaryFolder;
  beforeEach(() => {
    folder = new TemporaryFolder();
  });
  afterEach(() => folder.close());

  const find = (pattern: string) => importsOnDisk(join(folder.path, 'Corefile'))(pattern);

  it('are found beside it by a pattern, in the order of their names, without folders', () => {
    for (const name of ['b.conf', 'a.conf', 'c.txt']) folder.file(name, name);
    mkdirSync(join(folder.path, 'd.conf'));
    expect(find('*.conf').map(({ text }) => text)).toEqual(['a.conf', 'b.conf']);
    expect(find(join(folder.path, 'c.txt'))).toHaveLength(1);
    expect(find('absent/*')).toEqual([]);
  });

  it.each([
    ['*.*', 'import *.*: it has more than one wildcard'],
    ['large', /^cannot read .*large: larger than 1048576 bytes$/],
    ['large/x', /^cannot read .*large: not a directory$/],
  ])('are refused for %j', (pattern, message) => {
    folder.file('large', 'x'.repeat(1024 * 1024 + 1));
    expect(() => find(pattern)).toThrow(CorefileError);
    expect(() => find(pattern)).toThrow(message);
  });
});
