import { describe, expect, it } from '@jest/globals';
import { UsageError } from './errors.js';
import { parseArguments } from './parse-arguments.js';

const parse = (...args: string[]) =>
  parseArguments(
    {
      args,
      options: {
        left: { type: 'string' },
        only: { type: 'string', multiple: true },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    },
    'kube-dns compare',
  ).values;

describe('arguments', () => {
  it('are read as Node reads them', () => {
    expect(parse('--left', 'a', '--only=b', '--only', 'c', '--json', '-h')).toEqual({
      left: 'a',
      only: ['b', 'c'],
      json: true,
      help: true,
    });
    expect(parse('--left=-1', '--only', '-')).toEqual({ left: '-1', only: ['-'] });
  });

  it.each([
    [['--lefd=a'], 'unknown flag --lefd; did you mean --left?'],
    [['--jsno'], 'unknown flag --jsno; did you mean --json?'],
    [['--frobnicate'], 'unknown flag --frobnicate; see kube-dns compare --help'],
    [['--constructor'], 'unknown flag --constructor; see kube-dns compare --help'],
    [['-x'], 'unknown flag -x; see kube-dns compare --help'],
    [['--left'], '--left needs a value'],
    [['--left', '--json'], '--left needs a value; is it --json? Then write --left=--json'],
    [['--json=x'], '--json=x: this flag takes no value'],
    [['a b'], '"a b" is one argument too many'],
  ])('are refused in our words: %j', (args, message) => {
    expect(() => parse(...args)).toThrow(new UsageError(message));
  });
});
