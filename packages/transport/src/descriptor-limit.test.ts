import { describe, expect, it } from '@jest/globals';
import { descriptorLimit, descriptorShare, parseDescriptorLimit } from './descriptor-limit.js';

const LIMITS = [
  'Limit                     Soft Limit           Hard Limit           Units',
  'Max processes             63704                63704                processes',
  'Max open files            1024                 1024                 files',
  '',
].join('\n');

describe('the descriptors of a process', () => {
  it('are as many as the system says', () => {
    expect(parseDescriptorLimit(LIMITS)).toBe(1024);
    expect(descriptorLimit()).toBeGreaterThan(0);
  });

  it.each(['', LIMITS.replace('1024', 'unlimited')])('have no limit that is not there', (text) => {
    expect(parseDescriptorLimit(text)).toBe(Infinity);
  });

  it('are shared where there are few', () => {
    expect(descriptorShare(1_000, 1 / 2, 1_024)).toBe(492);
    expect(descriptorShare(512, 1 / 4, 100)).toBe(15);
    expect(descriptorShare(512, 1 / 4, 1)).toBe(1);
  });

  it('are not shared where there are enough', () => {
    expect(descriptorShare(1_000, 1 / 2, 1_048_576)).toBe(1_000);
    expect(descriptorShare(1_000, 1 / 2, Infinity)).toBe(1_000);
  });
});
