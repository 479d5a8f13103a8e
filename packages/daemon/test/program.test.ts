import { fileURLToPath } from 'node:url';

import { afterEach, describe, expect, it } from '@jest/globals';
import { endPrograms, RunningProgram, until } from '@kube-dns/testkit';

const fixture = fileURLToPath(new URL('fixture.mjs', import.meta.url));

afterEach(() => endPrograms());

function run(args: readonly string[], env: Record<string, string> = {}): RunningProgram {
  const options = { env, inheritsEnv: true };
  return new RunningProgram('fixture', process.execPath, [fixture, ...args], options);
}

/** The messages of the log lines so far. */
function messagesOf({ stderr }: RunningProgram): string[] {
  return [...stderr.matchAll(/^[IWE]\d{4} .* fixture\] (.*)$/gm)].map((match) => match[1]!);
}

async function start(args: readonly string[] = [], env: Record<string, string> = {}) {
  const program = run(args, env);
  await program.waitForLine('started with');
  return program;
}

describe('printing and ending', () => {
  it('prints the usage on stdout for --help', async () => {
    const program = run(['--help']);
    expect(await program.ended).toBe(0);
    expect(program.stdout).toMatch(/^Usage: fixture \[flags\]\n\nA program for tests\.\n/);
    expect(program.stderr).toBe('');
  });

  it('prints no stack when nobody reads the usage', async () => {
    const program = run(['--help']);
    await program.hangUp('stdout');
    expect(await program.ended).toBe(0);
    expect(program.stderr).toBe('');
  });

  it.each([
    ['--version', 'Kube-DNS 1.2.3\n'],
    ['--version=raw', '"1.2.3"\n'],
  ])('prints the version for %s', async (flag, text) => {
    const program = run([flag]);
    expect(await program.ended).toBe(0);
    expect(program.stdout).toBe(text);
  });

  it.each([
    ['--drain_sm=5', 'unknown flag --drain_sm; did you mean --drain-ms?'],
    ['--no-such', 'unknown flag --no-such; see fixture --help'],
    ['--drain-ms=x', '--drain-ms=x: must be a whole number'],
  ])('prints one line on stderr and ends with 2 for %s', async (flag, message) => {
    const program = run([flag]);
    expect(await program.ended).toBe(2);
    expect(program.stderr).toBe(`fixture: ${message}\n`);
    expect(program.stdout).toBe('');
  });
});

describe('a start that fails', () => {
  it('prints one line and ends with the code of the error', async () => {
    const program = run(['--fail=startup']);
    expect(await program.ended).toBe(255);
    expect(program.stderr).toBe('fixture: cannot start: two\\nlines\n');
  });

  it('prints one line and ends with 2 for flags that exclude each other', async () => {
    const program = run(['--fail=usage']);
    expect(await program.ended).toBe(2);
    expect(program.stderr).toBe('fixture: these do not go together\n');
  });

  it.each([
    ['error', 'something unexpected'],
    ['uncaught', 'thrown aside'],
    ['rejection', 'rejected aside'],
  ])('prints one line and ends with 1 for an unexpected %s', async (kind, message) => {
    const program = run([`--fail=${kind}`]);
    expect(await program.ended).toBe(1);
    expect(program.stderr).toBe(`fixture: ${message}\n`);
  });

  it('prints one line for a start-up error however verbose it is', async () => {
    const program = run(['--fail=startup', '-v=4']);
    expect(await program.ended).toBe(255);
    expect(program.stderr).toBe('fixture: cannot start: two\\nlines\n');
  });

  it.each([
    ['startup', 255, 'cannot start: two\\nlines'],
    ['usage', 2, 'these do not go together'],
  ])('prints JSON with --logging-format=json for %s', async (kind, code, msg) => {
    const program = run([`--fail=${kind}`, '--logging-format=json']);
    expect(await program.ended).toBe(code);
    expect(JSON.parse(program.stderr)).toMatchObject({ level: 'error', logger: 'fixture', msg });
  });

  it('shows where it happened when asked to be verbose', async () => {
    const program = run(['--fail=error', '-v=1']);
    expect(await program.ended).toBe(1);
    expect(messagesOf(program)[0]).toMatch(/^Error: something unexpected\\n +at /);
  });
});

