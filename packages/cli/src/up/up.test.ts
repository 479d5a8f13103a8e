import { EventEmitter } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { UsageError } from '@kube-dns/base';
import { ManualClock } from '../../test/support/manual-clock.js';
import { parseCommand } from '../command.js';
import { displayPath, onStopSignals, UP_FLAGS } from './up.js';

const parseUp = (...args: string[]) => parseCommand('kube-dns up', UP_FLAGS, args);

describe('the flags of up', () => {
  it('are all optional', () => {
    expect(parseUp()).toMatchObject({
      values: { manifest: undefined, kubeconfig: undefined, 'node-cache': false, only: [] },
    });
  });

  it('take a value behind = or as the next argument', () => {
    const args = ['--manifest=a', '--kubeconfig', 'b', '--only', 'c', '--only=d', '--node-cache'];
    expect(parseUp(...args)).toMatchObject({
      values: { manifest: 'a', kubeconfig: 'b', 'node-cache': true, only: ['c', 'd'] },
    });
    expect(parseUp(...args, '-h')).toBe('help');
  });

  it.each([
    [['--foo'], 'unknown flag --foo; see kube-dns up --help'],
    [['--manifset=x'], 'unknown flag --manifset; did you mean --manifest?'],
    [['pod.yaml'], '"pod.yaml" is one argument too many'],
    [['--manifest'], /^--manifest needs a value$/],
    [['--manifest='], '--manifest needs a file'],
  ])('refuse %j in one line', (args, message) => {
    const parse = () => parseUp(...args);
    expect(parse).toThrow(UsageError);
    expect(parse).toThrow(message);
    expect(parse).not.toThrow('\n');
  });
});

function listen() {
  const source = new EventEmitter();
  const clock = new ManualClock();
  const calls: string[] = [];
  onStopSignals(source, clock, {
    onFirst: () => calls.push('first'),
    onAgain: () => calls.push('again'),
  });
  return { source, clock, calls };
}

describe('signals that stop the pod', () => {
  it('takes the first and then each later one', () => {
    const { source, clock, calls } = listen();
    source.emit('SIGTERM');
    clock.advance(1_000);
    source.emit('SIGINT');
    expect(calls).toEqual(['first', 'again']);
  });

  it('takes a signal that npm passes on for the same key press', () => {
    const { source, clock, calls } = listen();
    source.emit('SIGINT');
    clock.advance(5);
    source.emit('SIGINT');
    expect(calls).toEqual(['first']);
  });
});

it.each([
  ['/work/pods/pod.yaml', '/work', 'pods/pod.yaml'],
  ['/work/pod.yaml', '/work/pods', '/work/pod.yaml'],
  ['/work', '/work', '/work'],
  ['../pod.yaml', '/work', '../pod.yaml'],
])('the path %s is shown in %s as %s', (path, cwd, shown) => {
  expect(displayPath(path, cwd)).toBe(shown);
});
