import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isAlive, RunningProgram } from '../src/process/running-program.js';
import { TemporaryFolder } from '../src/owned.js';
import { until } from '../src/until.js';

const CHECKOUT = fileURLToPath(new URL('../../../', import.meta.url));

/** A checkout with the runner and these test files. */
const FILES = {
  'packages/one/src/a.test.ts': `
    import { expect, it } from '@jest/globals';
    it('adds', () => expect(1 + 1).toBe(2));
    it.skip('digs (skipped: needs dig: apt-get install dnsutils)', () => undefined);
    it.skip('digs again (skipped: needs dig: apt-get install dnsutils)', () => undefined);`,
  'packages/two/test/b.test.ts': `
    import { it } from '@jest/globals';
    it('is there', () => undefined);
    it.skip('is not', () => undefined);`,
  'packages/two/test/beside.peer.test.ts': `
    import { it } from '@jest/globals';
    it('runs beside', () => undefined);`,
  'packages/three/src/bad.image.test.ts': `
    import { expect, it } from '@jest/globals';
    it('fails', () => expect('this').toBe('that'));
    it('passes', () => undefined);`,
  'packages/three/test/hanging.image.test.ts': `
    import { spawn } from 'node:child_process';
    import { writeFileSync } from 'node:fs';
    import { it } from '@jest/globals';
    it('hangs', async () => {
      const { pid } = spawn('sleep', ['1000']);
      writeFileSync(new URL('../../../pid', import.meta.url), String(pid));
      await new Promise(() => undefined);
    });`,
  'packages/three/src/unstable.peer.test.ts': `
    import { existsSync, writeFileSync } from 'node:fs';
    import { expect, it } from '@jest/globals';
    it('passes the second time', () => {
      const mark = new URL('../../../mark', import.meta.url);
      const isSecond = existsSync(mark);
      writeFileSync(mark, '');
      expect(isSecond).toBe(true);
    });
    it('passes', () => undefined);`,
  // It stands for what installs and builds.
  'packages/cli/setup.mjs': `
    import { appendFileSync } from 'node:fs';
    const options = process.argv.slice(2).join(' ');
    appendFileSync(new URL('../../setup', import.meta.url), options + '\\n');`,
  'packages/testkit/dist/index.js': '',
  'packages/three/src/broken.image.test.ts': `import 'nothing-that-exists';`,
};

let root: TemporaryFolder;

beforeAll(() => {
  root = new TemporaryFolder();
  const write = (file: string, text: string) => {
    mkdirSync(join(root.path, file, '..'), { recursive: true });
    writeFileSync(join(root.path, file), text);
  };
  for (const [file, text] of Object.entries(FILES)) write(file, text);
  const programs = readdirSync(join(CHECKOUT, 'packages/testkit')).filter((name) =>
    name.endsWith('.mjs'),
  );
  for (const file of ['jest.config.js', ...programs.map((name) => `packages/testkit/${name}`)]) {
    copyFileSync(join(CHECKOUT, file), join(root.path, file));
  }
  write('package.json', '{ "type": "module" }');
  symlinkSync(join(CHECKOUT, 'node_modules'), join(root.path, 'node_modules'));
});
afterAll(() => root.close());

/** The options of what installs and builds, each time since the last look. */
function setUps(): string[] {
  const file = join(root.path, 'setup');
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  rmSync(file);
  return lines;
}

function run(...args: string[]): { status: number | null; lines: string[]; stderr: string } {
  return runWith(process.execPath, ...args);
}

