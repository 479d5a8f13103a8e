import { describe, expect, it } from '@jest/globals';
import { hint, nearest } from './hint.js';

const FLAGS = ['--dns-port', '--domain', '--config-dir', '--config-map', '--syncInterval', '--v'];

describe('the word that was probably meant', () => {
  it.each([
    ['--dns-prot', '--dns-port'],
    ['--dnsport', '--dns-port'],
    ['--dns_porrt', '--dns-port'],
    ['-domian', '--domain'],
    ['--conf', '--config-dir'],
    ['--config-mup', '--config-map'],
    ['--sync-interval', '--syncInterval'],
  ])('of %s is %s', (word, meant) => {
    expect(nearest(word, FLAGS)).toBe(meant);
  });

  it.each(['--frobnicate', '--x', '-', '', `--domain${'x'.repeat(100)}`])(
    'of %j is none of them',
    (word) => {
      expect(nearest(word, FLAGS)).toBeUndefined();
    },
  );

  it('is the end of a complaint, and without one the way to the help', () => {
    expect(hint('--domian', FLAGS, 'kubedns')).toBe('; did you mean --domain?');
    expect(hint('--frobnicate', FLAGS, 'kubedns')).toBe('; see kubedns --help');
  });
});
