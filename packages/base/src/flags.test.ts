import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { boolFlag, durationFlag, intFlag, listFlag, parseFlags, stringFlag } from './flags.js';

const program = {
  name: 'sample',
  version: '1.2.3',
  summary: 'A program for tests.',
  flags: {
    'config-dir': stringFlag('', 'directory'),
    configFile: stringFlag('none', 'file'),
    'dns-port': intFlag(53, 'port', { min: 0, max: 65_535 }),
    low: intFlag(0, 'count', { min: 1 }),
    'is-fast': boolFlag(true, 'switch'),
    'sync-period': durationFlag(10_000, 'period'),
    probe: listFlag((text) => {
      if (text === 'bad') throw new Error('no probe');
      return text.toUpperCase();
    }, 'probe'),
  },
};

const parse = (...argv: string[]) => parseFlags(program, argv);

describe('parseFlags', () => {
  it('gives each flag its initial value when the command line is empty', () => {
    const { values, isSet, request, verbosity, positional } = parse();
    expect(values).toEqual({
      'config-dir': '',
      configFile: 'none',
      'dns-port': 53,
      low: 0,
      'is-fast': true,
      'sync-period': 10_000,
      probe: [],
    });
    expect(isSet('dns-port')).toBe(false);
    expect({ request, verbosity, positional }).toEqual({
      request: 'run',
      verbosity: 0,
      positional: [],
    });
  });

  it('reads what was rendered in any of the accepted spellings, the last one winning', () => {
    const values = fc.oneof(
      fc.record({ name: fc.constant('config-dir'), value: fc.string() }),
      fc.record({ name: fc.constant('dns-port'), value: fc.nat(65_535) }),
      fc.record({ name: fc.constant('is-fast'), value: fc.boolean() }),
      fc.record({ name: fc.constant('sync-period'), value: fc.nat(100_000) }),
      fc.record({ name: fc.constant('probe'), value: fc.stringMatching(/^[A-Z]{1,8}$/) }),
    );
    const spellings = fc.record({
      dashes: fc.constantFrom('-', '--'),
      isJoined: fc.boolean(),
      hasUnderscores: fc.boolean(),
    });
    const uses = fc.array(fc.tuple(values, spellings), { maxLength: 12 });
    const rest = fc.array(fc.stringMatching(/^[a-z]{1,5}$/), { maxLength: 3 });

    fc.assert(
      fc.property(uses, rest, rest, (flags, before, after) => {
        const argv: string[] = [...before];
        const expected: Record<string, unknown> & { probe?: unknown } = { ...parse().values };
        for (const [{ name, value }, { dashes, isJoined, hasUnderscores }] of flags) {
          const spelt = dashes + (hasUnderscores ? name.replaceAll('-', '_') : name);
          const text = name === 'sync-period' ? `${value}ms` : String(value);
          if (isJoined || name === 'is-fast') argv.push(`${spelt}=${text}`);
          else argv.push(spelt, text);
          expected[name] = name === 'probe' ? [...(expected.probe as string[]), value] : value;
        }
        const parsed = parse(...argv, '--', '--not-a-flag', ...after);
        expect(parsed.values).toEqual(expected);
        expect(parsed.positional).toEqual([...before, '--not-a-flag', ...after]);
        for (const [{ name }] of flags) expect(parsed.isSet(name as 'probe')).toBe(true);
      }),
    );
  });

  it('reads a boolean without a value as true and does not consume the next argument', () => {
    const { values, positional } = parse('--is-fast=false', '--is-fast', 'false');
    expect(values['is-fast']).toBe(true);
    expect(positional).toEqual(['false']);
  });

  it.each([
    ['0x35', 0x35],
    ['0b11', 3],
    ['0o17', 15],
    ['010', 8],
    ['+7', 7],
    ['-0', 0],
  ])('reads the Go integer %s', (text, value) => {
    expect(parse(`--dns-port=${text}`).values['dns-port']).toBe(value);
  });

  it.each([
    [['-v', '2'], 2],
    [['-v=3'], 3],
    [['--v=4'], 4],
    [['-v5'], 5],
    [['-v=1', '--v', '6'], 6],
  ])('reads the verbosity of %j', (argv, verbosity) => {
    expect(parse(...argv).verbosity).toBe(verbosity);
  });

  it('accepts and ignores the logging flags of the Go programs', () => {
    const { values, positional } = parse(
      '--logtostderr',
      '-alsologtostderr=whatever',
      '--stderrthreshold=2',
      '--log-dir',
      '/tmp',
      '-log_file=x',
      '--log_file_max_size=1800',
      '--vmodule=a=1',
      '--log-flush-frequency=5s',
      '--skip_headers',
      '--skip-log-headers=false',
      '-one_output',
      '--add_dir_header',
      '--log_backtrace_at=:0',
      '--dns-port=1',
    );
    expect(values['dns-port']).toBe(1);
    expect(positional).toEqual([]);
  });

  it.each([
    ['unknown flag --no-such; see sample --help', ['--no-such=1']],
    ['unknown flag -x; see sample --help', ['-x']],
    ['unknown flag --dns-prot; did you mean --dns-port?', ['--dns-prot=53']],
    ['unknown flag -logtostder; did you mean --logtostderr?', ['-logtostder']],
    ['unknown flag --hlep; did you mean --help?', ['--hlep']],
    ['--dns-port needs a value', ['--dns-port']],
    ['--=x is not a flag', ['--=x']],
    ['---x is not a flag', ['---x']],
    ['--dns-port=abc: must be a whole number from 0 to 65535', ['--dns-port=abc']],
    ['--dns_port=65536: must be a whole number from 0 to 65535', ['--dns_port=65536']],
    ['--low=99999999999999999999: must be a whole number from 1', ['--low=99999999999999999999']],
    ['--low=0: must be a whole number from 1', ['--low', '0']],
    ['--is-fast=yes: must be true or false', ['--is-fast=yes']],
    [
      '--sync-period=5: must be a duration with its units, such as 500ms, 30s or 1m30s',
      ['--sync-period=5'],
    ],
    ['--probe=bad: no probe', ['--probe=good', '--probe=bad']],
    ['--version=x: must be true, false or raw', ['--version=x']],
  ])('refuses with %j', (message, argv) => {
    expect(() => parse(...argv)).toThrow(
      expect.objectContaining({ name: 'UsageError', code: 'usage', message }),
    );
  });

  it.each([
    ['help', ['-h']],
    ['help', ['--help', '--no-such-flag']],
    ['version', ['--version']],
    ['version', ['--version=true', 'x']],
    ['raw-version', ['--version=raw']],
    ['run', ['--version=false']],
  ])('requests %j with %j', (request, argv) => {
    expect(parse(...argv).request).toBe(request);
  });

  it('does not accept names of Object.prototype as flags', () => {
    expect(() => parse('--constructor=1')).toThrow('unknown flag --constructor');
  });
});
