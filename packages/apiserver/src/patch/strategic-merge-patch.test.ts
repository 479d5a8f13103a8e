import { describe, expect, it } from '@jest/globals';
import { strategicMergePatch } from './strategic-merge-patch.js';

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
              { name: 'A', value: '1' },
              { name: 'B', value: '2' },
            ],
          },
        ],
      },
    });
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

  it('refuses an item without its merge key', () => {
    const patch = { spec: { ports: [{ name: 'x' }] } };
    expect(() => strategicMergePatch(PORTS, patch, KEYS)).toThrow(/merge key "port"/);
  });
});
