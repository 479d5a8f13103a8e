import { describe, expect, it } from '@jest/globals';
import { isMap, type Scalar } from 'yaml';
import { findDuplicateYamlKeys, findFault, parseYamlText } from './yaml.js';

/** The document of a map with this many keys. */
function documentOf(count: number) {
  const keys = Array.from({ length: count }, (_, i) => `k${i}: v\n`);
  return parseYamlText(keys.join('')).documents[0]!;
}

/** How often the search for duplicate keys reads a key of a map of this size. */
function readsOf(count: number): number {
  const document = documentOf(count);
  if (!isMap<Scalar>(document.contents)) throw new Error('no map');
  let reads = 0;
  for (const { key } of document.contents.items) {
    const { value } = key;
    Object.defineProperty(key, 'value', {
      get() {
        reads++;
        return value;
      },
    });
  }
  expect(findDuplicateYamlKeys(document)).toEqual([]);
  return reads;
}

describe('duplicate keys of a map', () => {
  it('are found with as many reads as there are keys', () => {
    expect(readsOf(2_000)).toBeLessThanOrEqual(2.5 * readsOf(1_000));
  });

  it('are not looked for by the parser, which compares each key with all before it', () => {
    const [document] = parseYamlText('a: 1\na: 2\n').documents;
    expect(findFault(document!)).toBeUndefined();
    expect(findDuplicateYamlKeys(document!)).toEqual([5]);
  });
});
