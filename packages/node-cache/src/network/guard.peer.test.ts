import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { createLog } from '@kube-dns/daemon';
import {
  needsPrograms,
  ownedBy,
  RunningProgram,
  runProgram,
  TemporaryFolder,
  unless,
  until,
} from '@kube-dns/testkit';
import { Guard } from './guard.js';

const SCRIPT = fileURLToPath(new URL('../../bin/guard.sh', import.meta.url));

unless(needsPrograms('bash'), describe)('the guard', () => {
  const folder = new TemporaryFolder();
  const own = ownedBy(afterEach);
  afterAll(() => folder.close());

  const output = folder.file('output', '');
  const written = () => readFileSync(output, 'utf8');
  /** A program in front of the machine's that notes how it is called, and its input. */
  const tool = (name: string, end = '') => {
    const note = `{ echo "${name} $*"; cat; } >>"${output}"; ${end}`;
    chmodSync(folder.file(name, `#!/bin/sh\n${note}\n`), 0o755);
  };
  const run = async (input: string, ...words: readonly string[]) => {
    folder.file('output', '');
    const env = { PATH: `${folder.path}:${process.env.PATH ?? ''}` };
    const { end, stderr } = await runProgram('bash', [SCRIPT, ...words], { input, env });
    return { end, stderr };
  };
  tool('nft');
  tool('iptables-restore');
  tool('ip6tables-restore');
  folder.file('ip', '');

  it('runs what it was given, by the tool of each line, at the end of the pipe', async () => {
    const lines = [
      'nft delete table a',
      'iptables *raw',
      'iptables -D X -j "Y Z"',
      '.',
      'iptables COMMIT',
    ];
    const { end, stderr } = await run(`${lines.join('\n')}\n`, '--child');
    expect(end).toBe(0);
    expect(stderr).toBe('node-cache guard: took the rules out: node-cache has ended\n');
    const parts = [
      'nft -f -\ndelete table a\n',
      'iptables-restore --noflush -w 5\n*raw\n-D X -j "Y Z"\nCOMMIT\n',
    ];
    for (const part of parts) expect(written()).toContain(part);
    expect(written()).toHaveLength(parts.join('').length);
  });

  it('does nothing where there is nothing to take out any more, and with lines of no tool', async () => {
    const quiet = { end: 0, stderr: '' };
    expect(await run('nft delete table a\nclear\n', '--child')).toEqual(quiet);
    expect(await run('rm -rf x\nsh -c "nft x"\n', '--child')).toEqual(quiet);
    expect(written()).toBe('');
  });

  it('takes rules out one after the other where one of them is gone', async () => {
    tool('iptables-restore', `case $* in *) exit 1 ;; esac`);
    await run('iptables *raw\niptables -D A\niptables -D B\niptables COMMIT\n', '--child');
    const call = 'iptables-restore --noflush -w 5\n*raw\n';
    expect(written()).toBe(`${call}-D A\n-D B\nCOMMIT\n${call}-D A\nCOMMIT\n${call}-D B\nCOMMIT\n`);
    tool('iptables-restore');
  });

  it('says how it is used', async () => {
    const { end, stderr } = await run('');
    expect(end).toBe(2);
    expect(stderr).toBe('node-cache guard: needs a program, --child or --watch PIPE\n');
  });

  it('gets each rule and each beat from node-cache, whose child it is', async () => {
    const log = createLog({ name: 'test', verbosity: 0, write: () => undefined });
    const lines = folder.file('lines', '');
    folder.file('guard.sh', `exec cat >"${lines}"\n`);
    const guard = own(new Guard({ pipe: '', program: join(folder.path, 'node-cache.cjs'), log }));
    guard.beat();
    guard.arm(['nft a', 'nft b']);
    guard.beat();
    guard.disarm();
    guard.beat();
    await until(
      'all lines',
      () => readFileSync(lines, 'utf8') === 'clear\nnft a\nnft b\n.\nclear\n',
    );
  });

  it('in another container may start later than node-cache, and again: it gets all each time', async () => {
    folder.file('guard.sh', 'exec cat >/dev/null\n');
    const log = createLog({ name: 'test', verbosity: 0, write: () => undefined });
    const pipe = join(folder.path, 'pipe');
    const guard = own(new Guard({ pipe, program: join(folder.path, 'node-cache.cjs'), log }));
    guard.arm(['nft a']);
    guard.beat();
    for (let i = 1; i <= 2; i++) {
      rmSync(pipe, { force: true });
      execFileSync('mkfifo', [pipe]);
      const reader = own(new RunningProgram('reader', 'cat', [pipe]));
      const beats = () => {
        guard.beat();
        return reader.stdout.startsWith('clear\nnft a\n.\n.\n');
      };
      await until('rules and beats', beats);
      await reader.close();
    }
  });

  it('is missed in the log where it cannot be started', () => {
    const written: string[] = [];
    const log = createLog({ name: 'test', verbosity: 0, write: (line) => written.push(line) });
    const guard = own(new Guard({ pipe: '', program: '/nowhere/else/node-cache.cjs', log }));
    guard.arm(['nft a']);
    guard.beat();
    expect(written.join('')).toContain(
      'no guard: guard.sh is not beside the program; rules stay after SIGKILL',
    );
    expect(written).toHaveLength(1);
  });
});
