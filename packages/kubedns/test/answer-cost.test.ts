import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';

/** What SECURITY.md states, in ms of CPU, and room for a machine that is slow and busy. */
const ROOM = 5;
const MAX_OBJECT_MS = 1 * ROOM;
const MAX_ADDRESS_MS = 0.1 * 2.5;
const MAX_WILDCARD_MS = 0.2 * ROOM;
const PROGRAM = fileURLToPath(new URL('./fixtures/answer-cost.mjs', import.meta.url));

type Costs = Readonly<Record<'object' | 'address' | 'wildcard', Readonly<Record<string, number>>>>;

let costs: Costs;
beforeAll(async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM]);
  costs = JSON.parse(stdout) as Costs;
}, 120_000);

const above = (kind: keyof Costs, ms: number) =>
  Object.entries(costs[kind]).filter(([, cpuMs]) => cpuMs > ms);

describe('the CPU time of a question', () => {
  it('is at most 1 ms about any service: 1,000 endpoints of 20,000 ports, 40,000 endpoints', () => {
    expect(Object.keys(costs.object).length).toBeGreaterThan(20);
    expect(above('object', MAX_OBJECT_MS)).toEqual([]);
  });

  it('is at most 0.1 ms about an address of a service with 40,000 endpoints', () => {
    expect(Object.keys(costs.address)).toHaveLength(4);
    expect(above('address', MAX_ADDRESS_MS)).toEqual([]);
  });

  it('is at most 0.2 ms for a wildcard among 10,000 services in 5,000 namespaces', () => {
    expect(Object.keys(costs.wildcard).length).toBeGreaterThan(20);
    expect(above('wildcard', MAX_WILDCARD_MS)).toEqual([]);
  });
});
