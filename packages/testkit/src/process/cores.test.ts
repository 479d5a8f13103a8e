import { describe, expect, it } from '@jest/globals';
import { parseCpuList, pinnedCommand, planCores } from './cores.js';

describe('the list of cores', () => {
  it.each([
    ['0', [0]],
    ['\t0-3\n', [0, 1, 2, 3]],
    ['1,4-5,9', [1, 4, 5, 9]],
    ['', []],
    ['all', []],
  ])('is read from %j', (text, cores) => {
    expect(parseCpuList(text)).toEqual(cores);
  });
});

describe('the plan of cores', () => {
  it('has one for the server alone, and a third one for its upstream where there is one', () => {
    expect(planCores([2, 4, 6, 7])).toEqual({ load: 2, server: 4, upstream: 6 });
    expect(planCores([0, 1])).toEqual({ load: 0, server: 1, upstream: 0 });
  });

  it('is none with a single core', () => {
    expect(planCores([3])).toBeUndefined();
    expect(planCores([])).toBeUndefined();
  });
});

describe('a command line', () => {
  it('is pinned to a core, or unchanged', () => {
    expect(pinnedCommand(1, 'a', ['b'])).toEqual({
      command: 'taskset',
      args: ['-c', '1', 'a', 'b'],
    });
    expect(pinnedCommand(undefined, 'a', ['b'])).toEqual({ command: 'a', args: ['b'] });
  });
});
