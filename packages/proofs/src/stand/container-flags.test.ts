import { expect, it } from '@jest/globals';
import { containerNodeFlags } from './container-flags.js';

it('the flags of a container are those of its image and of the manifest', () => {
  expect(containerNodeFlags('kubedns')).toEqual([
    '--max-semi-space-size=4',
    '--no-maglev',
    '--max-old-space-size=224',
  ]);
  expect(containerNodeFlags('sidecar')).toContain('--gc-global');
});
