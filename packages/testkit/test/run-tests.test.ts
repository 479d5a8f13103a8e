import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { spawnSync } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TemporaryFolder } from '../src/temporary-folder.js';

const SCRIPT = fileURLToPath(new URL('../run-tests.mjs', import.meta.url));

let root: TemporaryFolder;

beforeEach(() => {
  root = new TemporaryFolder();
  for (const name of ['one', 'two']) {
    mkdirSync(join(root.path, 'packages', name), { recursive: true });
    writeFileSync(
      join(root.path, 'packages', name, 'package.json'),
      '{ "scripts": { "test": "" } }',
    );
  }
});
afterEach(() => root.close());

const test = (status: string, fullName: string, failureMessages: string[] = []) => {
  return { status, fullName, failureMessages };
};

/** What jest writes of a package whose only file has these tests. */
function results(name: string, assertionResults: unknown[], message = ''): string {
  const file = join(root.path, 'packages', name, 'test', 'a.test.ts');
  return JSON.stringify({ testResults: [{ name: file, message, assertionResults }] });
}

function write(name: string, text: string, file = 'test-results.json'): void {
  writeFileSync(join(root.path, 'packages', name, file), text);
}

/** A turbo that prints a line, writes these results, and ends with this status. */
function turbo(status: number, written: Readonly<Record<string, string>>): void {
  const bin = join(root.path, 'node_modules', '.bin');
  mkdirSync(bin, { recursive: true });
  const lines = Object.entries(written).map(
    ([name, text]) => `cat > packages/${name}/test-results.json <<'END'\n${text}\nEND\n`,
  );
  const program = join(bin, 'turbo');
  writeFileSync(program, `#!/bin/sh\necho "turbo $1 $2"\n${lines.join('')}exit ${status}\n`);
  chmodSync(program, 0o755);
}

function run(...args: string[]): { status: number | null; lines: string[] } {
  const { status, stdout } = spawnSync(process.execPath, [SCRIPT, ...args], {
    cwd: root.path,
    encoding: 'utf8',
  });
  return { status, lines: stdout.trimEnd().split('\n') };
}

describe('npm test', () => {
  it('shows the progress, each skip with its reason, and one total as the last line', () => {
    turbo(0, {
      one: results('one', [
        test('passed', 'a'),
        test('pending', 'b (skipped: needs dig: apt-get install dnsutils) c'),
        test('pending', 'b (skipped: needs dig: apt-get install dnsutils) d'),
      ]),
      two: results('two', [test('passed', 'e'), test('pending', 'f')]),
    });
    const { status, lines } = run();
    expect(status).toBe(0);
    expect(lines).toEqual([
      'turbo run test',
      '',
      'skipped: 2 tests of packages/one/test/a.test.ts: needs dig: apt-get install dnsutils',
      'skipped: 1 test of packages/two/test/a.test.ts: no reason is given',
      expect.stringMatching(/^2 passed, 0 failed, 3 skipped, \d+ s$/),
    ]);
  });

  it('shows failures before skips, also of a file and of a package that did not run', () => {
    write('two', results('two', [test('passed', 'of an earlier run')]));
    turbo(1, {
      one: results('one', [
        test('pending', 'a (skipped: needs root)'),
        test('failed', 'b', ['why']),
      ]),
    });
    const { status, lines } = run();
    expect(status).toBe(1);
    expect(lines.slice(2)).toEqual([
      'failed: packages/one/test/a.test.ts: b',
      'why',
      'failed: packages/two: its tests did not run to their end',
      'skipped: 1 test of packages/one/test/a.test.ts: needs root',
      expect.stringMatching(/^0 passed, 2 failed, 1 skipped, \d+ s$/),
    ]);
    turbo(1, { one: results('one', [], 'SyntaxError'), two: results('two', []) });
    expect(run().lines).toContain('failed: packages/one/test/a.test.ts: it cannot run');
  });

  it('fails with turbo when no test did', () => {
    turbo(3, { one: results('one', [test('passed', 'a')]), two: results('two', []) });
    const { status, lines } = run();
    expect(status).toBe(1);
    expect(lines.at(-1)).toMatch(/^1 passed, 1 failed, \d+ s$/);
  });
});

describe('the end of .ci/run', () => {
  it('counts all runs of all packages, and ends with the total', () => {
    write('one', results('one', [test('passed', 'a')]));
    write('one', results('one', [test('passed', 'a')]), 'test-results-dgram.json');
    write('two', results('two', [test('passed', 'b')]));
    expect(run('--count=0')).toEqual({ status: 0, lines: ['3 passed, 0 failed'] });
    expect(run('--count=2')).toEqual({
      status: 1,
      lines: ['2 steps failed', '3 passed, 0 failed'],
    });
  });

  it('fails without any result', () => {
    expect(run('--count=0')).toMatchObject({ status: 1 });
  });
});
