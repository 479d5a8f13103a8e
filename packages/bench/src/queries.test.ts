import { describe, expect, it } from '@jest/globals';
import { Query } from '@kube-dns/wire';
import { ClusterPlan } from './cluster/cluster-plan.js';
import {
  asClientsAsk,
  encodeQuestion,
  encodeQuestionFile,
  inRandomOrder,
  type LoadQuestion,
  askedServices,
  mixesOf,
} from './queries.js';

const MANY: readonly LoadQuestion[] = Array.from({ length: 2_000 }, (_, i) => ({
  name: `web-${i}.team.svc.cluster.local`,
  type: 'A',
}));

function readQuery(bytes: Uint8Array): Query {
  const query = new Query();
  expect(query.read(bytes, bytes.length, false, 4_096)).toBe('answer');
  return query;
}

describe('a query of a load', () => {
  it('is plain by default', () => {
    const query = readQuery(encodeQuestion({ name: 'a.example', type: 'AAAA' }));
    expect(query).toMatchObject({ type: 28, hasEdns: false, isRecursionDesired: true });
  });

  it('offers the given size, with a cookie or without', () => {
    const plain = { name: 'a.example', type: 'A', ednsBytes: 4_096 } as const;
    expect(readQuery(encodeQuestion(plain))).toMatchObject({
      hasEdns: true,
      maxAnswerBytes: 4_096,
    });
    const withCookie = encodeQuestion({ ...plain, hasCookie: true });
    expect(readQuery(withCookie)).toMatchObject({ hasEdns: true });
    expect(withCookie.length - encodeQuestion(plain).length).toBe(12);
  });

  it('is in the file after its length', () => {
    const file = encodeQuestionFile([
      { name: 'a.example', type: 'A' },
      { name: 'bc.example', type: 'A' },
    ]);
    const first = file.readUInt16BE(0);
    const second = file.readUInt16BE(2 + first);
    expect(2 + first + 2 + second).toBe(file.length);
    expect(readQuery(file.subarray(2, 2 + first)).nameLength).toBe(11);
    expect(readQuery(file.subarray(4 + first)).nameLength).toBe(12);
  });
});

describe('what clients ask', () => {
  it('is one in ten in mixed case and three in ten with a cookie', () => {
    const asked = asClientsAsk(MANY);
    expect(asked.map(({ name }) => name.toLowerCase())).toEqual(MANY.map(({ name }) => name));
    const mixed = asked.filter(({ name }) => /[A-Z]/.test(name)).length / MANY.length;
    const cookies = asked.filter(({ hasCookie }) => hasCookie).length / MANY.length;
    expect(Math.abs(mixed - 0.1)).toBeLessThan(0.02);
    expect(Math.abs(cookies - 0.3)).toBeLessThan(0.03);
  });

  it('is the same each time', () => {
    expect(asClientsAsk(MANY)).toEqual(asClientsAsk(MANY));
  });
});

describe('a random order', () => {
  it('has everything once, and the same each time', () => {
    const items = MANY.map((_, i) => i);
    const order = inRandomOrder(items);
    expect(order).not.toEqual(items);
    expect([...order].sort((left, right) => left - right)).toEqual(items);
    expect(inRandomOrder(items)).toEqual(order);
    expect(inRandomOrder([])).toEqual([]);
  });
});

const PLAN = new ClusterPlan({ services: 100, slices: 0, endpointsPerSlice: 1, headless: 0.1 });

describe('the mixes', () => {
  it('ask for services with an address, no more than wanted', () => {
    const services = askedServices(PLAN, 20);
    expect(services).toHaveLength(20);
    expect(services.filter((i) => PLAN.isHeadless(i))).toEqual([]);
    expect(askedServices(PLAN, 500)).toHaveLength(90);
  });

  it('ask for each service once, in another order', () => {
    const services = askedServices(PLAN, 90);
    for (const { lines } of mixesOf(PLAN, services)) {
      expect(new Set(lines).size).toBe(90);
      expect(lines).not.toEqual([...lines].sort());
    }
  });

  it('ask for addresses, ports, reverse names and names that do not exist', () => {
    expect(mixesOf(PLAN, [7]).map(({ lines }) => lines[0])).toEqual([
      'web-00007.team-000.svc.cluster.local A',
      '_http._tcp.web-00007.team-000.svc.cluster.local SRV',
      '7.2.96.10.in-addr.arpa PTR',
      'no-7.team-000.svc.cluster.local A',
    ]);
  });
});
