import { expect, it } from '@jest/globals';
import { EncryptedQuery } from './encrypted-query.js';
import { UnderWay } from './under-way.js';

const socket = { resend: () => undefined, forget: () => undefined };
const handler = { onReply: () => undefined, onUnreachable: () => undefined };
const query = () => new EncryptedQuery(socket, Buffer.alloc(0), handler);

it('finds each query by its ID only, and uses a place again', () => {
  const underWay = new UnderWay();
  const queries = Array.from({ length: 1_024 }, query);
  for (const each of queries) underWay.add(each);
  expect(new Set(queries.map(({ id }) => id)).size).toBe(1_024);
  expect(underWay.size).toBe(1_024);
  for (const each of queries) {
    expect(each.id).toBeLessThan(65_536);
    expect(underWay.get(each.id)).toBe(each);
    expect(underWay.get(each.id ^ 0x8000)).toBeUndefined();
  }
  const [first, second] = queries;
  underWay.remove(first!);
  underWay.remove(second!);
  expect(underWay.get(first!.id)).toBeUndefined();
  expect(underWay.list()).toHaveLength(1_022);
  underWay.add(query());
  expect(underWay.size).toBe(1_023);
});
