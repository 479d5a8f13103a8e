import { expect, it } from '@jest/globals';
import { weakness } from './startup-files.js';

const keyOf = (bytes: number) => ({
  name: new Uint8Array(),
  algorithm: new Uint8Array(),
  hash: 'sha256',
  secret: new Uint8Array(bytes),
});

it.each([
  [1, '--notify-key: a secret of 8 bits can be guessed: make one with tsig-keygen'],
  [15, '--notify-key: a secret of 120 bits can be guessed: make one with tsig-keygen'],
  [16, undefined],
])('a secret of %i bytes is weak: %s', (bytes, says) => {
  expect(weakness('--notify-key', keyOf(bytes))).toBe(says);
});

it('no key is no weak one', () => {
  expect(weakness('--notify-key', undefined)).toBeUndefined();
});
