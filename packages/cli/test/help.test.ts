import { describe, expect, it } from '@jest/globals';
import { COMMANDS } from '../src/program.js';
import { runHere } from './support/run-command.js';

describe('kube-dns', () => {
  it.each([
    [['--help'], /^Usage: kube-dns COMMAND/],
    [['up', '--help'], /^Usage: kube-dns up \[flags\]/],
  ])('answers %j', async (args, output) => {
    const { status, stdout } = await runHere(args);
    expect(status).toBe(0);
    expect(stdout).toMatch(output);
  });

  it.each([
    [[], /^kube-dns: a command is missing: up, .*; see kube-dns --help\n$/],
    [['down'], /^kube-dns: unknown command down; see kube-dns --help\n$/],
    [['version'], /^kube-dns: unknown command version; did you mean --version\?\n$/],
    [['comapre'], /^kube-dns: unknown command comapre; did you mean compare\?\n$/],
    [['--what'], /^kube-dns: unknown flag --what; see kube-dns --help\n$/],
  ])('refuses %j with one line and status 2', async (args, message) => {
    const { status, stdout, stderr } = await runHere(args);
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(message);
  });
});

describe('kube-dns help and completion', () => {
  it.each([
    [['help'], /^Usage: kube-dns COMMAND/],
    [['help', 'compare'], /^Usage: kube-dns compare /],
    [['help', 'completion'], /^Usage: kube-dns completion bash\|zsh\|fish\n/],
    [['completion', '--help'], /^Usage: kube-dns completion bash\|zsh\|fish\n/],
  ])('answers %j', async (args, output) => {
    const { status, stdout } = await runHere(args);
    expect(status).toBe(0);
    expect(stdout).toMatch(output);
  });

  it.each([
    [['help', 'nonsense'], 'unknown command nonsense; see kube-dns --help'],
    [['help', 'comapre'], 'unknown command comapre; did you mean compare?'],
    [['help', 'up', 'down'], '"down" is one argument too many'],
    [['completion'], 'a shell is missing: bash, zsh, fish'],
    [['completion', 'bsh'], 'unknown shell bsh; did you mean bash?'],
  ])('refuses %j with one line and status 2', async (args, message) => {
    expect(await runHere(args)).toEqual({
      status: 2,
      stdout: '',
      stderr: `kube-dns: ${message}\n`,
    });
  });

  it.each(['bash', 'zsh', 'fish'])(
    'have every command and every long flag for %s',
    async (shell) => {
      const { status, stdout, stderr } = await runHere(['completion', shell]);
      expect([status, stderr]).toEqual([0, '']);
      for (const [name, { flags }] of COMMANDS) {
        for (const word of [name, ...Object.keys(flags)]) expect(stdout).toContain(word);
      }
    },
  );
});
