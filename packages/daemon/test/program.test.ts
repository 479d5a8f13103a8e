import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { afterEach, describe, expect, it } from '@jest/globals';

import { until } from './until.js';

const fixture = fileURLToPath(new URL('fixture.mjs', import.meta.url));

class Fixture {
  readonly child: ChildProcessWithoutNullStreams;
  stdout = '';
  stderr = '';
  readonly exit: Promise<number | string>;

  constructor(args: readonly string[], env: Record<string, string> = {}) {
    this.child = spawn(process.execPath, [fixture, ...args], { env: { ...process.env, ...env } });
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.exit = once(this.child, 'close').then(
      ([code, signal]: (number | string | null)[]) => code ?? signal ?? 'unknown',
    );
    running.add(this);
    void this.exit.then(() => running.delete(this));
  }

  /** The messages of the log lines so far. */
  get messages(): string[] {
    return [...this.stderr.matchAll(/^[IWE]\d{4} .* fixture\] (.*)$/gm)].map((match) => match[1]!);
  }

  async says(text: string): Promise<void> {
    await until(() => this.stderr.includes(text));
  }
}

const running = new Set<Fixture>();
afterEach(async () => {
  for (const fixture of running) fixture.child.kill('SIGKILL');
  await Promise.all([...running].map((fixture) => fixture.exit));
});

async function start(args: readonly string[] = [], env: Record<string, string> = {}) {
  const fixture = new Fixture(args, env);
  await fixture.says('started with');
  return fixture;
}

describe('printing and ending', () => {
  it('prints the usage on stdout for --help', async () => {
    const run = new Fixture(['--help']);
    expect(await run.exit).toBe(0);
    expect(run.stdout).toMatch(/^A program for tests\.\n\nUsage:\n {2}fixture \[flags\]\n/);
    expect(run.stderr).toBe('');
  });

  it('prints the usage on stderr for --help where the program says so', async () => {
    const run = new Fixture(['-h'], { HELP_ON_STDERR: '1' });
    expect(await run.exit).toBe(0);
    expect(run.stderr).toMatch(/^A program for tests\.\n\nUsage:\n {2}fixture \[flags\]\n/);
    expect(run.stdout).toBe('');
  });

  it.each([
    ['--version', 'Kube-DNS 1.2.3\n'],
    ['--version=raw', '"1.2.3"\n'],
  ])('prints the version for %s', async (flag, text) => {
    const run = new Fixture([flag]);
    expect(await run.exit).toBe(0);
    expect(run.stdout).toBe(text);
  });

  it('prints message and usage on stderr and ends with 2 for an unknown flag', async () => {
    const run = new Fixture(['--no-such']);
    expect(await run.exit).toBe(2);
    expect(run.stderr).toMatch(/^fixture: unknown flag: --no-such\n\nA program for tests\./);
    expect(run.stdout).toBe('');
  });
});

describe('a start that fails', () => {
  it('prints one line and ends with the code of the error', async () => {
    const run = new Fixture(['--fail=startup']);
    expect(await run.exit).toBe(255);
    expect(run.stderr).toBe('fixture: cannot start: two\\nlines\n');
  });

  it('prints message and usage and ends with 2 for flags that do not go together', async () => {
    const run = new Fixture(['--fail=usage']);
    expect(await run.exit).toBe(2);
    expect(run.stderr).toMatch(/^fixture: these do not go together\n\nA program for tests\./);
  });

  it.each([
    ['error', 'something unexpected'],
    ['uncaught', 'thrown aside'],
    ['rejection', 'rejected aside'],
  ])('prints one line and ends with 1 for an unexpected %s', async (kind, message) => {
    const run = new Fixture([`--fail=${kind}`]);
    expect(await run.exit).toBe(1);
    expect(run.stderr).toBe(`fixture: ${message}\n`);
  });

  it('prints one line for a start-up error however verbose it is', async () => {
    const run = new Fixture(['--fail=startup', '-v=4']);
    expect(await run.exit).toBe(255);
    expect(run.stderr).toBe('fixture: cannot start: two\\nlines\n');
  });

  it('shows where it happened when asked to be verbose', async () => {
    const run = new Fixture(['--fail=error', '-v=1']);
    expect(await run.exit).toBe(1);
    expect(run.messages[0]).toMatch(/^Error: something unexpected\\n +at /);
  });
});

describe('a program that runs', () => {
  it.each([
    ['uncaught', 'later exception'],
    ['rejection', 'later rejection'],
  ])('goes on after an unexpected %s, which it logs and counts', async (kind, message) => {
    const run = await start([`--later=${kind}`, '--listen']);
    await run.says(`unexpected error, going on: Error: ${message}\\n`);
    run.child.kill('SIGUSR1');
    await run.says('dumping, 1 unexpected');
  });

  it('calls the reload handlers on SIGHUP and the dump handlers on SIGUSR1', async () => {
    const run = await start(['--listen']);
    run.child.kill('SIGHUP');
    await run.says('reloading');
    run.child.kill('SIGUSR1');
    await run.says('dumping, 0 unexpected');
  });

  it('calls the handlers for the log on SIGUSR2, who may send it elsewhere', async () => {
    const run = await start(['--listen']);
    run.child.kill('SIGUSR2');
    await until(() => {
      run.child.kill('SIGHUP');
      return run.stdout.includes('reloading');
    });
    run.child.kill('SIGTERM');
    expect(await run.exit).toBe(0);
    expect(run.stdout).toContain('drained');
    expect(run.stderr).not.toContain('drained');
  });

  it('only says so when nobody listens to SIGHUP', async () => {
    const run = await start();
    run.child.kill('SIGHUP');
    await run.says('SIGHUP, nothing to do');
    run.child.kill('SIGTERM');
    expect(await run.exit).toBe(0);
  });

  it('waits for the terminate handlers on SIGTERM, also when one fails, and ends with 0', async () => {
    const run = await start(['--drain-ms=50', 'extra']);
    run.child.kill('SIGTERM');
    expect(await run.exit).toBe(0);
    expect(run.messages).toEqual([
      'started with ["extra"]',
      'SIGTERM, closing',
      'draining after SIGTERM',
      'closing: one handler fails',
      'drained',
    ]);
  });

  it('ends at the limit when closing takes too long', async () => {
    const run = await start(['--drain-ms=60000'], { LIMIT_MS: '50' });
    run.child.kill('SIGTERM');
    expect(await run.exit).toBe(0);
    expect(run.messages).toContain('not closed after 50 ms, ending now');
  });

  it('ends at once on a second signal', async () => {
    const run = await start(['--drain-ms=60000']);
    run.child.kill('SIGTERM');
    await run.says('draining');
    run.child.kill('SIGINT');
    expect(await run.exit).toBe(0);
    expect(run.messages).not.toContain('drained');
  });

  it('waits no longer than a second on SIGINT', async () => {
    const run = await start(['--drain-ms=60000']);
    run.child.kill('SIGINT');
    expect(await run.exit).toBe(0);
    expect(run.messages).toContain('draining after SIGINT');
    expect(run.messages).toContain('not closed after 1000 ms, ending now');
  });

  it('goes on when nobody can read its log any more', async () => {
    const run = await start(['--listen']);
    const closed = once(run.child.stderr, 'close');
    run.child.stderr.destroy();
    await closed;
    for (let count = 0; count < 3; count++) run.child.kill('SIGHUP');
    run.child.kill('SIGTERM');
    expect(await run.exit).toBe(0);
  });
});
