import { describe, expect, it } from '@jest/globals';
import { UsageError } from './errors.js';
import {
  numberOption,
  numbersOption,
  optional,
  parseOptions,
  preset,
  repeatable,
  switchOption,
  textOption,
  namesOption,
  partsOption,
  wordsOption,
} from './options.js';

const lengthOf = (text: string) => {
  if (text === 'bad') throw new Error('is bad');
  if (text === 'worse') throw new UsageError('this is worse');
  return text.length;
};

const FLAGS = {
  left: optional('ADDRESS', 'one server'),
  length: preset('four', 'TEXT', 'how long', lengthOf),
  only: repeatable('NAME', 'which', (text) => text),
  file: { ...textOption('', 'FILE', 'where from'), needs: 'a path' },
  json: switchOption('as JSON'),
  quiet: { ...switchOption('says nothing'), short: 'q' },
};

const parse = (...args: string[]) => parseOptions(args, FLAGS, 'kube-dns compare', { operands: 1 });
const valuesOf = (...args: string[]) => {
  const parsed = parse(...args);
  return parsed === 'help' ? parsed : parsed.values;
};
const NONE_GIVEN = {
  left: undefined,
  length: 4,
  only: [],
  file: '',
  json: false,
  quiet: false,
};

describe('arguments', () => {
  it('are read as Node reads them', () => {
    expect(valuesOf('--left', 'a', '--only=b', '--only', 'c', '--json', '-q')).toEqual({
      left: 'a',
      length: 4,
      only: ['b', 'c'],
      file: '',
      json: true,
      quiet: true,
    });
    expect(valuesOf('--left=-1', '--only', '-')).toEqual({
      ...NONE_GIVEN,
      left: '-1',
      only: ['-'],
    });
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
    [['a', 'a b'], '"a b" is one argument too many'],
    [['--file='], '--file needs a path'],
    [['--length=bad'], '--length=bad: is bad'],
    [['--length=worse'], 'this is worse'],
  ])('are refused in our words: %j', (args, message) => {
    expect(() => parse(...args)).toThrow(new UsageError(message));
  });

  it('are operands, too, and after -- nothing else', () => {
    expect(parse('--json', '--', '--left')).toMatchObject({ operands: ['--left'] });
  });

  it('say which options are given, and the last use counts', () => {
    const parsed = parse('--length=four', '--length=fo');
    if (parsed === 'help') throw new Error('it is no help');
    expect(parsed.values.length).toBe(2);
    expect([parsed.isGiven('length'), parsed.isGiven('left')]).toEqual([true, false]);
  });
});

const OPTIONS = {
  size: numberOption(10, 'how many', { min: 1, max: 100 }),
  part: numberOption(0.5, 'how much', { max: 1, isWhole: false }),
  json: textOption('', 'FILE', 'where to'),
  flags: wordsOption(['--a'], 'what with'),
  parts: namesOption(['all'], 'which'),
  kinds: partsOption(['some', 'more'], 'of what kind'),
  delays: numbersOption([], 'how late', { max: 500 }),
  strict: switchOption('whether'),
};

const parseMeasure = (args: readonly string[]) => parseOptions(args, OPTIONS, 'bench');

describe('the options of a command', () => {
  it('have their defaults', () => {
    expect(parseMeasure([])).toMatchObject({
      values: { size: 10, part: 0.5, json: '', flags: ['--a'], parts: ['all'], strict: false },
    });
  });

  it('are read from the arguments', () => {
    const args = [
      '--size=7',
      '--part=0.25',
      '--flags=--b  --c=1',
      '--parts=one,two',
      '--kinds=more,some',
      '--delays=0,300',
      '--strict',
      '--json',
      'x',
    ];
    expect(parseMeasure(args)).toMatchObject({
      values: {
        size: 7,
        part: 0.25,
        json: 'x',
        flags: ['--b', '--c=1'],
        parts: ['one', 'two'],
        kinds: ['more', 'some'],
        delays: [0, 300],
        strict: true,
      },
    });
  });

  it.each(['--help', '-h'])('are undefined when %s is among them', (flag) => {
    expect(parseMeasure(['--size=7', flag])).toBe('help');
    expect(parseMeasure(['a', 'one too many', flag])).toBe('help');
  });

  it.each([
    ['--size=0', '--size=0: is not a whole number from 1 to 100'],
    ['--size=1.5', '--size=1.5: is not a whole number from 1 to 100'],
    ['--size=', '--size=: is not a whole number from 1 to 100'],
    ['--part=2', '--part=2: is not a number from 0 to 1'],
    ['--kinds=more,one', '--kinds=more,one: "one" is none of some, more'],
    ['--kinds=', '--kinds=: "" is none of some, more'],
    ['--delays=0 300', '--delays=0 300: "0 300" is not a whole number from 0 to 500'],
    ['--delays=0,', '--delays=0,: "" is not a whole number from 0 to 500'],
  ])('refuse %s', (arg, message) => {
    expect(() => parseMeasure([arg])).toThrow(UsageError);
    expect(() => parseMeasure([arg])).toThrow(message);
  });
});
