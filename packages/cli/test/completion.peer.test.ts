import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { needsPrograms, unless } from '@kube-dns/testkit';
import { COMMANDS, PROGRAM_FLAGS } from '../src/program.js';
import { runHere } from './support/run-command.js';

let folder: string;
const scripts = new Map<string, string>();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kube-dns-test-'));
  mkdirSync(join(folder, 'corefiles'));
  for (const name of ['core file', 'pod.yaml']) writeFileSync(join(folder, name), '');
  for (const shell of ['bash', 'zsh', 'fish']) {
    const file = join(folder, `completion.${shell}`);
    writeFileSync(file, (await runHere(['completion', shell])).stdout);
    scripts.set(shell, file);
  }
});

afterAll(() => rmSync(folder, { recursive: true }));

/** The lines that a shell prints for a script. */
function shell(name: string, args: readonly string[]): string[] {
  const output = execFileSync(name, args, { cwd: folder, encoding: 'utf8' });
  return output.split('\n').filter((line) => line !== '');
}

/** What bash offers at the end of a line; `=` is a word of its own, as in its COMP_WORDBREAKS. */
function bash(line: string): string[] {
  const words = line.split(/ |(?=[=])|(?<=[=])/);
  const text = `source "$0"
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _kube_dns
    for word in "\${COMPREPLY[@]}"; do echo "$word"; done`;
  return shell('bash', ['--norc', '-c', text, scripts.get('bash')!, ...words]).sort();
}

/** What fish offers at the end of a line, without the descriptions. */
function fish(line: string): string[] {
  const text = 'source $argv[1]; complete -C $argv[2]';
  const lines = shell('fish', ['--no-config', '-c', text, scripts.get('fish')!, line]);
  return lines.map((each) => each.replace(/\t.*/, '')).sort();
}

/** What the function for zsh gives to the functions of zsh that complete: these need a terminal. */
function zsh(line: string): string[] {
  const text = `compdef() { defined=$*; }
    _describe() { print -rl -- "\${(@P)2}"; }
    _arguments() { print -rl -- "$@"; }
    source "$1"
    [[ $defined == '_kube_dns kube-dns' ]] || exit 1
    words=("\${(@)argv[2,-1]}") CURRENT=$(($# - 1))
    _kube_dns`;
  return shell('zsh', ['-f', '-c', text, 'zsh', scripts.get('zsh')!, ...line.split(' ')]);
}

const LINES: readonly [string, readonly string[]][] = [
  ['kube-dns co', ['compare', 'completion', 'convert']],
  ['kube-dns --v', ['--version']],
  ['kube-dns compare --ht', ['--html']],
  ['kube-dns compare --json --le', ['--left']],
  ['kube-dns compare --left 1', []],
  ['kube-dns compare --fail-on tr', ['truncated']],
  ['kube-dns convert --to co', ['configmap', 'corefile']],
  ['kube-dns completion ', ['bash', 'fish', 'zsh']],
  ['kube-dns help up', ['up']],
];

describe('the completion of bash', () => {
  unless(needsPrograms('bash'), it).each([
    ...LINES,
    ['kube-dns convert core', ['core file', 'corefiles']],
    ['kube-dns up --manifest po', ['pod.yaml']],
    ['kube-dns up --manifest=po', ['pod.yaml']],
    ['kube-dns compare --ignore=ttl-d', ['ttl-default']],
    ['kube-dns compare po', []],
  ])('of %j is %j', (line, words) => {
    expect(bash(line)).toEqual(words);
  });

  unless(needsPrograms('bash'), it)('has every command and every long flag', () => {
    const dashed = (flags: object) => Object.keys(flags).map((name) => `--${name}`);
    const all = [...COMMANDS.keys(), ...dashed(PROGRAM_FLAGS)];
    expect(bash('kube-dns ')).toEqual(all.sort());
    for (const [name, { flags }] of COMMANDS) {
      expect(bash(`kube-dns ${name} --`)).toEqual(dashed(flags).sort());
    }
  });
});

describe('the completion of fish', () => {
  unless(needsPrograms('fish'), it).each([
    ...LINES,
    ['kube-dns convert pod', ['pod.yaml']],
    ['kube-dns up --manifest pod', ['pod.yaml']],
    ['kube-dns compare pod', []],
  ])('of %j is %j', (line, words) => {
    expect(fish(line)).toEqual(words);
  });
});

describe('the completion of zsh', () => {
  unless(needsPrograms('zsh'), it)('offers the commands with their summaries', () => {
    const rows = [...COMMANDS].map(([name, { summary }]) => `${name}:${summary}`);
    expect(zsh('kube-dns co')).toEqual(rows);
  });

  unless(needsPrograms('zsh'), it).each([
    ['kube-dns --v', '--version[show the version]'],
    [
      'kube-dns compare --h',
      '--html=[also write a page with a list that can be filtered]:FILE:_files',
    ],
    ['kube-dns compare --l', '--left=[one name server]:ADDR\\[\\:PORT\\]:'],
    ['kube-dns convert x', '*:FILE:_files'],
    ['kube-dns convert x', '--to=[what to write]:FORMAT:(corefile configmap)'],
    ['kube-dns completion ', '*:SHELL:(bash zsh fish)'],
  ])('of %j has the rule %j', (line, rule) => {
    expect(zsh(line)).toContain(rule);
  });
});
