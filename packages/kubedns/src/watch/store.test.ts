import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LoopTurn } from '@kube-dns/base';
import { type ApiObject, ObjectStore, type Projection } from './store.js';

interface StoredText extends Projection {
  readonly text: string;
}

let events: string[];
let rejected: string[];
let store: ObjectStore<ApiObject, StoredText>;
const turn = new LoopTurn();
beforeEach(() => {
  events = [];
  rejected = [];
  const sink = {
    project: (key: string, object: ApiObject) => {
      if (key.endsWith('bad')) throw new Error('it is bad');
      const text = object.metadata?.resourceVersion ?? 'none';
      return { version: 'not set yet', listNumber: -1, text };
    },
    change: (key: string, before?: StoredText, after?: StoredText) => {
      events.push(`${key}: ${before?.text ?? '-'} to ${after?.text ?? '-'}`);
      if (key.endsWith('worse')) throw new Error('it is worse');
    },
  };
  store = new ObjectStore(sink, (what, reason) => rejected.push(`${what}: ${reason}`));
});

const object = (name: string, resourceVersion?: string): ApiObject => ({
  metadata: {
    namespace: 'shop',
    name,
    ...(resourceVersion !== undefined && { resourceVersion }),
  },
});

/** Events since the last call. */
const news = () => events.splice(0);

async function list(...objects: readonly ApiObject[]): Promise<boolean> {
  const number = store.beginList();
  for (const one of objects) store.put(one);
  return store.endList(number, turn);
}

/** Of objects whose version is their size in bytes. */
const SIZED = {
  project: (_key: string, { metadata }: ApiObject) => ({
    version: '',
    listNumber: 0,
    text: metadata?.resourceVersion ?? '',
  }),
  bytesOf: ({ text }: StoredText) => Number(text),
};

