import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { ROOT } from './support/root.js';

const SECURITY = readFileSync(`${ROOT}SECURITY.md`, 'utf8');
const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  bytes: 1,
  characters: 1,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  ms: 1,
  s: 1_000,
};

interface Limit {
  readonly program: string;
  readonly what: string;
  readonly bound: number;
  readonly flag: string;
  readonly source: string;
}

/** `1,000`, `256 KiB` or `10 s` as the number that the source has: bytes or milliseconds. */
function numberOf(text: string): number {
  const [, digits = '', unit = ''] = /^([\d,]+) ?(\w*)$/.exec(text) ?? [];
  return Number(digits.replaceAll(',', '')) * (UNITS[unit] ?? Number.NaN);
}

function rowsBelow(heading: string): string[][] {
  const section = SECURITY.slice(SECURITY.indexOf(`## ${heading}`)).split('\n## ')[0]!;
  return section
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| -'))
    .slice(1)
    .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')));
}

const LIMITS = rowsBelow('What the outside can make large').map(
  ([, program = '', what = '', bound = '', flag = '', , source = '']): Limit => ({
    program,
    what,
    bound: numberOf(bound),
    flag,
    source,
  }),
);

/** The value of a constant, `file NAME` or `file NAME.field`, of numbers, products and powers. */
function constantOf(source: string): number {
  const [path = '', constant = ''] = source.split(' ');
  const [name, field] = constant.split('.');
  const [folder = '', ...rest] = path.split('/');
  const text = readFileSync(`${ROOT}packages/${folder}/src/${rest.join('/')}`, 'utf8');
  const initial = new RegExp(`const ${name}(?:: \\w+)? = ([^;]+);`).exec(text)?.[1] ?? '';
  const value = field === undefined ? initial : new RegExp(`${field}: ([^,}]+)`).exec(initial)?.[1];
  const factors = (value ?? '').replaceAll('_', '').trim().split(' * ');
  return factors.reduce((product, factor) => product * Number(factor), 1);
}

function helpOf(program: string): string {
  const args = [`${ROOT}packages/${program}/dist/${program}.cjs`, '--help'];
  // Go's flags, and so kubedns, print it on stderr.
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  return stdout + stderr;
}

describe('the bounds in SECURITY.md', () => {
  it('are some', () => {
    expect(LIMITS.length).toBeGreaterThan(20);
  });

  it.each(LIMITS.filter(({ source }) => source !== ''))('$program: $what', ({ bound, source }) => {
    expect(constantOf(source)).toBe(bound);
  });

  it.each(LIMITS.filter(({ flag }) => flag !== ''))(
    '$program: $what, set by $flag',
    ({ program, bound, flag, source }) => {
      const line = helpOf(program)
        .split('\n')
        .find((each) => ['=', '[=', ' '].some((next) => each.includes(`${flag}${next}`)));
      expect(line).toBeDefined();
      // One that is no default of the table of options is a constant of the program.
      if (source === '') expect(Number(/default (\d+)/.exec(line!)?.[1])).toBe(bound);
    },
  );
});

describe('the rights in SECURITY.md', () => {
  it.each(rowsBelow('What runs with which rights'))('%s%s has user %s', (_, name = '', user) => {
    const dockerfile = readFileSync(`${ROOT}images/${name}/Dockerfile`, 'utf8');
    expect(dockerfile).toContain(`USER ${user}:${user}`);
  });
});