function runWith(node: string, ...args: string[]): ReturnType<typeof run> {
  const script = join(root.path, 'packages/testkit/run-tests.mjs');
  const { status, stdout, stderr } = spawnSync(node, [script, ...args], {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  return { status, lines: stdout.trimEnd().split('\n'), stderr };
}

describe('npm test', () => {
  it('runs the quick lane of all packages; each skip has its reason, the last line is the total', () => {
    const { status, lines } = run('--slowest=2');
    expect(status).toBe(0);
    expect(lines).toEqual([
      'skipped: 2 tests of packages/one/src/a.test.ts: needs dig: apt-get install dnsutils',
      'skipped: 1 test of packages/two/test/b.test.ts: no reason is given',
      'the slowest files:',
      expect.stringMatching(/^ +\d+\.\d s {2}packages\/\w+\/\w+\/[ab]\.test\.ts$/),
      expect.stringMatching(/^ +\d+\.\d s {2}packages\/\w+\/\w+\/[ab]\.test\.ts$/),
      'the slowest tests:',
      expect.stringMatching(/^ +\d+\.\d s {2}packages\/\w+\/\w+\/[ab]\.test\.ts: .+$/),
      expect.stringMatching(/^ +\d+\.\d s {2}packages\/\w+\/\w+\/[ab]\.test\.ts: .+$/),
      expect.stringMatching(/^2 passed, 0 failed, 3 skipped, \d+ s$/),
    ]);
  });

  it('runs what has a pattern in its path, of another lane where the quick one has none', () => {
    const { status, lines } = run('two/test/beside');
    expect(status).toBe(0);
    expect(lines).toEqual([
      'tests: these are of the lane peers',
      expect.stringMatching(/^1 passed, 0 failed, \d+ s$/),
    ]);
  });

  it('builds only where a test of programs is among the files', () => {
    setUps();
    run('--title=nothing', 'two/test/b');
    expect(setUps()).toEqual(['--install-only', '']);
    const { status, lines } = run('--title=nothing', 'one/src/a');
    expect(setUps()).toEqual(['--install-only']);
    expect(lines).toContain('no test has this title');
    expect(status).toBe(1);
  });

  it('goes on in the Node of the project, once that is installed', () => {
    const other = join(root.path, 'another-node');
    copyFileSync(process.execPath, other);
    setUps();
    const { status, lines } = runWith(other, '--lane=images', 'three/src/bad');
    expect(setUps()).toEqual(['--install-only', '--install-only']);
    expect(status).toBe(1);
    expect(lines.at(-1)).toMatch(/^1 passed, 1 failed, \d+ s$/);
    rmSync(other);
  });

  it('ends with its workers and what they test', async () => {
    const script = join(root.path, 'packages/testkit/run-tests.mjs');
    const pidFile = join(root.path, 'pid');
    const child = new RunningProgram('npm test', process.execPath, [script, 'three/test/hanging']);
    const pid = await until(() => existsSync(pidFile) && Number(readFileSync(pidFile, 'utf8')));
    child.signal('SIGTERM');
    expect(await child.ended).toBe(143);
    await until('the end of the program under test', () => !isAlive(pid));
  });

  it('shows failures as they come, also of a file that cannot run, and fails', () => {
    const { status, lines } = run('--lane=images', 'three/src');
    expect(status).toBe(1);
    const failed = lines.filter((line) => line.startsWith('failed: '));
    expect(failed.sort()).toEqual([
      'failed: packages/three/src/bad.image.test.ts: fails',
      'failed: packages/three/src/broken.image.test.ts: it cannot run',
    ]);
    expect(lines.join('\n')).toMatch(/Expected: "that"\nReceived: "this"/);
    expect(lines.at(-1)).toMatch(/^1 passed, 2 failed, \d+ s$/);
  });

  it('refuses what it does not know, with its usage', () => {
    for (const [arg, error] of [
      ['--lane=slow', 'there is no lane "slow"'],
      ['--slow', '--slow is no option of the tests'],
      ['--workers=many', '--workers wants a number: --workers=N'],
      ['--workers', '--workers wants a number: --workers=N'],
      ['--title', '--title wants a text: --title=TEXT'],
      ['--title=(', '--title: Invalid regular expression: /(/: Unterminated group'],
      ['', 'an empty pattern would match every file'],
      ['nowhere', 'no test file has nowhere in its path'],
    ] as const) {
      const { status, stderr } = run(arg);
      expect(status).toBe(2);
      expect(stderr).toContain(`tests: ${error}\n\nusage: npm test`);
    }
  });
});

describe('many test files', () => {
  const COUNT = 24;
  const folder = () => join(root.path, 'packages/many/src');
  const BAD = 'packages/many/src/bad.test.ts';

  beforeAll(() => {
    mkdirSync(folder(), { recursive: true });
    for (let number = 0; number < COUNT; number++) {
      const text = `
        // Some files begin with a comment; some have an import of several lines.
        import { beforeEach, expect,
          it } from '@jest/globals';
        // Or with one behind it.
        let calls = 0;
        beforeEach(() => void calls++);
        it('has its own hooks', () => expect(calls).toBe(1));`;
      writeFileSync(join(folder(), `a${number}.test.ts`), text);
    }
    const bad = [
      `import { expect, it } from '@jest/globals';`,
      ``,
      `it('fails', () => expect(import.meta.filename).toBe('elsewhere'));`,
    ];
    writeFileSync(join(root.path, BAD), bad.join('\n'));
  });
  afterAll(() => rmSync(folder(), { recursive: true }));

  it('are joined: each test has the file, the line and the hooks that it has alone', () => {
    const { status, lines } = run('--again', '--name=many', 'many/src');
    expect(status).toBe(1);
    const text = lines.join('\n');
    expect(text).toContain(`failed: ${BAD}: fails\n`);
    expect(text).toContain(`Received: "${join(root.path, BAD)}"`);
    expect(text).toMatch(/ at .*\/bad\.test\.ts:3:\d+\)?$/m);
    expect(text).toMatch(RegExp(`^${COUNT} passed, 1 failed, \\d+ s$`, 'm'));
    expect(lines).toContain(`once more, alone: ${BAD}`);
    const file = join(root.path, 'test-results-many.json');
    const { tests, files } = JSON.parse(readFileSync(file, 'utf8')) as {
      readonly tests: readonly { readonly file: string; readonly title: string }[];
      readonly files: readonly { readonly file: string }[];
    };
    expect(tests).toContainEqual(
      expect.objectContaining({ file: 'packages/many/src/a7.test.ts', title: 'has its own hooks' }),
    );
    expect(new Set(files.map((each) => each.file)).size).toBe(COUNT + 1);
  });
});

describe('the end of .ci/run', () => {
  const write = (name: string, passed: number, failed: number, skipped: number) =>
    writeFileSync(
      join(root.path, `test-results-${name}.json`),
      JSON.stringify({ passed, failed, skipped, tests: [] }),
    );
  const remove = () => {
    for (const name of readdirSync(root.path)) {
      if (name.startsWith('test-results')) rmSync(join(root.path, name));
    }
  };

  it('adds up what all runs have left, and fails after a failed step', () => {
    remove();
    write('quick', 5, 0, 1);
    write('dgram', 2, 0, 0);
    expect(run('--count=0')).toMatchObject({ status: 0, lines: ['7 passed, 0 failed, 1 skipped'] });
    expect(run('--count=2').lines).toEqual(['2 steps failed', '7 passed, 0 failed, 1 skipped']);
    expect(run('--count=2').status).toBe(1);
  });

  it('fails with a failed test, and without any result', () => {
    write('quick', 5, 1, 0);
    expect(run('--count=0').status).toBe(1);
    remove();
    expect(run('--count=0').status).toBe(1);
  });

  it('runs what failed once more where it is asked to, and names what was unstable', () => {
    remove();
    const { status, lines } = run('--again', '--name=again', 'three/src/unstable');
    expect(status).toBe(0);
    expect(lines).toContain(
      'failed: packages/three/src/unstable.peer.test.ts: passes the second time',
    );
    expect(lines).toContain('once more, alone: packages/three/src/unstable.peer.test.ts');
    expect(lines.at(-1)).toBe('unstable: packages/three/src/unstable.peer.test.ts: passes the second time'); // prettier-ignore
    const { status: counted, lines: last } = run('--count=0');
    expect(counted).toBe(0);
    expect(last).toEqual([
      'unstable: packages/three/src/unstable.peer.test.ts: passes the second time',
      '2 passed, 0 failed',
    ]);
    rmSync(join(root.path, 'test-results-again.json'));
    const { status: bad, lines: both } = run('--again', '--name=again', 'three/src/bad');
    expect(bad).toBe(1);
    expect(both.filter((line) => line.startsWith('failed: '))).toHaveLength(2);
    expect(run('--count=0').lines).toEqual([
      'failed: packages/three/src/bad.image.test.ts: fails',
      '1 passed, 1 failed',
    ]);
    rmSync(join(root.path, 'test-results-again.json'));
  });

  it('has results that a run has left, with each title', () => {
    run('--name=mine', 'one/src/a');
    const file = join(root.path, 'test-results-mine.json');
    const { passed, tests } = JSON.parse(readFileSync(file, 'utf8')) as {
      readonly passed: number;
      readonly tests: readonly { readonly title: string; readonly status: string }[];
    };
    expect(passed).toBe(1);
    expect(tests).toMatchObject([{ title: 'adds', status: 'passed' }, {}, {}]);
  });
});
