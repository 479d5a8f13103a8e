import { describe, expect, it } from '@jest/globals';
import { kindOf, Schedule, serviceState } from './cluster-state.js';

const PLAN = { startMs: 1_000, changesPerSecond: 10, churned: 3, settled: 2, configMs: 500 };

describe('the schedule', () => {
  it('gives a version to each service in its turn', () => {
    const schedule = new Schedule(PLAN);
    expect([0, 1, 2, 3].map((index) => schedule.change(index))).toEqual([
      { service: 0, version: 1 },
      { service: 1, version: 1 },
      { service: 2, version: 1 },
      { service: 0, version: 2 },
    ]);
  });

  it('has the version of each service at each moment', () => {
    const schedule = new Schedule(PLAN);
    const versions = [0, 0, 0];
    for (let index = 0; index < 50; index++) {
      const { service, version } = schedule.change(index);
      expect(schedule.serviceVersion(service, schedule.dueMs(index) - 1)).toBe(versions[service]);
      versions[service] = version;
      expect(schedule.changesDue(schedule.dueMs(index))).toBe(index + 1);
      expect(versions.map((_, i) => schedule.serviceVersion(i, schedule.dueMs(index)))).toEqual(
        versions,
      );
    }
  });

  it('changes nothing before its start, and nothing at all at a rate of 0', () => {
    expect(new Schedule(PLAN).changesDue(999)).toBe(0);
    const still = new Schedule({ ...PLAN, changesPerSecond: 0, churned: 0, configMs: 0 });
    expect(still.serviceVersion(0, 1e9)).toBe(0);
    expect(still.configVersion(1e9)).toBe(0);
  });

  it('has a new configuration after each interval', () => {
    const schedule = new Schedule(PLAN);
    expect([0, 1_499, 1_500, 2_100].map((ms) => schedule.configVersion(ms))).toEqual([0, 0, 1, 2]);
  });
});

it('no address is that of two services', () => {
  const owners = new Map<string, number>();
  const shared: string[] = [];
  for (let index = 0; index < 600; index++) {
    for (let version = 0; version < 20; version++) {
      const { kind, clusterIP, ready, unready } = serviceState(index, version);
      if (kind !== kindOf(index)) shared.push(`${index} is ${kind}`);
      const addresses = [clusterIP, ...[...ready, ...unready].map(({ address }) => address)];
      for (const address of addresses) {
        if ((owners.get(address) ?? index) !== index) shared.push(address);
        owners.set(address, index);
      }
    }
  }
  expect(shared).toEqual([]);
});

it('a service is made, changed twice and deleted, and comes back with another address', () => {
  const states = [0, 1, 2, 3, 4].map((version) => serviceState(0, version));
  expect(states.map(({ isThere }) => isThere)).toEqual([true, true, true, false, true]);
  expect(states.map(({ portName }) => portName).slice(0, 3)).toEqual(['web', 'admin', 'web']);
  expect(states[4]!.clusterIP).not.toBe(states[0]!.clusterIP);
});
