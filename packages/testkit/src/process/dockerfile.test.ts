import { expect, it } from '@jest/globals';
import { imageStart, nodeFlagsOf } from './dockerfile.js';

it('how an image starts its container is what its Dockerfile says', () => {
  const { nodeFlags, malloc } = imageStart('node-cache');
  expect(nodeFlags).toContain('--expose-gc');
  expect(nodeFlags.every((flag) => flag.startsWith('--'))).toBe(true);
  expect(malloc).toEqual({
    MALLOC_ARENA_MAX: '1',
    MALLOC_TRIM_THRESHOLD_: '65536',
    MALLOC_MMAP_THRESHOLD_: '32768',
    MALLOC_TOP_PAD_: '16384',
  });
});

it('further flags are after those of the image of the same program', () => {
  expect(nodeFlagsOf('dnsmasq', ['--no-opt']).slice(-2)).toEqual([
    imageStart('dnsmasq').nodeFlags.at(-1),
    '--no-opt',
  ]);
  expect(nodeFlagsOf('dnsmasq')).not.toEqual(nodeFlagsOf('node-cache'));
});
