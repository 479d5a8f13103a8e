import { describe, expect, it } from '@jest/globals';
import { UsageError } from '@kube-dns/base';
import {
  describeOptions,
  numberOption,
  parseOptions,
  switchOption,
  textOption,
  wordsOption,
} from './command-options.js';

const OPTIONS = {
  size: numberOption(10, 'how many', { min: 1, max: 100 }),
  part: numberOption(0.5, 'how much', { max: 1, isWhole: false }),
  json: textOption('', 'FILE', 'where to'),
  flags: wordsOption(['--a'], 'what with'),
  strict: switchOption('whether'),
};

const parse = (args: readonly string[]) => parseOptions(args, OPTIONS, 'bench');

describe('the options of a command', () => {
  it('have their defaults', () => {
    expect(parse([])).toEqual({
      size: 10,
      part: 0.5,
      json: '',
      flags: ['--a'],
      strict: false,
    });
  });

  it('are read from the arguments', () => {
    const args = ['--size=7', '--part=0.25', '--flags=--b  --c=1', '--strict', '--json', 'x'];
    expect(parse(args)).toEqual({
      size: 7,
      part: 0.25,
      json: 'x',
      flags: ['--b', '--c=1'],
      strict: true,
    });
  });

  it.each(['--help', '-h'])('are undefined when %s is among them', (flag) => {
    expect(parse(['--size=7', flag])).toBeUndefined();
  });

  it.each([
    ['--size=0', '--size=0: is not a whole number from 1 to 100'],
    ['--size=1.5', '--size=1.5: is not a whole number from 1 to 100'],
    ['--size=', '--size=: is not a whole number from 1 to 100'],
    ['--part=2', '--part=2: is not a number from 0 to 1'],
  ])('refuse %s', (arg, message) => {
    expect(() => parse([arg])).toThrow(UsageError);
    expect(() => parse([arg])).toThrow(message);
  });

  it('are described with their defaults', () => {
    const lines = describeOptions(OPTIONS).split('\n');
    expect(lines[0]).toMatch(/^ {2}--size=N +how many \(default 10\)$/);
    expect(lines[4]).toMatch(/^ {2}--strict +whether$/);
  });
});
