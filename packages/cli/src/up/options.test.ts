import { describe, expect, it } from '@jest/globals';
import { UsageError } from '@kube-dns/base';
import { parseUpOptions } from './options.js';

describe('the flags of up', () => {
  it('are all optional', () => {
    expect(parseUpOptions([])).toEqual({
      help: false,
      manifest: undefined,
      kubeconfig: undefined,
      nodeCache: false,
      only: [],
    });
  });

  it('take a value behind = or as the next argument', () => {
    const args = [
      '--manifest=a',
      '--kubeconfig',
      'b',
      '--only',
      'c',
      '--only=d',
      '--node-cache',
      '-h',
    ];
    expect(parseUpOptions(args)).toEqual({
      help: true,
      manifest: 'a',
      kubeconfig: 'b',
      nodeCache: true,
      only: ['c', 'd'],
    });
  });

  it.each([
    [['--foo'], 'unknown flag --foo; see kube-dns up --help'],
    [['--manifset=x'], 'unknown flag --manifset; did you mean --manifest?'],
    [['pod.yaml'], '"pod.yaml" is one argument too many'],
    [['--manifest'], /^--manifest needs a value$/],
    [['--manifest='], '--manifest needs a file'],
  ])('refuse %j in one line', (args, message) => {
    const parse = () => parseUpOptions(args);
    expect(parse).toThrow(UsageError);
    expect(parse).toThrow(message);
    expect(parse).not.toThrow('\n');
  });
});
