import { describe, expect, it } from '@jest/globals';
import { REPLACED, strategicMergePatch } from './strategic-merge-patch.js';

const KEYS = { 'spec.ports': 'port', 'spec.containers': 'name', 'spec.containers.env': 'name' };

const PORTS = {
  spec: {
    ports: [
      { port: 80, name: 'a' },
      { port: 90, name: 'b' },
    ],
  },
};

describe('strategicMergePatch', () => {
  it('changes the item that has the merge key and no other', () => {
    const patch = { spec: { ports: [{ port: 90, targetPort: 9 }] } };
    expect(strategicMergePatch(PORTS, patch, KEYS)).toEqual({
      spec: {
        ports: [
          { port: 80, name: 'a' },
          { port: 90, name: 'b', targetPort: 9 },
        ],
      },
    });
  });

  it('adds, deletes and orders items by directives', () => {
    const patch = {
      spec: {
        '$setElementOrder/ports': [{ port: 70 }, { port: 90 }],
        ports: [{ port: 70 }, { $patch: 'delete', port: 80 }],
      },
    };
    expect(strategicMergePatch(PORTS, patch, KEYS)).toEqual({
      spec: { ports: [{ port: 70 }, { port: 90, name: 'b' }] },
    });
  });

  it('replaces a list or an object by a directive', () => {
    const list = { spec: { ports: [{ port: 1 }, { $patch: 'replace' }] } };
    expect(strategicMergePatch(PORTS, list, KEYS)).toEqual({ spec: { ports: [{ port: 1 }] } });
    const object = { spec: { $patch: 'replace', type: 'x' } };
    expect(strategicMergePatch(PORTS, object, KEYS)).toEqual({ spec: { type: 'x' } });
  });

  it('merges lists within lists', () => {
    const target = { spec: { containers: [{ name: 'c', env: [{ name: 'A', value: '1' }] }] } };
    const patch = { spec: { containers: [{ name: 'c', env: [{ name: 'B', value: '2' }] }] } };
    expect(strategicMergePatch(target, patch, KEYS)).toEqual({
      spec: {
        containers: [
          {
            name: 'c',
            env: [
              { name: 'B', value: '2' },
              { name: 'A', value: '1' },
            ],
          },
        ],
      },
    });
  });

  // The results are those of the real server.
  it.each<[string, number[], number[] | undefined, number[]]>([
    ['new items first', [4], undefined, [4, 1, 2, 3]],
    ['an item that is stored where it stands in the patch', [4, 1], undefined, [4, 1, 2, 3]],
    ['what the order does not name as early as it can', [4], [4, 2], [4, 1, 2, 3]],
    ['such an item before the next one that was after it', [4], [3, 4, 1], [2, 3, 4, 1]],
    ['the demanded order of all items', [4], [4, 3, 2, 1], [4, 3, 2, 1]],
    ['stored items reordered by the order alone', [], [3, 2, 1], [3, 2, 1]],
    ['items in an order that names some that do not exist', [2], [2, 5], [1, 2, 3]],
  ])('has %s', (_title, ports, order, result) => {
    const items = (numbers: number[]) => numbers.map((port) => ({ port }));
    const patch = {
      spec: {
        ports: items(ports),
        ...(order && { '$setElementOrder/ports': items(order) }),
      },
    };
    const target = { spec: { ports: items([1, 2, 3]) } };
    expect(strategicMergePatch(target, patch, KEYS)).toEqual({ spec: { ports: items(result) } });
  });

  it.each<[number[], number[], number[], number[]]>([
    [[5], [2], [5, 1], [3, 5, 1]],
    [[5, 6], [2], [5, 6, 1], [3, 5, 6, 1]],
    [[6, 5], [2], [6, 5, 1], [3, 6, 5, 1]],
    [
      [5, 6],
      [1, 2],
      [5, 6],
      [3, 5, 6],
    ],
  ])('adds %j and deletes %j in the order %j: %j', (added, deleted, order, result) => {
    const items = (numbers: number[]) => numbers.map((port) => ({ port }));
    const gone = items(deleted).map((item) => ({ ...item, $patch: 'delete' }));
    const ports = [...items(added), ...gone];
    const patch = { spec: { ports, '$setElementOrder/ports': items(order) } };
    const target = { spec: { ports: items([1, 2, 3]) } };
    expect(strategicMergePatch(target, patch, KEYS)).toEqual({ spec: { ports: items(result) } });
  });

  it('replaces an object that is not to be merged', () => {
    const patch = { spec: { selector: { b: 1 } } };
    const keys = { 'spec.selector': REPLACED };
    expect(strategicMergePatch({ spec: { selector: { a: 1 } } }, patch, keys)).toEqual(patch);
  });

  it('replaces lists that have no merge key', () => {
    expect(strategicMergePatch({ a: [1, 2] }, { a: [3] }, KEYS)).toEqual({ a: [3] });
  });

  it('merges finalizers as a set, and deletes from it by value', () => {
    const target = { metadata: { finalizers: ['a', 'b'] } };
    const add = { metadata: { finalizers: ['b', 'c'] } };
    expect(strategicMergePatch(target, add, {})).toEqual({
      metadata: { finalizers: ['a', 'b', 'c'] },
    });
    const remove = { metadata: { '$deleteFromPrimitiveList/finalizers': ['a'] } };
    expect(strategicMergePatch(target, remove, {})).toEqual({ metadata: { finalizers: ['b'] } });
  });

  it('drops keys that are not to be retained', () => {
    const patch = { strategy: { $retainKeys: ['type'], type: 'x' } };
    expect(strategicMergePatch({ strategy: { type: 'y', old: 1 } }, patch, {})).toEqual({
      strategy: { type: 'x' },
    });
  });

  it.each<[string, object, RegExp]>([
    ['an item without its merge key', { ports: [{ name: 'x' }] }, /merge key "port"/],
    ['an unknown directive', { $patch: 'x' }, /unknown patch type: "x"/],
    ['one of an item', { ports: [{ port: 80, $patch: 'x' }] }, /unknown patch type: "x"/],
    [
      'an order that lacks an item of the patch',
      { ports: [{ port: 70 }], '$setElementOrder/ports': [{ port: 80 }] },
      /doesn't match \$setElementOrder/,
    ],
    [
      'an order that is not that of the patch',
      {
        ports: [{ port: 70 }, { port: 80 }],
        '$setElementOrder/ports': [{ port: 80 }, { port: 70 }],
      },
      /doesn't match \$setElementOrder/,
    ],
    ['a field that is not retained', { $retainKeys: ['a'], b: 1 }, /invalid .* retainKeys/],
  ])('refuses %s', (_title, spec, message) => {
    expect(() => strategicMergePatch(PORTS, { spec }, KEYS)).toThrow(message);
  });
});