describe('ObjectStore', () => {
  it('passes the old and the new projection to the sink', () => {
    store.put(object('web', '1'));
    store.put(object('web', '2'));
    store.delete(object('web', '3'));
    expect(news()).toEqual(['shop/web: - to 1', 'shop/web: 1 to 2', 'shop/web: 2 to -']);
    expect(store.size).toBe(0);
  });

  it('ignores a stored version, and the deletion of an unknown object', () => {
    store.put(object('web', '1'));
    news();
    store.put(object('web', '1'));
    store.delete(object('other', '1'));
    expect(news()).toEqual([]);
  });

  it('treats an object without a version as changed', () => {
    store.put(object('web'));
    store.put(object('web'));
    expect(news()).toHaveLength(2);
  });

  it('uses the name alone as key of objects without a namespace', () => {
    store.put({ metadata: { name: 'shop', resourceVersion: '1' } });
    expect(news()).toEqual(['shop: - to 1']);
  });

  it('applies a list as a diff', async () => {
    await list(object('a', '1'), object('b', '2'), object('c', '3'));
    news();
    store.put(object('late', '4'));
    expect(await list(object('b', '2'), object('c', '5'), object('d', '6'))).toBe(true);
    expect(news()).toEqual([
      'shop/late: - to 4',
      'shop/c: 3 to 5',
      'shop/d: - to 6',
      'shop/a: 1 to -',
      'shop/late: 4 to -',
    ]);
  });

  it('ends with the objects of the last list, for any history', async () => {
    const objects = fc.uniqueArray(fc.tuple(fc.nat(9), fc.nat(3)), { selector: ([name]) => name });
    await fc.assert(
      fc.asyncProperty(fc.array(objects, { minLength: 1 }), async (lists) => {
        for (const one of lists) {
          await list(...one.map(([name, version]) => object(`s${name}`, String(version))));
        }
        expect(store.size).toBe(lists.at(-1)!.length);
        await list();
        const last = new Map(news().map((event) => [event.split(':')[0], event]));
        expect([...last.values()].every((event) => event.endsWith('to -'))).toBe(true);
        expect(store.size).toBe(0);
      }),
    );
  });

  it('removes nothing when the list is incomplete', () => {
    store.put(object('web', '1'));
    store.beginList();
    store.put(object('other', '1'));
    expect(store.size).toBe(2);
  });

  it('leaves out objects without a name and invalid ones, and treats them as deleted', () => {
    const odd = [null, 3, 'text', [], {}, { metadata: null }, { metadata: { name: 5 } }];
    for (const one of odd) store.put(one as ApiObject);
    store.delete({});
    expect(rejected).toHaveLength(odd.length + 1);
    store.put(object('bad', '1'));
    expect(rejected.at(-1)).toBe('shop/bad: it is bad');
    expect(store.size).toBe(0);
    expect(news()).toEqual([]);
  });

  it('continues when the sink throws', () => {
    store.put(object('worse', '1'));
    store.put(object('web', '1'));
    expect(store.size).toBe(2);
    expect(rejected).toEqual(['shop/worse: it is worse']);
  });

  it('drops everything, and makes a list in progress fail', async () => {
    await list(object('a', '1'), object('b', '1'));
    news();
    const number = store.beginList();
    store.put(object('a', '1'));
    await store.forget(turn);
    store.put(object('c', '1'));
    expect(news()).toEqual(['shop/a: 1 to -', 'shop/b: 1 to -', 'shop/c: - to 1']);
    expect(await store.endList(number, turn)).toBe(false);
    expect(store.size).toBe(1);
  });

  describe('with limits', () => {
    const sizes = (...names: readonly string[]) => names.map((name) => object(name, '10'));
    let limited: ObjectStore<ApiObject, StoredText>;
    let stored: Set<string>;
    let most: number;
    beforeEach(() => {
      stored = new Set();
      most = 0;
      const sink = {
        ...SIZED,
        change: (key: string, _before: unknown, after: unknown) => {
          if (after === undefined) stored.delete(key.slice('shop/'.length));
          else stored.add(key.slice('shop/'.length));
          most = Math.max(most, stored.size);
        },
      };
      const limits = { maxObjects: 4, maxBytes: 45 };
      limited = new ObjectStore<ApiObject, StoredText>(sink, () => undefined, limits);
    });
    const listLimited = async (...objects: readonly ApiObject[]) => {
      const number = limited.beginList();
      for (const one of objects) limited.put(one);
      return limited.endList(number, turn);
    };

    it('replaces all objects by as many others in two lists, with no more at a time', async () => {
      expect(await listLimited(...sizes('a', 'b', 'c', 'd'))).toBe(true);
      const others = sizes('e', 'f', 'c', 'g');
      expect(await listLimited(...others)).toBe(false);
      expect([...stored]).toEqual(['c']);
      expect(await listLimited(...others)).toBe(true);
      expect([...stored].sort()).toEqual(['c', 'e', 'f', 'g']);
      expect(most).toBe(4);
    });

    it('throws for a list that has more, wherever those are, and what is there stays', async () => {
      await listLimited(...sizes('b', 'c', 'd', 'e'));
      await expect(listLimited(...sizes('a', 'b', 'c', 'd', 'e'))).rejects.toThrow('--max-objects');
      await expect(listLimited(...sizes('b', 'c', 'd', 'e', 'f'))).rejects.toThrow('--max-objects');
      const larger = [object('b', '20'), ...sizes('c', 'd', 'e')];
      await expect(listLimited(...larger)).rejects.toThrow('--max-stored-bytes');
      expect([...stored].sort()).toEqual(['b', 'c', 'd', 'e']);
      expect(await listLimited(object('b', '15'), ...sizes('c', 'd', 'e'))).toBe(true);
    });
  });

  it('throws for what exceeds its limits, and has room again after deletions', () => {
    const sink = {
      ...SIZED,
      change: () => undefined,
    };
    const limits = { maxObjects: 3, maxBytes: 100 };
    const limited = new ObjectStore<ApiObject, StoredText>(sink, () => undefined, limits);
    limited.put(object('a', '60'));
    limited.put(object('b', '40'));
    expect(() => limited.put(object('c', '1'))).toThrow('the objects take more than 100 bytes');
    expect(() => limited.put(object('b', '41'))).toThrow('(--max-stored-bytes)');
    limited.put(object('a', '10'));
    limited.put(object('c', '50'));
    expect(() => limited.put(object('d', '0'))).toThrow(
      'there are more than 3 objects (--max-objects)',
    );
    limited.delete(object('a'));
    limited.put(object('d', '10'));
    expect(limited.size).toBe(3);
  });
});
