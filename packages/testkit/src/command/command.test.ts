import { describe, expect, it } from '@jest/globals';
import { numberOption, switchOption } from '@kube-dns/base';
import { describeOptions } from './command.js';

describe('the options of a command', () => {
  it('are described with their defaults', () => {
    const options = {
      size: numberOption(10, 'how many', { min: 1, max: 100 }),
      strict: switchOption('whether'),
    };
    const lines = describeOptions(options).split('\n');
    expect(lines[0]).toMatch(/^ {2}--size=N +how many \(default 10\)$/);
    expect(lines[1]).toMatch(/^ {2}--strict +whether$/);
  });
});
