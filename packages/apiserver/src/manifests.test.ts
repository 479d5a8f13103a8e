import { describe, expect, it } from '@jest/globals';
import { parseManifests } from './manifests.js';

const SERVICE = 'apiVersion: v1\nkind: Service\nmetadata:\n  name: a\n';

describe('parseManifests', () => {
  it('reads every document and skips empty ones', () => {
    const text = `# nothing\n---\n${SERVICE}---\n---\n${SERVICE.replace('a\n', 'b\n')}`;
    const found = parseManifests(text, 'f.yaml');
    expect(found.map(({ manifest }) => manifest.metadata.name)).toEqual(['a', 'b']);
    expect(found.map(({ position }) => position)).toEqual([
      'document 1, line 3',
      'document 3, line 9',
    ]);
  });

  it('reads JSON', () => {
    const text = '{\n\t"apiVersion": "v1",\n\t"kind": "Service",\n\t"metadata": {"name": "a"}\n}';
    expect(parseManifests(text, 'f.json')).toHaveLength(1);
  });

  it('reads the items of lists', () => {
    const item = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'a' } };
    const text = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [item, item] });
    const [, second] = parseManifests(text, 'f');
    expect(second).toMatchObject({ position: 'document 1, line 1, item 2', manifest: item });
  });

  it.each(['', '\n', '# only a comment\n', '---\n', '---\n---\n'])(
    'finds nothing in %j',
    (text) => {
      expect(parseManifests(text, 'f')).toEqual([]);
    },
  );

  it.each([
    [`${SERVICE}---\na: [1\nb: 2\n`, /^f: document 2, line \d+: /],
    [`${SERVICE}---\n- 1\n`, 'f: document 2, line 6: not an object'],
    ['kind: Service\nmetadata: {name: a}', 'f: document 1, line 1: apiVersion is missing'],
    ['apiVersion: v1\nmetadata: {name: a}', 'f: document 1, line 1: kind is missing'],
    ['apiVersion: v1\nkind: Service', 'f: document 1, line 1: metadata.name is missing'],
    ['apiVersion: v1\nkind: Service\nmetadata: {generateName: a}', 'metadata.name is missing'],
    ['apiVersion: v1\nkind: List\nitems: 3', 'items is not a list'],
    ['a: *nowhere', /^f: document 1, line 1: /],
    ['a: 1\na: 2', /^f: document 1, line 2: /],
  ])('reports what is wrong with %j', (text, message) => {
    expect(() => parseManifests(text, 'f')).toThrow(message);
  });

  it('refuses a file that is nested too deep', () => {
    expect(() => parseManifests(`a: ${'['.repeat(1e6)}`, 'f')).toThrow('f: YAML: nested deeper');
  });

  it('refuses a file that grows when its YAML aliases are expanded', () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x]'];
    for (let i = 1; i < 9; i++) {
      const before = `*a${i - 1}`;
      lines.push(`a${i}: &a${i} [${new Array<string>(9).fill(before).join(', ')}]`);
    }
    expect(() => parseManifests(lines.join('\n'), 'f')).toThrow(/alias/);
  });
});
