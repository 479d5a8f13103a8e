import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ClientShares } from './client-shares.js';

interface Item {
  readonly address: string;
}

/** Who gives one up by the rule itself: all are looked at. */
function takenByRule(items: readonly Item[], own: Item): string | undefined {
  const counts = new Map<string, number>();
  for (const { address } of items) counts.set(address, (counts.get(address) ?? 0) + 1);
  const ownCount = counts.get(own.address) ?? 0;
  const others = [...counts].filter(([address]) => address !== own.address);
  const most = Math.max(0, ...others.map(([, count]) => count));
  const isOfPod = own.address.startsWith('127.');
  const isFair = isOfPod && ownCount === 0 ? most > 0 : most > ownCount + (isOfPod ? 0 : 1);
  return isFair ? others.find(([, count]) => count === most)![0] : undefined;
}

describe('the shares of clients', () => {
  it('are as the rule says, whatever was added and deleted', () => {
    const ADDRESSES = ['10.1.0.1', '10.1.0.2', '10.1.0.3', '127.0.0.1'];
    const action = fc.record({
      isAdded: fc.boolean(),
      address: fc.constantFrom(...ADDRESSES),
      at: fc.nat(20),
    });
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
        const shares = new ClientShares<Item>();
        const items: Item[] = [];
        for (const { isAdded, address, at } of actions) {
          if (isAdded) {
            const item = { address };
            items.push(item);
            shares.add(item);
          } else if (items.length > 0) {
            const [item] = items.splice(at % items.length, 1);
            shares.delete(item!);
            shares.delete(item!);
          }
          for (const own of ADDRESSES) {
            const taken = shares.takenFor({ address: own });
            const byRule = takenByRule(items, { address: own });
            const countOf = (client: string | undefined) =>
              items.filter((each) => each.address === client).length;
            // Among those with as many it may be any.
            expect([taken === undefined, countOf(taken?.address)]).toEqual([
              byRule === undefined,
              countOf(byRule),
            ]);
            const oldest = items.find((each) => each.address === taken?.address);
            expect(taken).toBe(oldest);
          }
        }
      }),
    );
  });

  it('are of an address, and with IPv6 of its /64', () => {
    const shares = new ClientShares<Item>();
    const items = ['fd00:0:0:1::1', 'fd00:0:0:1::2', '10.1.0.1'].map((address) => ({ address }));
    for (const item of items) shares.add(item);
    expect(shares.takenFor({ address: '10.1.0.2' })).toBe(items[0]);
    expect(shares.takenFor({ address: 'fd00:0:0:1::3' })).toBeUndefined();
    expect(shares.takenFor({ address: 'fd00:0:0:2::3' })).toBe(items[0]);
  });
});
