import { describe, expect, it } from '@jest/globals';
import { EncryptedQuery, HandshakeSlots, OutstandingQueries } from './connection.js';

describe('HandshakeSlots', () => {
  it('gives turns in order, two at a time, and ends those that take too long', () => {
    let nowMs = 0;
    const slots = new HandshakeSlots(() => nowMs);
    const began: string[] = [];
    const named = (name: string) => ({ onTurn: () => void began.push(name) });
    const [a, b, c, d, e] = ['a', 'b', 'c', 'd', 'e'].map(named) as [
      ReturnType<typeof named>,
      ...ReturnType<typeof named>[],
    ];
    for (const each of [a, b, c, d, e]) slots.acquire(each!);
    expect(began).toEqual(['a', 'b']);
    slots.release(c!);
    slots.release(a);
    expect(began).toEqual(['a', 'b', 'd']);
    nowMs = 249;
    slots.tick();
    expect(began).toHaveLength(3);
    nowMs = 250;
    slots.tick();
    expect(began).toEqual(['a', 'b', 'd', 'e']);
    // Its turn was ended already.
    slots.release(b!);
    expect(began).toHaveLength(4);
  });
});

const socket = { resend: () => undefined, forget: () => undefined };
const handler = { onReply: () => undefined, onUnreachable: () => undefined };
const query = () => new EncryptedQuery(socket, Buffer.alloc(0), handler);

it('finds each query by its ID only, and uses a slot again', () => {
  const outstanding = new OutstandingQueries();
  const queries = Array.from({ length: 1_024 }, query);
  for (const each of queries) outstanding.add(each);
  expect(new Set(queries.map(({ id }) => id)).size).toBe(1_024);
  expect(outstanding.size).toBe(1_024);
  for (const each of queries) {
    expect(each.id).toBeLessThan(65_536);
    expect(outstanding.get(each.id)).toBe(each);
    expect(outstanding.get(each.id ^ 0x8000)).toBeUndefined();
  }
  const [first, second] = queries;
  outstanding.remove(first!);
  outstanding.remove(second!);
  expect(outstanding.get(first!.id)).toBeUndefined();
  expect(outstanding.list()).toHaveLength(1_022);
  outstanding.add(query());
  expect(outstanding.size).toBe(1_023);
});
