import { expect, it } from '@jest/globals';
import { Notes } from '../dns-setup.js';
import { carryDnsmasq } from './convert-manifest.js';

it.each([
  [
    ['-k', '--no-negcache', '--cache-size=7'],
    ['-k', '--no-negcache', '--negcache=push', '--cache-size=7'],
  ],
  [['-N'], ['-N', '--negcache=push']],
  [['--cache-size=7'], ['--cache-size=7']],
  [
    ['--negcache=push', '--no-negcache'],
    ['--negcache=push', '--no-negcache'],
  ],
])('the options %j keep negative answers until kubedns says that they changed', (given, made) => {
  const words = carryDnsmasq(['-v=2', '--'], ['--', ...given], '10053', new Notes());
  expect(words.slice(words.indexOf('--') + 1)).toEqual(made);
});
