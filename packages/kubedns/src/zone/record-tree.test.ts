import { describe, expect, it } from '@jest/globals';
import { encodeKey, encodeName, encodeRdata, TYPE } from '@kube-dns/wire';
import fc from 'fast-check';
import { textsAt } from '../../test/support/record-text.js';
import { addressBytes } from './address.js';
import { RecordTree, type ZoneRecord } from './record-tree.js';

const APEX = encodeKey('zone');
const NAMES = ['a', 'b.a', 'c.b.a', 'd.c.b.a', 'b', 'x.b', 'zone'].map((text) =>
  text === 'zone' ? 'zone' : `${text}.zone`,
);

function a(owner: string, address: string, rank = 0): ZoneRecord {
  return { owner: encodeKey(owner), type: TYPE.A, rdata: addressBytes(address), rank };
}

function ptr(owner: string, target: string, rank: number): ZoneRecord {
  return { owner: encodeKey(owner), type: TYPE.PTR, rdata: encodeName(target), rank };
}

const at = (tree: RecordTree, name: string) => textsAt(tree, encodeKey(name));

/** Everything that a tree says about the names of these tests. */
function contents(tree: RecordTree): object {
  return { size: tree.size, names: NAMES.map((name) => [name, at(tree, name)]) };
}

interface Step {
  readonly source: string;
  readonly records: readonly ZoneRecord[];
  readonly emptyNames: readonly string[];
}

const names = fc.constantFrom(...NAMES);
const steps = fc.array(
  fc.record<Step>({
    source: fc.constantFrom('s1', 's2', 's3'),
    records: fc.array(
      fc
        .tuple(names, fc.constantFrom('10.0.0.1', '10.0.0.2', 'fd00::1'), fc.nat({ max: 2 }))
        .map(([owner, address, rank]) => ({
          ...a(owner, address, rank),
          type: address.includes(':') ? TYPE.AAAA : TYPE.A,
        })),
      { maxLength: 5 },
    ),
    emptyNames: fc.array(names, { maxLength: 2 }),
  }),
  { maxLength: 12 },
);

function apply(tree: RecordTree, { source, records, emptyNames }: Step): void {
  tree.replace(
    source,
    records,
    emptyNames.map((name) => encodeKey(name)),
  );
}

describe('RecordTree', () => {
  it('holds after any replacements what a tree built from the last ones holds', () => {
    fc.assert(
      fc.property(steps, (history) => {
        const tree = new RecordTree(APEX);
        for (const step of history) apply(tree, step);
        const last = new Map(history.map((step) => [step.source, step]));
        const fresh = new RecordTree(APEX);
        for (const step of [...last.values()].reverse()) apply(fresh, step);
        expect(contents(tree)).toEqual(contents(fresh));
      }),
    );
  });

  it('is left with nothing but its apex when every source is emptied', () => {
    fc.assert(
      fc.property(steps, (history) => {
        const tree = new RecordTree(APEX);
        for (const step of history) apply(tree, step);
        for (const source of ['s1', 's2', 's3']) tree.replace(source, []);
        expect(contents(tree)).toEqual(contents(new RecordTree(APEX)));
      }),
    );
  });

  it('lets the names between a record and the apex exist as long as the record does', () => {
    const tree = new RecordTree(APEX);
    expect(at(tree, 'zone')).toEqual([]);
    tree.replace('s', [a('d.c.b.a.zone', '10.0.0.1')]);
    expect(at(tree, 'b.a.zone')).toEqual([]);
    expect(at(tree, 'x.a.zone')).toBeUndefined();
    expect(tree.size).toBe(5);
    tree.replace('s', [a('b.a.zone', '10.0.0.1')]);
    expect(at(tree, 'b.a.zone')).toEqual(['A 10.0.0.1']);
    expect(at(tree, 'c.b.a.zone')).toBeUndefined();
    tree.replace('s', []);
    expect(at(tree, 'a.zone')).toBeUndefined();
    expect(tree.size).toBe(1);
  });

  it('lets a name exist that a source names without records', () => {
    const tree = new RecordTree(APEX);
    tree.replace('s', [], [encodeKey('a.zone')]);
    expect(at(tree, 'a.zone')).toEqual([]);
    tree.replace('s', []);
    expect(at(tree, 'a.zone')).toBeUndefined();
  });

  it('keeps what another source says of a name', () => {
    const tree = new RecordTree();
    const reverse = '1.0.0.10.in-addr.arpa';
    tree.replace('one', [ptr(reverse, 'one.zone', 0)]);
    tree.replace('two', [ptr(reverse, 'two.zone', 0)]);
    tree.replace('one', []);
    expect(at(tree, reverse)).toEqual(['PTR two.zone']);
    tree.replace('two', []);
    expect(tree.size).toBe(0);
  });

  it('orders a set by rank and then the same way whoever came first', () => {
    const reverse = '1.0.0.10.in-addr.arpa';
    const records = [
      ptr(reverse, 'z.zone', 0),
      ptr(reverse, 'b.zone', 1),
      ptr(reverse, 'a.zone', 1),
    ];
    const order = ['PTR z.zone', 'PTR a.zone', 'PTR b.zone'];
    for (const some of [records, [...records].reverse()]) {
      const tree = new RecordTree();
      some.forEach((record, i) => tree.replace(`s${i}`, [record]));
      expect(at(tree, reverse)).toEqual(order);
    }
  });

  it('makes no names above a record without an apex', () => {
    const tree = new RecordTree();
    tree.replace('s', [ptr('1.0.0.10.in-addr.arpa', 'a.zone', 0)]);
    expect(at(tree, 'in-addr.arpa')).toBeUndefined();
    expect(tree.size).toBe(1);
  });

  it('has a record once that two sources bring', () => {
    const tree = new RecordTree(APEX);
    tree.replace('s1', [a('a.zone', '10.0.0.1')]);
    tree.replace('s2', [a('a.zone', '10.0.0.1'), a('a.zone', '10.0.0.2')]);
    expect(at(tree, 'a.zone')).toEqual(['A 10.0.0.1', 'A 10.0.0.2']);
  });

  it('shows each target of an SRV set once', () => {
    const tree = new RecordTree(APEX);
    const srv = (port: number, target: string): ZoneRecord => ({
      owner: encodeKey('a.zone'),
      type: TYPE.SRV,
      rdata: encodeRdata({ type: 'SRV', name: '.', data: { port, target } }),
      rank: 0,
    });
    tree.replace('s', [srv(1, 'x.zone'), srv(2, 'x.zone'), srv(1, 'y.zone')]);
    const name = encodeKey('a.zone');
    const set = tree.find(name, 0, name.length)?.find(TYPE.SRV);
    expect(set?.rdata).toHaveLength(3);
    expect(set?.targets.map((target) => Buffer.from(target).toString('latin1'))).toEqual([
      '\u0001x\u0004zone\0',
      '\u0001y\u0004zone\0',
    ]);
  });
});
