import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from './object.js';
import { Store, type StoreEvent } from './store.js';

function object(name: string, namespace = 'default'): KubeObject {
  const metadata = { name, namespace, uid: 'u', resourceVersion: '', creationTimestamp: '' };
  return { apiVersion: 'v1', kind: 'Service', metadata };
}

function createStore(historyLimit = 10): Store {
  return new Store({ contents: { revision: 100, objects: new Map() }, historyLimit });
}

describe('Store', () => {
  it('numbers every write of every resource from one counter', () => {
    const store = createStore();
    expect(store.put('services', object('a')).metadata.resourceVersion).toBe('101');
    expect(store.put('pods', object('a')).metadata.resourceVersion).toBe('102');
    expect(store.remove('services', 'default/a')?.metadata.resourceVersion).toBe('103');
    expect(store.revision).toBe(103);
  });

  it('lists in the order of namespace and name, and does not change earlier lists', () => {
    const store = createStore();
    store.put('services', object('b'));
    store.put('services', object('a', 'zoo'));
    const before = store.list('services');
    store.put('services', object('a'));
    expect(before.map(({ metadata }) => metadata.name)).toEqual(['b', 'a']);
    const after = store
      .list('services')
      .map(({ metadata }) => `${metadata.namespace!}/${metadata.name}`);
    expect(after).toEqual(['default/a', 'default/b', 'zoo/a']);
  });

  it('preserves the order through writes and removals between lists', () => {
    const store = createStore();
    const keys = () => store.list('services').map(({ metadata }) => metadata.name);
    for (const name of ['d', 'b', 'f']) store.put('services', object(name));
    expect(keys()).toEqual(['b', 'd', 'f']);
    for (const name of ['a', 'g', 'c', 'd', 'e']) store.put('services', object(name));
    expect(keys()).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g']);
    for (const name of ['a', 'd', 'g', 'd', 'x']) store.remove('services', `default/${name}`);
    expect(keys()).toEqual(['b', 'c', 'e', 'f']);
  });

  it('returns the events since a version until they are too many', () => {
    const store = createStore(3);
    for (let i = 0; i < 6; i++) store.put('services', object(`s${i}`));
    expect(store.eventsSince('services', 100)).toBeUndefined();
    expect(store.eventsSince('services', 103)?.map(({ revision }) => revision)).toEqual([
      104, 105, 106,
    ]);
    expect(store.eventsSince('services', 106)).toEqual([]);
  });

  it('does not discard events of one resource because of another', () => {
    const store = createStore(3);
    store.put('pods', object('p'));
    for (let i = 0; i < 20; i++) store.put('services', object('s'));
    expect(store.eventsSince('pods', 100)).toHaveLength(1);
  });

  it('begins the history of watches anew, and discards what they may not have by a compaction', () => {
    const store = createStore();
    store.put('services', object('a'));
    store.storeSnapshot('services');
    store.put('services', object('b'));
    store.compact();
    expect(store.eventsSince('services', 100)).toHaveLength(2);
    store.forgetWatches();
    expect(store.watchFloor('services')).toBe(102);
    expect(store.eventsSince('services', 101)).toBeUndefined();
    expect(store.eventsSince('services', 102)).toEqual([]);
    expect(store.listAt('services', 101)).toHaveLength(1);
    store.compact();
    expect(store.listAt('services', 101)).toBeUndefined();
    expect(store.listAt('services', 102)).toHaveLength(2);
  });

  it('shows the list of an earlier version while its history is there', () => {
    const store = createStore();
    store.put('services', object('b'));
    store.put('services', object('a'));
    store.remove('services', 'default/b');
    const names = (revision: number) =>
      store.listAt('services', revision)?.map(({ metadata }) => metadata.name);
    expect([100, 101, 102, 103].map(names)).toEqual([[], ['b'], ['a', 'b'], ['a']]);
    expect(names(99)).toBeUndefined();
    expect(names(104)).toBeUndefined();
  });

  it('shows the list of a page when its history is gone', () => {
    const store = createStore(2);
    store.put('services', object('a'));
    store.storeSnapshot('services');
    for (let i = 0; i < 9; i++) store.put('services', object('b'));
    expect(store.listAt('services', 101)).toHaveLength(1);
    expect(store.listAt('services', 102)).toBeUndefined();
  });

  it('has those wait who need a version that is yet to come', async () => {
    const store = createStore();
    const reached = store.reached(102, 60_000);
    store.put('services', object('a'));
    store.put('services', object('a'));
    await reached;
    await store.reached(102, 60_000);
    await store.reached(103, 1);
    expect(store.revision).toBe(102);
  });

  it('stores a bounded number of snapshots', () => {
    const store = createStore();
    for (let i = 0; i < 50; i++) {
      store.put('services', object('a'));
      store.storeSnapshot('services');
    }
    expect(store.listAt('services', 101)).toBeUndefined();
    expect(store.listAt('services', 149)).toHaveLength(1);
  });

  it('delivers events in order even when a listener writes', () => {
    const store = createStore();
    const seen: number[] = [];
    store.subscribe('services', ({ type }) => {
      if (type === 'DELETED') store.put('services', object('again'));
    });
    store.subscribe('services', ({ revision }) => seen.push(revision));
    store.put('services', object('a'));
    store.remove('services', 'default/a');
    expect(seen).toEqual([101, 102, 103]);
  });

  it('delivers the last state of a removed object', () => {
    const store = createStore();
    const events: StoreEvent[] = [];
    store.put('services', object('a'));
    const end = store.subscribe('services', (event) => events.push(event));
    store.remove('services', 'default/a');
    store.remove('services', 'default/a');
    end();
    store.put('services', object('b'));
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({
      type: 'DELETED',
      previous: { metadata: { resourceVersion: '101' } },
    });
  });
});