describe('a program that runs', () => {
  it.each([
    ['uncaught', 'later exception'],
    ['rejection', 'later rejection'],
  ])('continues after an unexpected %s, which it logs and counts', async (kind, message) => {
    const program = await start([`--later=${kind}`, '--listen']);
    await program.waitForLine(`unexpected error, continuing: Error: ${message}\\n`);
    program.signal('SIGUSR1');
    await program.waitForLine('dumping, 1 unexpected');
  });

  it('calls the reload handlers on SIGHUP and the dump handlers on SIGUSR1', async () => {
    const program = await start(['--listen']);
    program.signal('SIGHUP');
    await program.waitForLine('reloading');
    program.signal('SIGUSR1');
    await program.waitForLine('dumping, 0 unexpected');
  });

  it('calls the log handlers on SIGUSR2, which may write the log elsewhere', async () => {
    const program = await start(['--listen']);
    program.signal('SIGUSR2');
    await until(() => {
      program.signal('SIGHUP');
      return program.stdout.includes('reloading');
    });
    program.signal('SIGTERM');
    expect(await program.ended).toBe(0);
    expect(program.stdout).toContain('drained');
    expect(program.stderr).not.toContain('drained');
  });

  it('only logs a SIGHUP that has no handler', async () => {
    const program = await start();
    program.signal('SIGHUP');
    await program.waitForLine('SIGHUP, nothing to do');
    program.signal('SIGTERM');
    expect(await program.ended).toBe(0);
  });

  it('waits for the terminate handlers on SIGTERM, also when one fails, and ends with 0', async () => {
    const program = await start(['--drain-ms=50', 'extra']);
    program.signal('SIGTERM');
    expect(await program.ended).toBe(0);
    expect(messagesOf(program)).toEqual([
      'started with ["extra"]',
      'SIGTERM, closing',
      'draining after SIGTERM',
      'closing: one handler fails',
      'drained',
    ]);
  });

  it('ends at the limit when closing takes too long', async () => {
    const program = await start(['--drain-ms=60000'], { LIMIT_MS: '50' });
    program.signal('SIGTERM');
    expect(await program.ended).toBe(0);
    expect(messagesOf(program)).toContain('not closed after 50 ms, ending now');
  });

  it('ends immediately on a second signal', async () => {
    const program = await start(['--drain-ms=60000']);
    program.signal('SIGTERM');
    await program.waitForLine('draining');
    await until('the end', () => {
      program.signal('SIGINT');
      return !program.isRunning;
    });
    expect(await program.ended).toBe(0);
    expect(messagesOf(program)).toContain('SIGINT again, ending immediately');
    expect(messagesOf(program)).not.toContain('drained');
  });

  it('takes a signal that comes with the first for the same one, as of Ctrl-C under npm', async () => {
    const program = await start(['--drain-ms=20']);
    program.signal('SIGINT');
    program.signal('SIGTERM');
    expect(await program.ended).toBe(0);
    expect(messagesOf(program)).toContain('drained');
    expect(program.stderr).not.toContain('again');
  });

  it('writes nothing but JSON with --logging-format=json, from its start to its end', async () => {
    const program = await start(['--logging-format=json', '--later=uncaught']);
    await program.waitForLine('unexpected error, continuing');
    program.signal('SIGTERM');
    expect(await program.ended).toBe(0);
    const lines = program.stderr.trimEnd().split('\n');
    const messages = lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
    expect(messages[0]).toBe('started with []');
    expect(messages.slice(-3)).toEqual([
      'draining after SIGTERM',
      'closing: one handler fails',
      'drained',
    ]);
  });

  it('waits no longer than a second on SIGINT', async () => {
    const program = await start(['--drain-ms=60000']);
    program.signal('SIGINT');
    expect(await program.ended).toBe(0);
    expect(messagesOf(program)).toContain('draining after SIGINT');
    expect(messagesOf(program)).toContain('not closed after 1000 ms, ending now');
  });

  it('continues when its log can no longer be read', async () => {
    const program = await start(['--listen']);
    await program.hangUp('stderr');
    for (let count = 0; count < 3; count++) program.signal('SIGHUP');
    program.signal('SIGTERM');
    expect(await program.ended).toBe(0);
  });
});
