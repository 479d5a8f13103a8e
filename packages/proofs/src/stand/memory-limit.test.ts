import { describe, expect, it } from '@jest/globals';
import { memoryLimit } from './memory-limit.js';

describe('the memory limit of a container', () => {
  it('is what the manifest says, with the heap that goes with it', () => {
    const { bytes, nodeFlags } = memoryLimit('dnsmasq');
    expect(bytes).toBe(192 * 2 ** 20);
    expect(nodeFlags).toEqual(['--max-old-space-size=96']);
    expect(memoryLimit('kubedns').bytes).toBe(320 * 2 ** 20);
  });

  it('is missed where there is no such container', () => {
    expect(() => memoryLimit('nothing')).toThrow('the deployment has no container nothing');
  });
});
