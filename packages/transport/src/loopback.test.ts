import { expect, it } from '@jest/globals';
import { isLoopback } from './loopback.js';

it.each([
  ['127.0.0.1', true],
  ['127.255.0.9', true],
  ['::1', true],
  ['0:0:0:0:0:0:0:1', true],
  ['10.127.0.1', false],
  ['::', false],
  ['::2', false],
  ['fe80::1', false],
  ['::ffff:127.0.0.1', false],
  ['127.example', false],
])('the address %s is of the loopback interface: %s', (address, expected) => {
  expect(isLoopback(address)).toBe(expected);
});
