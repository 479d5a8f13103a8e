import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { endPrograms, RunningProgram, until } from '@kube-dns/testkit';

const fixture = fileURLToPath(new URL('fixture.mjs', import.meta.url));

afterAll(() => endPrograms());

function run(...args: readonly string[]): RunningProgram {
  const options = { inheritsEnv: true };
  return new RunningProgram('fixture', process.execPath, [fixture, ...args], options);
}

async function start(...args: readonly string[]): Promise<RunningProgram> {
  const program = run(...args);
  await program.waitForLine('started with');
  return program;
}

describe('printing and ending', () => {
  it('prints the usage on stdout for --help', async () => {
    const program = run('--help');
    expect(await program.ended).toBe(0);
    expect(program.stdout).toMatch(/^Usage: fixture \[flags\]\n\nA program for tests\.\n/);
    expect(program.stderr).toBe('');
  });

  it('prints no stack when nobody reads the usage', async () => {
    const program = run('--help');
    await program.hangUp('stdout');
    expect(await program.ended).toBe(0);
    expect(program.stderr).toBe('');
  });

  it('prints the version for --version', async () => {
    const program = run('--version');
    expect(await program.ended).toBe(0);
    expect(program.stdout).toBe('Kube-DNS 1.2.3\n');
  });

  it('prints one line on stderr and ends with 2 for a flag that is wrong', async () => {
    const program = run('--no-such');
    expect(await program.ended).toBe(2);
    expect(program.stderr).toBe('fixture: unknown flag --no-such; see fixture --help\n');
    expect(program.stdout).toBe('');
  });
});

describe('a start that fails', () => {
  it.each([
    ['uncaught', 'thrown aside'],
    ['rejection', 'rejected aside'],
  ])('prints one line and ends with 1 for an unexpected %s', async (kind, message) => {
    const program = run(`--fail=${kind}`);
    expect(await program.ended).toBe(1);
    expect(program.stderr).toBe(`fixture: ${message}\n`);
  });

  it('prints one line and ends with the code of a start-up error, however verbose it is', async () => {
    const program = run('--fail=startup', '-v=4');
    expect(await program.ended).toBe(255);
    expect(program.stderr).toBe('fixture: cannot start: two\\nlines\n');
  });

  it('prints JSON with --logging-format=json, and ends with 2 for flags that exclude each other', async () => {
    const program = run('--fail=usage', '--logging-format=json');
    expect(await program.ended).toBe(2);
    const msg = 'these do not go together';
    expect(JSON.parse(program.stderr)).toMatchObject({ level: 'error', logger: 'fixture', msg });
  });

  it('shows where an unexpected error happened when asked to be verbose', async () => {
    const program = run('--fail=error', '-v=1');
    expect(await program.ended).toBe(1);
    expect(program.stderr).toMatch(/\] Error: something unexpected\\n +at /);
    expect(program.stderr).toMatch(/\nfixture: something unexpected\n$/);
  });
});

describe('a program that runs', () => {
  let program: RunningProgram;
  beforeAll(async () => {
    program = await start('--later=uncaught', '--listen', 'extra');
  });

  it('has the arguments that are no flags', () => {
    expect(program.stderr).toContain('started with ["extra"]');
  });

  it('continues after an unexpected error, which it logs and counts, and dumps on SIGUSR1', async () => {
    await program.waitForLine('unexpected error, continuing: Error: later exception\\n');
    program.signal('SIGUSR1');
    await program.waitForLine('dumping, 1 unexpected');
  });

  it('calls the reload handlers on SIGHUP', async () => {
    program.signal('SIGHUP');
    await program.waitForLine('reloading');
    expect(program.stdout).toBe('');
  });

  it('calls the log handlers on SIGUSR2, which may write the log elsewhere', async () => {
    program.signal('SIGUSR2');
    await until(() => {
      program.signal('SIGHUP');
      return program.stdout.includes('reloading');
    });
  });

  it('calls the terminate handlers on SIGTERM, and ends with 0', async () => {
    program.signal('SIGTERM');
    expect(await program.ended).toBe(0);
    expect(program.stdout).toContain('drained after SIGTERM');
    expect(program.stderr).not.toContain('drained');
  });

  it('writes nothing but JSON with --logging-format=json, from its start to its end', async () => {
    const json = await start('--logging-format=json', '--later=rejection');
    await json.waitForLine('unexpected error, continuing');
    json.signal('SIGINT');
    expect(await json.ended).toBe(0);
    const lines = json.stderr.trimEnd().split('\n');
    const messages = lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
    expect(messages).toEqual([
      'started with []',
      expect.stringMatching(/^unexpected error, continuing: Error: later rejection\\n/),
      'SIGINT, closing',
      'drained after SIGINT',
    ]);
  });

  it('continues when its log can no longer be read', async () => {
    const unread = await start('--listen');
    await unread.hangUp('stderr');
    for (let count = 0; count < 3; count++) unread.signal('SIGHUP');
    unread.signal('SIGTERM');
    expect(await unread.ended).toBe(0);
  });
});
