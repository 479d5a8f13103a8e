import { expect, it } from '@jest/globals';
import { kindOf, serviceState } from './service-state.js';

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
