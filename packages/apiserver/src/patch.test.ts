import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { jsonPatch, mergePatch, REPLACED, strategicMergePatch } from './patch.js';

describe('mergePatch', () => {
  // Examples of RFC 7396, appendix A.
  it.each([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [['a', 'b'], ['c'], ['c']],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('makes of %j with %j: %j', (target, patch, result) => {
    expect(mergePatch(target, patch)).toEqual(result);
  });

  it('changes nothing the second time', () => {
    fc.assert(
      fc.property(fc.json(), fc.json(), (target, patch) => {
        const change: unknown = JSON.parse(patch);
        const once = mergePatch(JSON.parse(target), change);
        expect(mergePatch(once, change)).toEqual(once);
      }),
    );
  });

  it('cannot reach a prototype', () => {
    const result = mergePatch({}, JSON.parse('{"__proto__":{"bad":1}}'));
    expect((result as { bad?: number }).bad).toBeUndefined();
  });

  it('leaves the target as it was', () => {
    const target = { a: { b: 1 } };
    mergePatch(target, { a: { b: 2, c: 3 } });
    expect(target).toEqual({ a: { b: 1 } });
  });
});

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

describe('jsonPatch', () => {
  it.each([
    [{ a: 1 }, [{ op: 'add', path: '/b', value: 2 }], { a: 1, b: 2 }],
    [{ a: [1, 3] }, [{ op: 'add', path: '/a/1', value: 2 }], { a: [1, 2, 3] }],
    [{ a: [1] }, [{ op: 'add', path: '/a/-', value: 2 }], { a: [1, 2] }],
    [{ a: 1, b: 2 }, [{ op: 'remove', path: '/a' }], { b: 2 }],
    [{ a: [1, 2] }, [{ op: 'remove', path: '/a/0' }], { a: [2] }],
    [{ a: 1 }, [{ op: 'replace', path: '/a', value: 2 }], { a: 2 }],
    [{ a: [1, 2] }, [{ op: 'replace', path: '/a/0', value: 9 }], { a: [9, 2] }],
    [{ a: 1 }, [{ op: 'replace', path: '', value: 2 }], 2],
    [{ a: 1 }, [{ op: 'replace', path: '/b', value: 2 }], { a: 1, b: 2 }],
    [{ a: { b: 1 } }, [{ op: 'move', from: '/a/b', path: '/c' }], { a: {}, c: 1 }],
    [{ a: { b: 1 } }, [{ op: 'copy', from: '/a', path: '/c' }], { a: { b: 1 }, c: { b: 1 } }],
    [{ 'x/y~z': 1 }, [{ op: 'replace', path: '/x~1y~0z', value: 2 }], { 'x/y~z': 2 }],
    [{ a: 1 }, [{ op: 'test', path: '/a', value: 1 }], { a: 1 }],
  ])('makes of %j with %j: %j', (target, patch, result) => {
    expect(jsonPatch(target, patch)).toEqual(result);
  });

  it.each([
    [{ op: 'remove', path: '/x' }],
    [{ op: 'replace', path: '/x/y', value: 1 }],
    [{ op: 'replace', path: '/a/1', value: 1 }],
    [{ op: 'test', path: '/a', value: [2] }],
    [{ op: 'add', path: '/a/2', value: 1 }],
    [{ op: 'add', path: '/a/01', value: 1 }],
    [{ op: 'add', path: 'a', value: 1 }],
    [{ op: 'add', path: '/b/c/d', value: 1 }],
    [{ op: 'add', path: '/__proto__', value: 1 }],
    [{ op: 'sing', path: '/a' }],
    [7],
  ])('refuses %j', (operation) => {
    const target = { a: [1], b: { c: 1 } };
    expect(() => jsonPatch(target, [operation])).toThrow(/cannot be applied/);
    expect(target).toEqual({ a: [1], b: { c: 1 } });
  });

  it('refuses a result that is nested too deep to be copied', () => {
    const deep = Array.from({ length: 20_000 }).reduce<unknown>((value) => ({ a: value }), 1);
    const copy = { op: 'copy', from: '/x', path: '/y' };
    const patch = [
      { op: 'move', from: '/x', path: '/y' },
      { ...copy, from: '/y', path: '/z' },
    ];
    expect(() => jsonPatch({ x: deep }, patch)).toThrow(/cannot be applied/);
  });

  it('refuses patches whose result could grow without bound', () => {
    const copies = Array.from({ length: 40 }, (_, i) => ({ op: 'copy', from: '', path: `/a${i}` }));
    expect(() => jsonPatch({ a: 1 }, copies)).toThrow(/more than 3145728 bytes/);
  });
});
